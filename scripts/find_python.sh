#!/bin/sh
# Print the Python that the environments are made with: $PYTHON if it is set, else python3, else
# the newest of python3.14 … python3.11 that is 3.11 or newer and can make environments.
suitable() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    candidates=$PYTHON
else
    candidates="python3 python3.14 python3.13 python3.12 python3.11"
    for folder in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-9]*/bin; do
        [ -x "$folder/python3" ] && candidates="$candidates $folder/python3"
    done
fi

for candidate in $candidates; do
    if suitable "$candidate"; then
        command -v "$candidate"
        exit 0
    fi
done

{
    echo "omnizarr needs Python 3.11 or newer with the venv module. Tried:"
    for candidate in $candidates; do
        echo "  $candidate: $("$candidate" --version 2>&1 | head -n 1)"
    done
    echo "Install one (on Debian and Ubuntu: python3 and python3-venv), or name it:"
    echo "  make PYTHON=/path/to/python3.12 ..."
} >&2
exit 1
