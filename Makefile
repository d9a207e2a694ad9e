# Two commands matter to a newcomer: `make demo` and `make test`. Both need only Python 3.10+ and make;
# they build a virtual environment in .venv and install what they need there.
PYTHON ?= python3
VENV   ?= .venv
PY     := $(VENV)/bin/python
JOBS   ?= 2

.PHONY: demo test lint bench soak clean
demo: $(VENV)/.ready
	$(VENV)/bin/npuhal demo

test: lint
	$(PY) -m pytest tests -m "not soak" -n $(JOBS)

lint: $(VENV)/.ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(PY) -m pytest -q tests/unit/test_import_direction.py

bench: $(VENV)/.ready
	$(VENV)/bin/npuhal bench

soak: $(VENV)/.ready
	$(PY) -m pytest tests -m soak --timeout=1800

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else "npuhal needs Python 3.10 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
