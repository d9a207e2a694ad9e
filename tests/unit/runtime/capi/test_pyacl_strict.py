"""Strict pyACL: each mistake warns at its line, and its right form does not."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.capi.pyacl.strict import VARIABLE, MisuseWarning
from tests.unit.runtime.capi.acl_module import PAIR, URLS, opened

STRICT = {VARIABLE: "1"}


@pytest.fixture(scope="module", params=PAIR)
def acl(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A strict module with device 0 set."""
    with opened(request.param, **STRICT) as module:
        assert module.init() == 0
        assert module.rt.set_device(0) == 0
        yield module


def run(acl: Any, code: str) -> list[tuple[int, str]]:
    """Run lines of a script; returns line and text of each warning of misuse."""
    lines = compile(code, "script.py", "exec")
    linecache.cache["script.py"] = len(code), None, code.splitlines(keepends=True), "script.py"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(lines, {"acl": acl, "__name__": "__main__"})
    assert all(each.filename == "script.py" for each in caught)
    return [(each.lineno, str(each.message)) for each in caught if each.category is MisuseWarning]


RECORDED = "ret = acl.rt.record_event(a, 0)\nret = acl.rt.synchronize_stream(0)\n"

MISTAKES = {
    "compared with a number": ("if acl.rt.get_device_count() == 0:\n    pass", 1, "never equals 0"),
    "compared the other way": ("done = 0 != acl.rt.get_device_count()", 1, "never equals 0"),
    "looked for in a tuple": ("x = acl.rt.get_device_count() in (0, 100002)", 1, "never equals 0"),
    "kept and compared": ("ret = acl.rt.get_device()\n\nok = ret == 0", 3, "never equals 0"),
    "taken for true": ("if not acl.rt.get_device_count():\n    pass", 1, "always is"),
    "unpacked the wrong way": ("ret, context = acl.rt.get_context()", 1, "'ret' gets an output, and 'context' the"),
    "unpacked in a function": ("def f():\n    rc, context = acl.rt.get_context()\nf()", 2, "the code comes last"),
    "first of three": ("err, free, total = acl.rt.get_mem_info(1)", 1, "the code comes last"),
    "dict as an object": (
        "info, ret = acl.rt.get_device_utilization_rate(0)\ntry:\n    info.cube_utilization\n"
        "except AttributeError:\n    pass", 3, "write ['cube_utilization']",
    ),
    "times of an event without": (
        f"a, ret = acl.rt.create_event_with_flag(1)\n{RECORDED}"
        "ms, ret = acl.rt.event_elapsed_time(a, a)", 4, "made with flag 1 at script.py:1 keeps no time; 8 is the flag",
    ),
    "time stamp of an event without": (
        "a, ret = acl.rt.create_event_ex_with_flag(1)\nt, ret = acl.rt.event_get_timestamp(a)", 2, "keeps no time",
    ),
    "device for a kind of memory": ("dev_id = 0\nfree, total, ret = acl.rt.get_mem_info(dev_id)", 2, "kind of memory"),
    "kind of memory out of range": ("free, total, ret = acl.rt.get_mem_info(77)", 1, "kind of memory"),
    "milliseconds for seconds": ("ret = acl.rt.set_op_wait_timeout(30000)", 1, "takes seconds: 30000 are 500 minutes"),
    "seconds for milliseconds": ("ret = acl.rt.synchronize_stream_with_timeout(0, 5)", 1, "5 are 0.005 s"),
    "milliseconds for microseconds": ("us, ret = acl.rt.set_op_execute_timeout_v2(500)", 1, "500 are 0.5 ms"),
    "a failure that is dropped": ("acl.rt.set_device(99)", 1, "failed with 107001 ACL_ERROR_RT_INVALID_DEVICEID, and"),
    "streams that go with their context": (
        "c, ret = acl.rt.create_context(0)\ns, ret = acl.rt.create_stream()\nret = acl.rt.destroy_context(c)\n"
        "ret = acl.rt.set_device(0)", 3, "ended 1 streams that were not destroyed, made at script.py:2",
    ),
}  # fmt: skip

