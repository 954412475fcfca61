# Everything runs from a fresh clone with Python 3.11+ and make:
#   make demo    see it work
#   make test    see that it works
# The environment is made once, in .venv, and again only when its recipe changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# A worker for each core; the tests of a file stay together, as they share what takes long to make.
PARALLEL := -n auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all mutants lint docs wheel bench bench-hamming bench-peers clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

install: $(READY)  ## make .venv with all that the other targets need

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "dsnc needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)  ## one model on embedded pictures, then six compared; pages in demo/
	$(BIN)/dsnc demo -o demo

test: lint  ## lint, types, import contracts, then the tests (minutes)
	$(BIN)/python -m pytest $(PARALLEL)
	$(BIN)/python -m pytest -m "dist and not slow" tests/cluster

test-all: lint  ## the same, with the slow tests and many more random examples
	$(BIN)/python -m pytest $(PARALLEL) -m "not gpu" --hypothesis-profile=thorough

mutants: $(READY)  ## faults put into the source, and which of them no test sees (half an hour)
	$(BIN)/python tests/mutants/run.py

lint: $(READY)  ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)  ## build the documentation site in site/, and fail on a broken link
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

wheel: $(READY)  ## the package in dist/, tried in a clean environment without torch
	rm -rf dist build
	$(BIN)/python -m pip wheel --quiet --no-deps -w dist .
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet -c constraints.txt dist/*.whl
	build/clean/bin/python .ci/installed.py

bench: $(READY)  ## side-by-side speed: tables, and JSON lines in benchmarks/results
	for bench in benchmarks/bench_*.py; do $(BIN)/python $$bench || exit 1; done

bench-hamming: $(READY)  ## exact Hamming search beside FAISS and usearch, which it installs
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/bench_hamming.py --plot

bench-peers: $(READY)  ## fastText, napkinXC, PECOS and others beside dsnc; DATA='folder ...' for your own
	$(BIN)/python benchmarks/peers $(DATA)

clean:  ## remove the environment and everything that was made
	rm -rf $(VENV) demo dist build site benchmarks/results
	rm -rf .numba_cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
