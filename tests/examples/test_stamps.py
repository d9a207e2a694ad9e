"""Marks, nested and crossing ranges, and steps of a program, as a trace shows them."""

from __future__ import annotations

import json
from pathlib import Path

from runtime.capi.aclrt import Out
from runtime.trace import tracing
from tests.examples.conftest import CApi


def test_marks_and_ranges(c: CApi, tmp_path: Path) -> None:
    stream = c("aclrtCreateStream", stream=Out())
    buffer = c("aclrtMalloc", devPtr=Out(), size=64, policy=0)
    with tracing(tmp_path / "trace.json", runtime=c.acl.runtime) as trace:
        stamps = {text: stamp(c, text) for text in ("load", "forward", "dispatch", "preprocess")}
        step = c.answer("aclprofCreateStepInfo")
        c("aclprofGetStepTimestamp", stepInfo=step, tag=0, stream=stream)
        c("aclprofMark", stamp=stamps["load"])
        c("aclprofPush", stamp=stamps["forward"])
        crossing = c("aclprofRangeStart", stamp=stamps["preprocess"], rangeId=Out())
        c("aclprofPush", stamp=stamps["dispatch"])
        c("aclrtMemsetAsync", devPtr=buffer, maxCount=64, value=1, count=64, stream=stream)
        c("aclprofRangeStop", rangeId=crossing)
        c("aclprofPop")
        c("aclrtSynchronizeStream", stream=stream)
        c("aclprofPop")
        c("aclprofMarkEx", msg="done", msgLen=4, stream=stream)
        c("aclprofGetStepTimestamp", stepInfo=step, tag=1, stream=stream)
        c("aclprofDestroyStepInfo", stepinfo=step)
        for each in stamps.values():
            c("aclprofDestroyStamp", stamp=each)

    bars = {bar.name: bar for bar in trace.result.bars if bar.facts.get("named by") == "the program"}
    number = c("aclrtStreamGetId", stream=stream, streamId=Out())
    assert list(bars) == ["step 1", "load", "forward", "preprocess", "dispatch", f"done (stream {number})"]
    ended = [bars[name].ended_us for name in ("load", "preprocess", "dispatch", "forward", "step 1")]
    assert ended == sorted(ended)
    (filled,) = trace.result.tasks
    assert bars["dispatch"].began_us <= filled.began_us <= filled.ended_us <= bars["dispatch"].ended_us
    names = {event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}
    assert bars.keys() <= names


def stamp(c: CApi, text: str) -> int:
    made = int(c.answer("aclprofCreateStamp"))
    c("aclprofSetStampTraceMessage", stamp=made, msg=text, msgLen=len(text))
    return made
