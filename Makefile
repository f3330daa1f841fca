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

.PHONY: help demo test lint docs bench-cpu bench-gpu bench-mpi bench-coarsen fuzz clean

help:
	@echo "make demo       match a graph of a million edges, verify it, draw a small one (demo/)"
	@echo "make test       all tests"
	@echo "make lint       style and types"
	@echo "make docs       the site, with every warning an error: docs/_build/index.html"
	@echo "make bench-cpu  measure against NetworKit and others on this machine"
	@echo "make bench-gpu  measure on this machine's GPU; CUPY=cupy-cuda12x for a driver of CUDA 12"
	@echo "make bench-mpi  measure on this machine's MPI ranks, RANKS=2 at most"
	@echo "make bench-coarsen  measure coarsening on this machine, and on its GPU where CuPy is installed"
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
test: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

docs: $(DOCS_READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs docs/_build
	@echo docs/_build/index.html

bench-cpu: $(READY)
	$(BIN)/python -m pip install --quiet networkit
	$(BIN)/python benchmarks/cpu.py

CUPY ?= cupy-cuda13x
bench-gpu: $(READY)
	$(BIN)/python -m pip install --quiet "$(CUPY)[ctk]"
	$(BIN)/python benchmarks/gpu.py

RANKS ?= 2
bench-mpi: $(READY)
	$(BIN)/python benchmarks/mpi.py --ranks $(RANKS)

bench-coarsen: $(READY)
	$(BIN)/python benchmarks/coarsen.py

fuzz: $(READY)
	$(BIN)/python tests/fuzz/fuzz_readers.py --seconds 60

clean:
	rm -rf demo build dist docs/_build docs/api docs/gallery fuzz-findings .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -prune -exec rm -rf {} +
