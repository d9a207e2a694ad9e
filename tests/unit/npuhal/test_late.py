"""Names that are loaded late: all of them are there, in `dir`, for `import *`, and hide no module of their package."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from npuhal import late

ROOT = Path(late.__file__).parents[1]
PACKAGES = [
    ".".join(path.parent.relative_to(ROOT).parts)
    for top in ("npuhal", "chips", "runtime", "fakes")
    for path in sorted((ROOT / top).rglob("__init__.py"))
    if "late.names(" in path.read_text()
]


def python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, timeout=60, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_there_are_such_packages() -> None:
    assert {"runtime.api", "chips", "runtime.feature.graph", "chips.binary"} <= set(PACKAGES)


def test_dir_lists_modules_that_a_package_gives_before_they_are_loaded() -> None:
    program = "import npuhal\nprint({*npuhal.__all__} <= {*dir(npuhal)}, npuhal.errors.__name__)"
    assert python(program) == "True npuhal.errors"


@pytest.mark.parametrize("package", PACKAGES)
def test_all_names_are_there(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is getattr(module, name)
    below = {each.name for each in pkgutil.iter_modules(module.__path__)}
    hidden = [
        name for name in below & set(module.__all__)
        if getattr(module, name) is not importlib.import_module(f"{package}.{name}")
    ]
    assert not hidden, "the name would be the module's or the object's, by what was imported first"
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_nothing_is_loaded_before_it_is_used() -> None:
    assert python(
        "import sys, runtime.api\nprint('runtime.api.devices' in sys.modules)\n"
        "from runtime.api import Device\nprint('runtime.api.devices' in sys.modules, 'Device' in vars(runtime.api))"
    ).split() == ["False", "True", "True"]


@pytest.mark.parametrize(
    ("imported", "expression"),
    [
        ("chips", "chips.catalog.find_chip"),
        ("chips.binary", "chips.binary.program.read_program"),
        ("runtime", "runtime.feature.graph.state.GraphState"),
        ("runtime", "runtime.errors.RuntimeFault"),
    ],
)
def test_modules_are_attributes_of_their_packages(imported: str, expression: str) -> None:
    """As they were when the packages loaded all of them."""
    assert python(f"import {imported}\nprint({expression}.__name__)") == expression.rpartition(".")[2]


def test_a_name_is_one_object_for_all_threads() -> None:
    found = python(
        "import threading, runtime\ngate, found = threading.Barrier(8), []\n"
        "def use():\n gate.wait(60)\n found.append(runtime.Graph)\n"
        "threads = [threading.Thread(target=use) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n[thread.join(20) for thread in threads]\n"
        "print(len(found), len(set(found)))"
    )
    assert found == "8 1"


def test_a_logger_loads_logging_for_what_could_be_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "logging")
    log = late.logger("npuhal.late.nobody")
    log.debug("quiet %d", 1)
    log.info("quiet")
    assert "logging" not in sys.modules
    log.warning("said")
    assert "logging" in sys.modules


def test_a_logger_is_that_of_logging(caplog: pytest.LogCaptureFixture) -> None:
    log = late.logger("runtime.late.test")
    with caplog.at_level(logging.DEBUG, "runtime.late.test"):
        for _ in range(2):
            log.debug("one of %s", "two")
    assert [(each.name, each.filename, each.getMessage()) for each in caplog.records] == [
        ("runtime.late.test", Path(__file__).name, "one of two")
    ] * 2
    quiet = [each for each in logging.getLogger("runtime").handlers if isinstance(each, logging.NullHandler)]
    assert len(quiet) == 1
    assert log.name == "runtime.late.test"
    assert log.isEnabledFor(logging.CRITICAL)


def test_other_packages_are_heard_without_a_handler() -> None:
    program = "from npuhal.late import logger\nfor n in ('runtime.a', 'npuhal.b', 'chips.c'): logger(n).warning(n)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stderr == "chips.c\n"
