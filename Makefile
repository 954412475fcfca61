# Everything runs from a fresh clone with Python 3.11+ and make:
#   make demo    see it work
#   make test    see that it works
# The environment is made once, in .venv, and again only when its recipe changes.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# What builds the C++ core. It stays in the environment: so a second build compiles only what has changed.
BUILD  := scikit-build-core nanobind cmake ninja
# Of the random numbers of the reliability campaign.
SEED   ?= 0
# A worker for each core; the tests of a file stay together, as they share what takes long to make.
PARALLEL := -n auto --dist loadfile
# A test that hangs fails, whatever it hangs in: its process ends, and another worker goes on.
LIMIT := --timeout 400 --timeout-method thread

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all mutants lint lint-native sanitize docs wheel bench bench-hamming bench-peers reliability clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

install: $(READY)  ## make .venv with all that the other targets need

$(READY): pyproject.toml constraints.txt CMakeLists.txt $(wildcard src/native/* tests/native/*.cpp)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "dsnc needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null \
	  || { echo "dsnc needs a C++ compiler. Try: apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++" \
	       "(Fedora) or xcode-select --install (macOS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt $(BUILD)
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation \
	  -C cmake.define.DSNC_STRICT=ON -e '.[dev]'
	@touch $@

demo: $(READY)  ## one model on embedded pictures, then six compared; pages in demo/
	$(BIN)/dsnc demo -o demo

test: lint  ## lint, types, import contracts, then the tests (minutes)
	$(BIN)/python -m pytest $(PARALLEL) $(LIMIT)
	$(BIN)/python -m pytest $(LIMIT) -m "dist and not slow" tests/cluster

test-all: lint  ## the same, with the slow tests and many more random examples
	$(BIN)/python -m pytest $(PARALLEL) -m "not gpu" --hypothesis-profile=thorough

mutants: $(READY)  ## faults put into the source, and which of them no test sees (20 minutes of CPU time)
	$(BIN)/python tests/mutants/run.py

lint: $(READY)  ## style, types, and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lint-native: $(READY)  ## style of the C++ core, and what clang-tidy says of it (minutes)
	$(BIN)/python -m pip install --quiet -c constraints.txt clang-format clang-tidy
	$(BIN)/clang-format --dry-run --Werror src/native/*.?pp tests/native/*.cpp tests/fuzz/*.?pp
	$(BIN)/clang-tidy --quiet -p $$(ls -d build/cp*/) src/native/*.cpp tests/native/*.cpp

sanitize: $(READY)  ## the core with checks of addresses and undefined behavior: tests, hostile models, fuzzing
	PATH=$(abspath $(BIN)):$$PATH cmake -S . -B build/sanitized -G Ninja -DDSNC_SANITIZE=ON -DDSNC_STRICT=ON \
	  -DPython_EXECUTABLE=$(abspath $(BIN))/python
	PATH=$(abspath $(BIN)):$$PATH cmake --build build/sanitized
	$(BIN)/python tests/native/sanitized.py build/sanitized pytest -q -p no:cacheprovider \
	  tests/test_native.py tests/codes tests/features tests/fast tests/rerank tests/data/test_svmlight*.py
	$(BIN)/python tests/native/sanitized.py build/sanitized benchmarks/reliability models built \
	  --n 300 --seed $(SEED) --minutes 10
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python tests/fuzz/run.py --seconds 60 --seed $(SEED)

docs: $(READY)  ## build the documentation site in site/, and fail on a broken link
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

wheel: $(READY)  ## the package for this kind of machine in dist/, tried in a clean environment without torch
	rm -rf dist build/clean
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w dist .
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet -c constraints.txt dist/*.whl
	build/clean/bin/python .ci/installed.py

bench: $(READY)  ## side-by-side speed: tables, and JSON lines in benchmarks/results
	for bench in benchmarks/bench_*.py; do $(BIN)/python $$bench || exit 1; done

bench-hamming: $(READY)  ## exact Hamming search beside FAISS and others, which it installs
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/bench_hamming.py --plot

bench-peers: $(READY)  ## fastText, napkinXC, PECOS and others beside dsnc; DATA='folder ...' for your own
	$(BIN)/python benchmarks/peers $(DATA)

reliability: $(READY)  ## hostile models, data and requests in a short form (an hour at most)
	$(BIN)/python benchmarks/reliability service --minutes 15
	$(BIN)/python benchmarks/reliability models built data limits --n 3000 --seed $(SEED) --minutes 20
	$(BIN)/python benchmarks/reliability models built --guarded --n 2000 --seed $(SEED) --minutes 20
	$(BIN)/python benchmarks/reliability kills writers --n 40 --seed $(SEED) --minutes 20

clean:  ## remove the environment and everything that was made
	rm -rf $(VENV) demo dist build site benchmarks/results
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
