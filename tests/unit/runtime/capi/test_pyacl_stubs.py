"""The type stubs of pyACL: they are those of the tables, and a checker reads them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.capi import pyacl
from tests.tools.acl_stubs import written

SCRIPT = """\
import acl
import acl.rt
from acl.rt import memcpy

ret: int = acl.init()
ret = acl.rt.set_device(0)
pointer, ret = acl.rt.malloc(4096, 0)
free, total, ret = acl.rt.get_mem_info(1)
data = bytes(4096)
ret = memcpy(acl.util.bytes_to_ptr(data), len(data), pointer, len(data), 2)
ms, ret = acl.rt.event_elapsed_time(1, 2)
half = ms / 2
name = acl.get_soc_name()
"""
WRONG = """\
import acl

ret: int = acl.rt.malloc(4096, 0)
acl.rt.malloc(size=4096, policy=0)
acl.rt.set_device("0")
acl.get_soc_name().lower()
acl.rt.no_such_call()
"""


def test_the_stubs_are_those_of_the_tables() -> None:
    folder = pyacl.stubs() / "acl"
    assert {path.name for path in folder.iterdir()} == set(written())
    for name, text in written().items():
        assert (folder / name).read_text(encoding="utf-8") == text, "run python -m tests.tools.acl_stubs"


def test_units_are_told() -> None:
    rt = written()["rt.pyi"]
    assert "timeout_ms in milliseconds" in rt
    assert "timeout_s in seconds" in rt
    assert '"""aclrtMalloc; gives (dev_ptr, ret); size in bytes.' in rt
    assert '"""aclrtGetDeviceCount; gives (count, ret).' in rt


def test_what_a_call_refuses_is_told_in_its_order() -> None:
    text = written()["rt.pyi"]
    text = text[text.index("aclrtMalloc;") :]
    rules = ("devPtr is NULL (100000 EH0008)", "size is 0 (100000 EH0007)", "no current context (107002 EE1018)")
    places = [text.index(rule) for rule in rules]
    assert places == sorted(places)


def test_a_checker_takes_right_scripts_and_refuses_wrong_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(pyacl.stubs()))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "right.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(WRONG)
    options = ["--strict", "--config-file", os.devnull, "--cache-dir", str(tmp_path / "cache"), "--no-site-packages",
               "--ignore-missing-imports"]  # fmt: skip
    said, _, status = api.run([*options, "right.py", "wrong.py"])
    lines = {line.split(":")[1] for line in said.splitlines() if line.startswith("wrong.py")}
    assert status == 1
    assert lines == {"3", "4", "5", "6", "7"}, said
    assert "right.py" not in said, said
