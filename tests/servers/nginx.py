"""nginx, one process that shows one folder in several ways, each on a port of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import free_port, program, running

WAYS = {
    "plain": "",
    "json": "autoindex on; autoindex_format json;",
    "html": "autoindex on;",
    "whole": "max_ranges 0;",
    "page": "try_files $uri /index.html;",
    "compressed": "gzip on; gzip_types *; gzip_min_length 1;",
    "password": 'auth_basic "data"; auth_basic_user_file passwords;',
    "untold": "etag off; if_modified_since off; add_header Last-Modified '';",
}
"""What a port shows: no index, an index of either kind, no ranges, a page for what it has not,
compression for clients that ask for it, a folder behind a password, and no versions."""
USER, PASSWORD = "someone", "an open sesame"

_CONFIGURATION = """\
daemon off;
{user}
error_log stderr warn;
pid {folder}/pid;
worker_processes 2;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    default_type application/octet-stream;
    types {{ application/json json; text/html html; }}
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    keepalive_requests 100000;
    root {root};
{servers}
}}
"""


@dataclass(frozen=True)
class Nginx:
    root: Path
    """The folder that is shown."""
    urls: dict[str, str]
    """One for each of WAYS, and "secure"; without a slash at the end."""
    authority: Path | None
    """The certificate to trust for "secure"; None where openssl is missing."""


@contextmanager
def serve() -> Iterator[Nginx]:
    command = program("nginx")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = folder / "root"
        root.mkdir()
        (root / "index.html").write_text("<html><title>Welcome</title><body>hello</body></html>")
        (folder / "passwords").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
        ports = {way: free_port() for way in WAYS}
        blocks = [
            f"    server {{ listen 127.0.0.1:{ports[way]}; {settings} }}"
            for way, settings in WAYS.items()
        ]
        urls = {way: f"http://127.0.0.1:{port}" for way, port in ports.items()}
        authority = certificate(folder)
        if authority is not None:
            port = free_port()
            blocks.append(
                f"    server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {authority};"
                f" ssl_certificate_key {folder}/key.pem; }}"
            )
            urls["secure"] = f"https://localhost:{port}"
        configuration = folder / "nginx.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                # Temporary folders are readable by their owner alone.
                user="user root;" if os.geteuid() == 0 else "",
                folder=folder,
                root=root,
                servers="\n".join(blocks),
            )
        )
        with running(
            [command, "-p", str(folder), "-c", str(configuration), "-e", "stderr"], ports["plain"]
        ):
            yield Nginx(root, urls, authority)


def certificate(folder: Path) -> Path | None:
    """A certificate of localhost that is its own authority, with key.pem beside it."""
    if shutil.which("openssl") is None:
        return None
    found = folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", str(folder / "key.pem"), "-out", str(found)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return found
