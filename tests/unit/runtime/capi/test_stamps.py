"""Marks of a program's own: in Python, by their C names and in pyACL; what is refused; what a trace keeps."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

import runtime
from runtime.api import Runtime
from runtime.capi.aclrt import Acl, Out
from runtime.core.process import lifetime
from runtime.trace import Tracing
from tests.unit.runtime.capi.acl_module import URLS, opened
from tests.unit.runtime.machines import V100


@pytest.fixture(scope="module")
def acl() -> Iterator[Acl]:
    with closing(Acl(f"fake://{V100}")) as made:
        made.call("aclInit", configPath=None)
        made.call("aclrtSetDevice", deviceId=0)
        yield made


def names(trace: Tracing) -> list[str]:
    return [bar.name for bar in trace.result.bars if "named by" in bar.facts]


def test_stretches_of_the_process_show_in_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "_the_one", None)
    runtime.mark("before there is a runtime")
    with runtime.annotate("neither"):
        assert lifetime.started() is None
    runtime.start(f"fake://{V100}")
    try:
        with runtime.annotate("begun before"), runtime.tracing() as trace:
            runtime.mark("now")
            with runtime.annotate("outer"), pytest.raises(ZeroDivisionError), runtime.annotate("inner"):
                raise ZeroDivisionError
        assert names(trace) == ["now", "outer", "inner"]
    finally:
        runtime.shutdown(force=True)


def test_ranges_end_in_any_thread_and_nesting_is_per_thread(acl: Acl) -> None:
    marks = acl.runtime.annotations
    with Tracing(runtime=acl.runtime) as trace:
        number = marks.begin("crossing")
        marks.push("mine")
        other = threading.Thread(target=lambda: (marks.push("its"), marks.end(number), marks.pop()))
        other.start()
        other.join()
        marks.pop()
    assert names(trace) == ["crossing", "mine", "its"]


@pytest.mark.parametrize(
    ("call", "given", "code"),
    [
        ("aclprofPop", {}, 100000),
        ("aclprofRangeStop", {"rangeId": 77}, 100000),
        ("aclprofMark", {"stamp": None}, 100000),
        ("aclprofPush", {"stamp": 12345}, 107017),
        ("aclprofRangeStart", {"stamp": "made", "rangeId": None}, 100000),
        ("aclprofSetStampTraceMessage", {"stamp": "made", "msg": "x" * 128, "msgLen": 128}, 100000),
        ("aclprofSetStampTraceMessage", {"stamp": "made", "msg": "x", "msgLen": 2}, 100000),
        ("aclprofSetStampTraceMessage", {"stamp": "made", "msg": None, "msgLen": 1}, 100000),
        ("aclprofSetStampTraceMessage", {"stamp": "made", "msg": "x" * 127, "msgLen": 127}, 0),
        ("aclprofMarkEx", {"msg": "", "msgLen": 0, "stream": "stream"}, 100000),
        ("aclprofMarkEx", {"msg": "x", "msgLen": 1, "stream": None}, 100000),
        ("aclprofGetStepTimestamp", {"stepInfo": "step", "tag": 2, "stream": None}, 100000),
        ("aclprofGetStepTimestamp", {"stepInfo": None, "tag": 0, "stream": None}, 100000),
    ],
)
def test_what_is_refused(acl: Acl, call: str, given: dict[str, Any], code: int) -> None:
    stream = Out()
    acl.call("aclrtCreateStream", stream=stream)
    known = {"made": acl.call("aclprofCreateStamp"), "step": acl.call("aclprofCreateStepInfo"), "stream": stream.value}
    values = {name: known.get(value, value) if isinstance(value, str) else value for name, value in given.items()}
    assert acl.call(call, **values) == code


def test_a_step_starts_and_ends_once(acl: Acl) -> None:
    step = acl.call("aclprofCreateStepInfo")
    given = [acl.call("aclprofGetStepTimestamp", stepInfo=step, tag=tag, stream=None) for tag in (0, 0, 1, 1)]
    assert given == [0, 100000, 0, 100000]


def test_pyacl_marks_what_it_does() -> None:
    with opened(URLS[0]) as module:
        assert module.init() == 0
        assert module.rt.set_device(0) == 0
        stream, _ = module.rt.create_stream()
        from runtime.capi.pyacl.binding import process

        made = process().runtime
        assert isinstance(made, Runtime)
        with Tracing(runtime=made) as trace:
            stamp = module.prof.create_stamp()
            assert module.prof.set_stamp_trace_message(stamp, "work", 4) == 0
            assert module.prof.push(stamp) == 0
            number, ret = module.prof.range_start(stamp)
            assert ret == 0
            assert module.prof.range_stop(number) == 0
            assert module.prof.pop() == 0
            assert module.prof.mark_ex("on it", stream) == 0
            assert module.prof.destroy_stamp(stamp) is None
        assert names(trace)[:2] == ["work", "work"]
        assert names(trace)[2].startswith("on it (stream ")
