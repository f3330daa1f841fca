# Each target sets up .venv first where that is needed; the stamp is older than pyproject.toml when it must be renewed.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready

.PHONY: help demo test test-slow test-all lint docs bench report fuzz clean

help:
	@echo "make demo       match a graph of a million edges, verify it, draw a small one (demo/)"
	@echo "make test       the tests, but for some that take long (make test-slow)"
	@echo "make test-all   all of them, with style, types and layers, the site, the report, and a minute of damaged files"
	@echo "make lint       style and types"
	@echo "make docs       the site, with every warning an error: docs/_build/index.html"
	@echo "make bench      measure on this machine: NAMES=... (default all), SIZE=tiny|small|full, OUTPUT=measured;"
	@echo "                  make bench NAMES=\"cpu-peers cpu-ties\" SIZE=full   against NetworKit, and with equal weights"
	@echo "                  make bench NAMES=gpu-goals CUPY=cupy-cuda13x      on a GPU; cupy-cuda12x for a driver of CUDA 12"
	@echo "                  make bench NAMES=mpi-strong                       on MPI ranks, up to the number of cores"
	@echo "                  make bench NAMES=coarsen-goals                    coarsening, on the GPU too where CuPy is"
	@echo "make report     draw the results in bench/results: report/index.html"
	@echo "make fuzz       read damaged files for a minute"
	@echo "make clean      remove what was made, compiled kernels included, but for .venv"

$(READY): pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null || \
		{ echo "troth needs Python 3.11 or newer, and $(PYTHON) is not: make PYTHON=python3.12 ..." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group test --group lint
	@touch $@

# The small graph comes first: it compiles the kernels, so that the seconds of the big one are those of the work.
demo: $(READY)
	@mkdir -p demo
	$(BIN)/python examples/demo.py demo/matching.png
	@echo
	$(BIN)/troth generate rgg n=200000 degree=10 seed=1 -o demo/graph.csr
	@echo
	$(BIN)/troth match demo/graph.csr --certify -o demo/mates.txt
	@echo
	$(BIN)/troth verify demo/graph.csr demo/mates.txt --algorithm suitor

# A few processes share the tests, in groups that tests/conftest.py makes and orders.
SHARED := --numprocesses auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder
EXAMPLES := same
test: $(READY)
	$(BIN)/python -m pytest $(SHARED) --hypothesis-profile $(EXAMPLES) -m "not slow"

test-slow: $(READY)
	$(BIN)/python -m pytest $(SHARED) --hypothesis-profile $(EXAMPLES) -m slow

# Random examples, other ones each time (tests/conftest.py).
test-all: EXAMPLES := random
test-all: lint test test-slow docs report fuzz

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

docs: $(DOCS_READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build
	@echo docs/_build/index.html

# NetworKit and the other libraries that are compared come with the tests' group; CuPy where CUPY names it.
SIZE ?= small
OUTPUT ?= measured
bench: $(READY)
	$(if $(CUPY),$(BIN)/python -m pip install --quiet "$(CUPY)[ctk]")
	$(BIN)/python -m bench $(NAMES) --size $(SIZE) --output $(OUTPUT)

RESULTS ?= bench/results
report: $(READY)
	$(BIN)/python -m bench --report-only --merge $(RESULTS) --output report

fuzz: $(READY)
	$(BIN)/python tests/fuzz/fuzz_readers.py --seconds 60

clean:
	rm -rf demo build dist docs/_build docs/api docs/gallery report fuzz-findings .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests examples bench -name __pycache__ -prune -exec rm -rf {} +
