# Two commands matter to a newcomer: `make demo` and `make test`. Both need only Python 3.10 or newer and make;
# they build a virtual environment in .venv and install what they need there, from the package index.
PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2
PY     := $(VENV)/bin/python
# Not `python -m pytest`: with the checkout on its path pytest takes all packages for its plug-in and rewrites their assertions.
PYTEST := $(VENV)/bin/pytest

# Tests start hundreds of interpreters: each would compile all packages anew where the environment forbids to keep that.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test lint ruff mypy pytest compiled schedules docs docs-if-possible bench soak soak-stress soak-fuzz \
	soak-sweeps-direct soak-sweeps-abi soak-machines soak-schedules soak-orders test-browser test-sanitized test-triton test-torch clean
help:
	@echo "make demo    load a compiled kernel and launch it on three fake chips"
	@echo "make test    ruff, then mypy beside every test on both tiers of the fake (JOBS=$(JOBS) processes)"
	@echo "make lint    ruff and mypy alone"
	@echo "make docs    the documentation site, in build/site; every warning is an error"
	@echo "make bench   what each call costs, beside a calibration row"
	@echo "make soak    the long runs that make test leaves out, in parts of less than an hour, and their totals: soak-stress,"
	@echo "             soak-fuzz (random programs), soak-sweeps-direct and -abi (every driver call fails once), soak-machines"
	@echo "             (the contract on all machines), soak-schedules and soak-orders (the contract in many orders)"
	@echo "make test-browser   the trace page in a headless Chromium, if there is one"
	@echo "make test-sanitized the compiled sends under AddressSanitizer and UBSan, if there is gcc with them"
	@echo "make test-triton    @triton.jit kernels with the front end of Triton-Ascend, if its wheel is to be had"
	@echo "make test-torch     PyTorch programs with torch_npu, if its wheel is to be had: no card, no CANN"
	@echo "make clean   remove the virtual environment and all caches"
	@echo "PYTHON=... picks the interpreter, VENV=... the folder of the virtual environment"

demo: $(VENV)/.ready
	$(VENV)/bin/npuhal demo

test: ruff
	@$(MAKE) --no-print-directory -j4 mypy schedules compiled pytest

# All tests with the Python functions, which are the reference; what sends and launches once more with the compiled ones.
pytest: $(VENV)/.ready
	NPUHAL_COMPILED=0 $(PYTEST) tests -m "not soak" -n $(JOBS)

SENDING := $(patsubst %,tests/unit/runtime/core/submission/test_%.py,compiled interrupts prepared two_tasks ways) \
	tests/unit/runtime/launch/test_launcher.py tests/reports/test_two_runtimes.py \
	tests/contract/test_kernels.py tests/contract/test_streams.py tests/contract/test_events.py -m "not soak" -k "not contract or fake-ascend910b1 or fake-ascend950pr"
compiled: $(VENV)/.ready
	@$(PY) -c 'from runtime.core.submission.compiled import extension, told; print("sends:", told()); exit(not extension)' \
		|| { echo "compiled sends skipped"; exit 0; } && $(PYTEST) $(SENDING)

schedules: $(VENV)/.ready
	$(PYTEST) tests/contract/test_checkers.py tests/contract/test_callbacks.py -m "not soak" \
		-k "fake-ascend950 and (checkers or programs_back)" --npu-schedules=4

lint: ruff mypy

ruff: $(VENV)/.ready
	$(VENV)/bin/ruff check .

mypy: $(VENV)/.ready
	$(VENV)/bin/mypy

# The packages of the site are not those of the tests: they are installed when the site is built for the first time.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 IPYTHONDIR=$(CURDIR)/$(VENV)/ipython $(PY) -m mkdocs build --strict --quiet
	@echo "docs: build/site/index.html"

# What continuous integration calls: a package index that has the tests' packages need not have these.
docs-if-possible: $(VENV)/.ready
	@if $(MAKE) --no-print-directory $(VENV)/.docs > /dev/null 2>&1; then $(MAKE) --no-print-directory docs; \
	else echo "docs skipped: the packages of the extra npuhal[docs] are not to be had here"; fi

$(VENV)/.docs: $(VENV)/.ready pyproject.toml
	@# What the extra [docs] names, without building the package once more.
	$(PY) -c 'from importlib.metadata import requires; print(*(each.partition(";")[0] for each in requires("npuhal") if "docs" in each.partition(";")[2]), sep="\n")' \
		| xargs $(PY) -m pip install --quiet --no-compile --disable-pip-version-check
	@mkdir -p $(VENV)/ipython/profile_default  # kernels of notebooks say errors alone
	@echo 'c.IPKernelApp.log_level = 40' > $(VENV)/ipython/profile_default/ipython_kernel_config.py
	@touch $@

bench: $(VENV)/.ready
	$(VENV)/bin/npuhal bench

