# `make demo` and `make test` set everything up by themselves: a virtual environment in .venv with the
# versions pinned in constraints.txt. PYTHON may name another interpreter (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := $(VENV)/.bench

.PHONY: setup demo test test-long check types docs bench reference outputs notebooks lock clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/crowdrank demo

# Two workers on two cores: the threads of one would only wait for those of the other.
test test-long: export OPENBLAS_NUM_THREADS = 1
test test-long: export POLARS_MAX_THREADS = 1
test test-long: export OMP_WAIT_POLICY = passive

test: $(STAMP)
	$(BIN)/python -m pytest -n 3

test-long: $(STAMP)
	$(BIN)/python -m pytest -n 3 -m "long or not long"

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt 'pyright[nodejs]'
	$(BIN)/pyright --verifytypes crowdrank --ignoreexternal

docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "The docs are in build/docs/index.html"

$(BENCH): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]'
	touch $@

bench: $(BENCH)
	$(BIN)/python -m benchmarks

reference: $(STAMP)
	$(BIN)/python docs/reference.py

outputs: $(STAMP)
	$(BIN)/python docs/outputs.py

notebooks: $(STAMP)
	$(BIN)/python docs/notebooks.py

lock: $(BENCH)
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) build crowdrank-demo
