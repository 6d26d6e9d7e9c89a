# What a clone can do with Python 3.11 or later, make and git. Every target makes its own environment first, in .venv,
# from requirements.lock. Nothing is installed outside the clone.
#
#   make demo          a failing test suite, a question, an assistant, and the daemon killed in between
#   make test          everything that has to hold: check, then every test, in random order
#   make check         ruff and mypy --strict, over the product and its tests
#   make crash         the crash matrix: the real daemon killed at each phase of each writing operation
#   make conformance   the protocol's vectors (of KCP_DATA, else ../shared/kcp, where there is one) and our own
#   make bench         how fast it is, measured against the bars that it is held to (benchmarks/bars.py)
#   make clean         removes what the targets above made in the clone, never anybody's record

PYTHON ?= python3
PYTEST_WORKERS ?= auto

VENV := .venv
STAMP := $(VENV)/.stamp
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check --quiet

SOURCES := sdk/tallystick daemon/tallyd client/tally_cli
# Each directory of tests on its own: a conftest.py of one is no module of another.
SUITES := $(sort $(dir $(foreach root,sdk/tests daemon/tests client/tests crashtests benchmarks docs/demo,\
	$(wildcard $(root)/*.py $(root)/*/*.py))))

.PHONY: demo test check crash conformance bench clean environment
.DEFAULT_GOAL := test

environment: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $(PYTHON) is older than Python 3.11; name a newer one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --requirement requirements.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)
	$(RUN) docs/demo/run.py

test: check
	$(RUN) -m pytest -n $(PYTEST_WORKERS)

check: $(STAMP)
	$(RUN) -m ruff check --output-format concise .
	$(RUN) -m mypy $(SOURCES) conftest.py
	@for suite in $(SUITES); do \
	  echo "$(RUN) -m mypy $$suite*.py"; $(RUN) -m mypy $$suite*.py || failed=1; \
	done; test -z "$$failed"

crash: $(STAMP)
	$(RUN) crashtests/matrix.py

conformance: $(STAMP)
	$(RUN) -m pytest -n $(PYTEST_WORKERS) -rs sdk/tests/conformance daemon/tests/socket_conformance

bench: $(STAMP)
	$(RUN) benchmarks/run.py

clean:
	rm -rf $(VENV) .build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