# Each part ends within the hour on two quiet cores, or is ended and counted as failed; the table says what was tried.
SOAK_PARTS := stress fuzz sweeps-direct sweeps-abi machines schedules orders
SOAK       := timeout 3600 $(PYTEST) -n $(JOBS)
soak: $(VENV)/.ready
	@rm -rf soak; mkdir -p soak
	@for part in $(SOAK_PARTS); do $(MAKE) --no-print-directory soak-$$part || true; done
	@$(PY) -m tests.tools.soak_totals soak $(SOAK_PARTS)

soak-stress: $(VENV)/.ready
	$(SOAK) tests -m soak --ignore=tests/contract --ignore=tests/sweep --timeout=1800 --junitxml=soak/stress.xml

soak-fuzz: $(VENV)/.ready
	$(SOAK) tests -m "hypothesis and not soak" --hypothesis-profile=soak --timeout=1800 --junitxml=soak/fuzz.xml

soak-sweeps-direct: $(VENV)/.ready
	$(SOAK) tests/sweep -m soak -k "fake://" --timeout=1800 --junitxml=soak/sweeps-direct.xml

soak-sweeps-abi: $(VENV)/.ready
	$(SOAK) tests/sweep -m soak -k "fake-abi://" --timeout=1800 --junitxml=soak/sweeps-abi.xml

soak-machines: $(VENV)/.ready
	$(SOAK) tests/contract -m soak --timeout=600 --junitxml=soak/machines.xml

# Every test in a few orders, on the chip, tier, seed and path that make test gives it; in many orders where the order is
# what is tested.
ORDERED := callbacks checkers events graphs_outside graphs_queues streams
soak-schedules: $(VENV)/.ready
	$(SOAK) tests/contract -m "not soak" -k "fake-ascend" --npu-schedules=6 --timeout=600 --junitxml=soak/schedules.xml

soak-orders: $(VENV)/.ready
	$(SOAK) $(ORDERED:%=tests/contract/test_%.py) -m "not soak" -k "fake-ascend" --npu-schedules=40 --npu-seed=7 \
		--timeout=600 --junitxml=soak/orders.xml

# What sends and launches, and threads at once, with compiled sends that AddressSanitizer and UBSan watch.
test-sanitized: $(VENV)/.ready
	$(PY) -m tests.tools.sanitized tests/stress $(SENDING)

test-browser: $(VENV)/.ready
	$(PYTEST) tests/browser -rs

# An environment of its own, because Triton-Ascend pins what others must not have: its wheels are for Python 3.11.
TRITON_PYTHON ?= python3.11
TRITON_VENV   ?= .venv-triton
TRITON_WHEEL  ?= triton-ascend==3.2.0
test-triton:
	@command -v $(TRITON_PYTHON) > /dev/null || { echo "test-triton skipped: there is no $(TRITON_PYTHON)"; exit 0; }; \
	test -x $(TRITON_VENV)/bin/python || $(TRITON_PYTHON) -m venv $(TRITON_VENV); \
	if ! $(TRITON_VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(TRITON_WHEEL) pybind11 ml_dtypes; then \
		echo "test-triton skipped: the wheel $(TRITON_WHEEL) is not to be had here"; exit 0; fi; \
	$(TRITON_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test]' && \
	$(TRITON_VENV)/bin/python -m pytest tests/triton -rs

# torch-npu of a version wants torch of the same one, so the pair is pinned: the newest of both do not always fit.
TORCH_PYTHON ?= python3.11
TORCH_VENV   ?= .venv-torch
TORCH_WHEELS ?= torch==2.13.0 torch-npu==2.13.0
TORCH_URL    ?= fake://ascend910b3?devices=2
test-torch:
	@command -v $(TORCH_PYTHON) > /dev/null || { echo "test-torch skipped: there is no $(TORCH_PYTHON)"; exit 0; }; \
	test -x $(TORCH_VENV)/bin/python || $(TORCH_PYTHON) -m venv $(TORCH_VENV); \
	if ! $(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH_WHEELS) numpy pyyaml; then \
		echo "test-torch skipped: the wheels $(TORCH_WHEELS) are not to be had here"; exit 0; fi; \
	$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[test]' && \
	$(TORCH_VENV)/bin/python -m pytest tests/pytorch --npu-torch --npu-url='$(TORCH_URL)' -rs

$(VENV)/.ready: pyproject.toml setup.py runtime/core/submission/_send.c
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 10) else "npuhal needs Python 3.10 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --upgrade pip
	@# Byte code of what is used is written on first use: that of all that is installed takes as long as to install it.
	$(PY) -m pip install --quiet --no-compile --disable-pip-version-check -e '.[test]'
	@$(PY) -c 'import hypothesis, numpy, pytest, xdist'  # once, not by all that make test starts at the same time
	@touch $@

clean:
	rm -rf $(VENV) $(TRITON_VENV) $(TORCH_VENV) build dist soak *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
