# Everything sets itself up: on a machine with Python 3.11 or newer, `make demo` or `make test` is the
# first command that is needed. Another Python: make PYTHON=python3.12 …
#
# .venv holds the package alone ($(CORE), for `make demo`), or the tools and optional packages with it
# ($(BASE)), and the native core (`native`, where there is cargo).

VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/.made
CORE := $(VENV)/.core
BASE := $(VENV)/.base
PEER := .peers/zarr3/bin/python
SOURCES := src tests examples benchmarks scripts
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
PYTEST := $(BIN)/python -m pytest -q -rfEs -n auto --maxprocesses 8 --dist worksteal
CARGO := $(shell command -v cargo)
CASES ?= 1000000
ARGS ?=

# Byte code is written when a module is first imported: most installed modules never are, and many
# tests start an interpreter.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup native peers demo test test-all check format bench bench-pipeline bench-remote bench-xarray bench-jobs bench-learning \
	benchtext oracle long page campaigns campaign-jobs proof build docs coverage clean bench-serve

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(MADE): pyproject.toml
	@python=$$(PYTHON="$(PYTHON)" sh scripts/find_python.sh) && \
	echo "making $(VENV) with $$($$python --version) …" && \
	$$python -m venv --clear $(VENV)
	@touch $@

$(CORE): $(MADE)
	@$(PIP) --editable .
	@touch $@

$(BASE): $(MADE)
	@echo "installing the tools and the optional packages …"
	@$(PIP) --editable '.[dev]'
	@touch $(CORE) $@

# cargo builds the native core while pip installs.
setup: $(MADE)  ## make the environment in .venv (the other commands do it by themselves)
	@$(BIN)/python scripts/install_native.py & \
	$(MAKE) --no-print-directory $(BASE); code=$$?; wait; exit $$code
	@$(BIN)/python scripts/install_native.py $(BIN)/python

native: $(CORE)  ## build the native core into .venv, where there is cargo
	@$(BIN)/python scripts/install_native.py $(BIN)/python

peers: setup  ## make the environments of other libraries in .peers; install test servers
	@$(BIN)/python scripts/make_peers.py
	@$(BIN)/python scripts/make_servers.py
	@$(BIN)/python scripts/install_native.py $(PEER)

demo: $(CORE)  ## write, read, check a climate hierarchy; convert it through every format
	@$(BIN)/python examples/demo.py $(ARGS)

test: setup  ## run the tests that are quick and need Python alone
	@$(PYTEST) --timeout 900 -m "not (long or peers or slow)" $(ARGS)

test-all: test peers .venv-docs/.stamp  ## and the slower ones, and those that need other libraries, servers, Node.js
	@$(PYTEST) --timeout 900 -m "(peers or slow) and not long" $(ARGS)

check: $(BASE)  ## lint, formatting and types
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy
ifneq ($(CARGO),)
	@cd native && cargo fmt --check
	@cd native && PYO3_PYTHON=$(abspath $(BIN)/python) cargo clippy --quiet -- -D warnings
endif

format: $(BASE)  ## put every file into the house format
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)
ifneq ($(CARGO),)
	@cd native && cargo fmt
endif

bench: peers  ## time and memory beside tensorstore, zarrista, zarrs, zarr-python (make bench ARGS=--quick)
	@PYTHONPATH=src $(PEER) benchmarks/bench.py $(ARGS)

bench-pipeline: peers  ## zarr-python 3 with our codec pipeline, its own two, and that of zarrs
	@PYTHONPATH=src $(PEER) benchmarks/bench.py --libraries pipeline zarr fused zarrs $(ARGS)

bench-remote: peers  ## the same over a network, 10 and 50 ms away: time and number of requests
	@PYTHONPATH=src $(PEER) benchmarks/remote.py $(ARGS)

bench-xarray: peers  ## xarray on omnizarr beside xarray on zarr-python (make bench-xarray ARGS=--quick)
	@$(BIN)/python scripts/make_peers.py proof3
	@$(BIN)/python scripts/install_native.py .peers/proof3/bin/python
	@PYTHONPATH=src .peers/proof3/bin/python benchmarks/xarray_bench.py $(ARGS)

bench-jobs: peers  ## rechunk beside rechunker and xarray, pyramid beside ome-zarr-py and ndpyramid (make bench-jobs ARGS=--quick)
	@$(BIN)/python scripts/make_peers.py rechunker proof3
	@PYTHONPATH=src $(PEER) benchmarks/jobs_bench.py $(ARGS)

bench-learning: peers  ## samples per second for PyTorch beside a plain Dataset (make bench-learning ARGS=--quick)
	@$(BIN)/python scripts/install_native.py .peers/torch/bin/python
	@PYTHONPATH=src .peers/torch/bin/python benchmarks/learning_bench.py $(ARGS)

bench-serve: setup  ## values over HTTP beside nginx (make bench-serve ARGS=--quick)
	@PYTHONPATH=src $(BIN)/python benchmarks/serve_bench.py $(ARGS)

benchtext: peers  ## measure a million strings beside zarr-python 2 and 3
	@$(PEER) benchmarks/text.py $(ARGS)

oracle: setup  ## a million random selections against NumPy (long; CASES=… for fewer)
	@OMNIZARR_ORACLE_CASES=$(CASES) $(PYTEST) tests/acceptance/test_oracle.py $(ARGS)

long: peers  ## the campaigns that take minutes: kills, mutations
	@$(PYTEST) -m long $(ARGS)

campaigns: setup  ## random operations, forks, overwriters, damaged files (docs/reliability.md)
	@$(BIN)/python -m tests.campaigns.stateful --steps 200000
	@$(BIN)/python -m tests.campaigns.forks --steps 5000
	@$(BIN)/python -m tests.campaigns.overwriters --seconds 60
	@$(BIN)/python -m tests.campaigns.containers --steps 400
	@$(BIN)/python -m tests.campaigns.interrupts --steps 120
	@$(BIN)/python -m tests.campaigns.dask_cluster --gigabytes 2
	@$(MAKE) --no-print-directory campaign-jobs

campaign-jobs: setup  ## rechunk, convert, pyramid of 4 GB on Dask, processes, threads; workers are killed (docs/scaling.md)
	@$(BIN)/python -m tests.campaigns.jobs_cluster --gigabytes 4 --executor all $(ARGS)

proof: setup  ## other projects' own tests on omnizarr, beside zarr-python (ARGS="zarr3 --show"; long)
	@$(BIN)/python tests/proof/run.py $(ARGS)

build: $(CORE)  ## build the wheel into dist
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

page:  ## build the page of `omnizarr browse` from page/ (needs Node.js with npm)
	@cd page && npm ci --ignore-scripts --silent && npm run --silent check && npm run --silent build

docs: .venv-docs/.stamp  ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --clean
	@echo "site/index.html is built; for the search box: python3 -m http.server -d site"

.venv-docs/.stamp: pyproject.toml
	@python=$$(PYTHON="$(PYTHON)" sh scripts/find_python.sh) && $$python -m venv --clear .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check '.[docs]'
	@touch $@

coverage: setup  ## run the quick tests and report which lines of src they reach
	@$(PYTEST) -m "not (long or peers or slow)" --cov --cov-report=term:skip-covered $(ARGS)

clean:  ## remove environments, caches and results
	rm -rf $(VENV) .venv-docs .peers dist site .coverage* build .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache
	rm -rf native/target benchmarks/results demo.zarr
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
