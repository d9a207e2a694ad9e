"""Whether the compiled part is used, and what is said where it is not."""

from __future__ import annotations

import importlib
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import pytest

from npuhal.compiler import BuildError, compiler
from runtime.core.submission import compiled

NAME = "runtime.core.submission._send"
SOURCE = Path(compiled.__file__).with_name("_send.c")


@pytest.fixture(autouse=True)
def no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiled.VARIABLE, raising=False)


@pytest.mark.parametrize("value", ["0", "false", "No", "OFF", " 0 "])
def test_it_is_turned_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiled.VARIABLE, value)
    assert compiled._load() == (None, f"NPUHAL_COMPILED={value}")


@pytest.mark.parametrize("value", ["", "1", "yes"])
def test_it_is_used(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built = SimpleNamespace(REVISION=compiled.REVISION)
    monkeypatch.setenv(compiled.VARIABLE, value)
    monkeypatch.setitem(sys.modules, NAME, built)  # type: ignore[arg-type]
    assert compiled._load() == (built, "")


@pytest.mark.parametrize("facts", [{}, {"REVISION": compiled.REVISION - 1}, {"REVISION": "1"}])
def test_one_of_other_sources_is_not_used(facts: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, NAME, SimpleNamespace(__file__="old.so", **facts))  # type: ignore[arg-type]
    assert compiled._load() == (None, "old.so was built from other sources: install the package again")


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (ModuleNotFoundError("No module named 'x'"), "was not built when the package was installed"),
        (ImportError("_send.so: undefined symbol: f"), "cannot be loaded: ImportError: _send.so: undefined symbol: f"),
        (SystemError("initialization failed"), "cannot be loaded: SystemError: initialization failed"),
    ],
)
def test_one_that_is_not_there_or_broken_is_told(
    raised: Exception, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise raised

    monkeypatch.setattr(importlib, "import_module", refuse)
    assert compiled._load() == (None, f"the compiled part {told}")


def test_its_source_refuses_builds_without_the_interpreters_lock() -> None:
    try:
        command = [compiler(), "-fsyntax-only", f"-I{sysconfig.get_path('include')}", "-DPy_GIL_DISABLED", str(SOURCE)]
    except BuildError:
        pytest.skip("there is no C compiler")
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    assert tried.returncode
    assert "a free-threaded build takes the Python functions" in tried.stderr
