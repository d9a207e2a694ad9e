"""Variables of programs on a library of `npuhal shim`: each wrong value is an error that names it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from npuhal import shim_settings
from npuhal.errors import NpuhalError

MODULE = """
number = 1
def attach(machine): machine.append("attached")
def breaks(machine): raise KeyError("no kernel")
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "module_of_a_job.py").write_text(MODULE)
    (tmp_path / "broken_module_of_a_job.py").write_text("1 / 0")


def test_the_function_is_called_with_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shim_settings.setup() is None
    monkeypatch.setenv(shim_settings.SETUP, "module_of_a_job:attach")
    called = shim_settings.setup()
    machine: list[str] = []
    assert called is not None
    called(machine)
    assert machine == ["attached"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("module_of_a_job", "not of the form"), (":attach", "not of the form"), ("module_of_a_job:", "not of the form"),
        ("no_module_of_a_job:attach", "No module named"), ("module_of_a_job:nothing", "no attribute 'nothing'"),
        ("module_of_a_job:number", "number is int and no function"),
        ("broken_module_of_a_job:attach", "the module raises ZeroDivisionError"),
    ],
)  # fmt: skip
def test_what_names_no_function_is_refused(monkeypatch: pytest.MonkeyPatch, value: str, said: str) -> None:
    monkeypatch.setenv(shim_settings.SETUP, value)
    with pytest.raises(NpuhalError, match=said) as refused:
        shim_settings.setup()
    assert f"NPUHAL_SHIM_SETUP={value!r}" in str(refused.value)


def test_what_the_function_raises_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(shim_settings.SETUP, "module_of_a_job:breaks")
    called = shim_settings.setup()
    assert called is not None
    with pytest.raises(NpuhalError, match="breaks' raises KeyError: 'no kernel'"):
        called([])
    assert "in breaks" in capsys.readouterr().err


def test_strictness_is_0_or_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shim_settings.STRICT, raising=False)
    assert not shim_settings.strict()
    for value, wanted in (("", False), ("0", False), ("1", True)):
        monkeypatch.setenv(shim_settings.STRICT, value)
        assert shim_settings.strict() is wanted
    monkeypatch.setenv(shim_settings.STRICT, "no")
    with pytest.raises(NpuhalError, match="NPUHAL_SHIM_STRICT='no' is neither 0 nor 1"):
        shim_settings.strict()
