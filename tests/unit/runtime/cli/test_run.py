"""`npuhal run`: scripts, modules, texts and standard input, each as Python itself would run them."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.cli import main

TELL = "import sys, acl; print(__name__, sys.argv, acl.__name__)"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Programs change the process: give it back as it was."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setenv("NPUHAL_URL", "fake://ascend910b3")
    modules = set(sys.modules)
    yield
    for name in set(sys.modules) - modules:
        if name == "acl" or name.startswith(("acl.", "job", "package")):
            del sys.modules[name]


@pytest.mark.parametrize("way", ["script", "module", "text", "standard input"])
def test_each_way_to_give_a_program(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job_here.py").write_text(TELL)
    monkeypatch.setattr(sys, "stdin", io.StringIO(TELL))
    words = {
        "script": ["job_here.py"], "module": ["-m", "job_here"], "text": ["-c", TELL], "standard input": ["-"],
    }[way]  # fmt: skip
    assert main(["run", *words, "--url", "-x", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("__main__ [")
    assert printed.endswith("'--url', '-x', '1'] acl\n")


def test_acl_is_made_when_it_is_imported_and_found_before_a_file_of_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "acl.py").write_text("raise SystemExit('the file was imported')")
    (tmp_path / "job_acl.py").write_text(
        "import importlib.util, sys\n"
        "print('acl' in sys.modules, importlib.util.find_spec('acl').origin, importlib.util.find_spec('aclx'))\n"
        "import acl.rt\n"
        "from acl import util\n"
        "print(acl.rt is sys.modules['acl.rt'], util is acl.util, acl.rt.__name__, callable(acl.init))\n"
        "try:\n    import acl.nothing\n"
        "except ModuleNotFoundError as missing:\n    print(missing)\n"
    )
    for _ in range(2):
        sys.modules.pop("acl", None)
        assert main(["run", "job_acl.py"]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "False npuhal None", "True True acl.rt True", "No module named 'acl.nothing'",
        ]  # fmt: skip


def test_what_a_program_does_not_use_is_not_loaded(tmp_path: Path) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "npuhal", "run", "-c", "import sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True, timeout=250,
    )  # fmt: skip
    unneeded = {"numpy", "logging", "yaml", "traceback", "shutil", "runtime.api", "runtime.capi.pyacl.own",
                "runtime.capi.shim.build", "runtime.core"}  # fmt: skip
    assert not unneeded & set(listed.stdout.split())


@pytest.mark.parametrize(("words", "first"), [
    (["-c", "\n1/0"], '  File "<string>", line 2, in <module>'), (["-m", "job_wrong"], 'job_wrong.py", line 1'),
])  # fmt: skip
def test_a_traceback_begins_in_the_program(
    words: list[str], first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job_wrong.py").write_text("1/0")
    assert main(["run", *words]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("Traceback")
    assert first in said[1]
    assert said[-1].startswith("ZeroDivisionError")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no script was given"), (["nope.py"], "cannot open 'nope.py': no such file"),
        (["-m"], "-m needs a module"),
        (["-m", "no_such.module"], "there is no module 'no_such.module'"), (["-c"], "-c needs a text"),
        (["."], "cannot open '.': it is a folder"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_one_line_and_a_cure(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words]) == 2
    error, cure = capsys.readouterr().err.splitlines()
    assert said in error
    assert cure.startswith("cure: ")