RIGHT = {
    "unpacked": "count, ret = acl.rt.get_device_count()\nassert ret == 0 and count == 2",
    "last by index": "assert acl.rt.get_device_count()[-1] == 0",
    "whole answer": "assert acl.rt.get_device_count() == (2, 0)",
    "code alone": "assert acl.rt.synchronize_device() == 0\nif acl.rt.synchronize_device():\n    pass",
    "code ignored by name": "context, _ = acl.rt.get_context()",
    "attribute as target": "class A: pass\na = A()\na.context, a.ret = acl.rt.get_context()",
    "status before code": "e, ret = acl.rt.create_event()\nstatus, ret = acl.rt.query_event(e)",
    "dict by key": "info, ret = acl.rt.get_device_utilization_rate(0)\ninfo['cube_utilization']",
    "times of plain events": (
        f"a, ret = acl.rt.create_event()\n{RECORDED}"
        "ms, ret = acl.rt.event_elapsed_time(a, a)"
    ),
    "times of events made for it": (
        f"a, ret = acl.rt.create_event_with_flag(8)\n{RECORDED}"
        "ms, ret = acl.rt.event_elapsed_time(a, a)"
    ),
    "kind of memory": "attr = 0\nfree, total, ret = acl.rt.get_mem_info(attr)",
    "seconds": "ret = acl.rt.set_op_wait_timeout(30)",
    "milliseconds": "for limit in (5000, -1):\n    ret = acl.rt.synchronize_stream_with_timeout(0, limit)",
    "microseconds": "us, ret = acl.rt.set_op_execute_timeout_v2(2000000)",
    "a failure that is looked at": "ret = acl.rt.set_device(99)\nassert acl.rt.set_device(99) != 0",
    "a success that is dropped": "acl.rt.set_device(0)",
    "streams destroyed first": (
        "c, ret = acl.rt.create_context(0)\ns, ret = acl.rt.create_stream()\nret = acl.rt.destroy_stream(s)\n"
        "ret = acl.rt.destroy_context(c)\nret = acl.rt.set_device(0)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_at_its_line(acl: Any, mistake: str) -> None:
    code, line, text = MISTAKES[mistake]
    found = run(acl, code)
    assert [number for number, _ in found] == [line] * len(found)
    assert any(text in message for _, message in found), found


@pytest.mark.parametrize("form", RIGHT)
def test_the_right_form_says_nothing(acl: Any, form: str) -> None:
    assert run(acl, RIGHT[form]) == []


def test_calls_after_finalize() -> None:
    with opened(URLS[0], **STRICT) as acl:
        clean_up = "ret = acl.rt.free(0)\nacl.util.bytes_to_ptr(b'x')\n"
        assert run(acl, f"ret = acl.init()\nret = acl.rt.set_device(0)\n{clean_up}ret = acl.finalize()") == []
        found = run(acl, clean_up)
        assert found == [(1, "acl.rt.free is called after acl.finalize at script.py:5")]
        assert run(acl, f"ret = acl.init()\n{clean_up}") == []


def test_without_the_variable_nothing_is_watched() -> None:
    with opened(URLS[0], **{VARIABLE: "0"}) as acl:
        assert acl.init() == 0
        assert type(acl.rt.get_device_count()) is tuple
        for code, _, _ in MISTAKES.values():
            assert run(acl, code) == []


def test_a_script_shows_file_and_line(tmp_path: Path) -> None:
    script = tmp_path / "swapped.py"
    script.write_text("import acl\nacl.init()\n\nret, mode = acl.rt.get_run_mode()\n")
    command = [sys.executable, "-m", "runtime.cli", "run", "--url", URLS[0], str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=250, env={**os.environ, **STRICT})
    assert ended.returncode == 0
    assert f"{script}:4: MisuseWarning: the code comes last: 'ret' gets an output" in ended.stderr
