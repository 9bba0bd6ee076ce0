# Two commands for newcomers: `make demo` and `make test`. Both make their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test audit format clean

demo: $(VENV)/installed
	$(BIN)/tabveil demo --out demo

test: $(VENV)/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow" -n 2

audit: $(VENV)/installed-for-tests
	$(BIN)/python -m pytest -m slow

format: $(VENV)/installed-for-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tabveil needs Python 3.11 or newer; try: make PYTHON=python3.12 demo"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing tabveil into $(VENV) (about a minute) ..."
	$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-for-tests: $(VENV)/installed
	@echo "Installing what the tests need ..."
	$(INSTALL) --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) demo
