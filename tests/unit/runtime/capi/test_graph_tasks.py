"""The C API of a captured graph's tasks: their parameters by type, launch attributes, and what was said of them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from tests.unit.runtime.capi.kernel_calls import Caller, api

__all__ = ["api"]


@pytest.fixture(params=["910B1", "950"])
def soc(request: pytest.FixtureRequest) -> str:
    """Chips whose graphs have software SQs, so that their tasks can be changed."""
    return str(request.param)


@pytest.fixture
def one(api: Caller) -> int:
    """A kernel of one argument."""
    return api.function(minimal_kernel("one", 1), "one")


def captured(api: Caller, function: int, *, cfg: int | None = None) -> tuple[int, list[int]]:
    """Capture one task of each kind, and return the graph and its tasks, in the order of their types."""
    event = api.step("aclrtCreateEventExWithFlag", 0, event=Out(), flag=1)
    api.word = api.step("aclrtMalloc", 0, devPtr=Out(), size=64, policy=0)  # type: ignore[attr-defined]
    api.step("aclmdlRICaptureBegin", 0, stream=api.stream, mode=2)
    api.step("aclrtLaunchKernelWithHostArgs", 0, funcHandle=function, numBlocks=1, stream=api.stream, cfg=cfg,
             hostArgs=api.memory(b"before.."), argsSize=8, placeHolderArray=None, placeHolderNum=0)
    api.step("aclrtRecordEvent", 0, event=event, stream=api.stream)
    api.step("aclrtStreamWaitEvent", 0, stream=api.stream, event=event)
    api.step("aclrtValueWrite", 0, devAddr=api.word, value=5, flag=0, stream=api.stream)  # type: ignore[attr-defined]
    api.step("aclrtValueWait", 0, devAddr=api.word, value=5, flag=0, stream=api.stream)  # type: ignore[attr-defined]
    graph = api.step("aclmdlRICaptureEnd", 0, stream=api.stream, modelRI=Out())
    stream = Out()
    api.step("aclmdlRIGetStreams", 0, modelRI=graph, streams=stream, numStreams=api.memory(struct.pack("<I", 1)))
    count = api.memory(bytes(4))
    api.step("aclmdlRIGetTasksByStream", 0, stream=stream.value, tasks=None, numTasks=count)
    room = struct.unpack("<I", api.read(count, 4))[0]
    array = api.memory(bytes(8 * room))
    api.step("aclmdlRIGetTasksByStream", 0, stream=stream.value, tasks=array, numTasks=count)
    tasks = struct.unpack(f"<{room}Q", api.read(array, 8 * room))
    kinds = {task: api.step("aclmdlRITaskGetType", 0, task=task, type=Out()) for task in tasks}
    found = sorted((kinds[task], task) for task in tasks if kinds[task])  # the end of a capture resets its events
    assert [kind for kind, _ in found] == [1, 2, 3, 4, 5, 6]
    return graph, [task for _, task in found]


def params_of(api: Caller, task: int) -> tuple[int, int, int, bytes]:
    """Return type, address and size of the operator's information, and the union of a task's parameters."""
    place = api.memory(bytes(200))
    api.step("aclmdlRITaskGetParams", 0, task=task, params=place)
    image = api.read(place, 200)
    kind, said, size = struct.unpack_from("<I20xQQ", image)
    return kind, said, size, image[72:]


def given(api: Caller, kind: int, union: bytes, said: int = 0, size: int = 0) -> int:
    """Return the address of parameters to set."""
    return api.memory(struct.pack("<I20xQQ32x", kind, said, size) + union.ljust(128, b"\0"))


def test_parameters_by_type_are_told_and_changed(api: Caller, one: int) -> None:
    seen = api.listen(one, 8)
    graph, (kernel, record, wait, reset, write, held) = captured(api, one)
    for task, kind in ((kernel, 1), (record, 2), (wait, 3), (reset, 4), (write, 5), (held, 6)):
        assert params_of(api, task)[0] == kind
    handle, _, arguments, on_host, size, blocks = struct.unpack_from("<QQQI4xQI", params_of(api, kernel)[3])
    assert (handle, on_host, size, blocks) == (one, 0, 8, 1)
    assert api.acl.runtime.device(0).memory.read(arguments, 8) == b"before.."
    events = {struct.unpack_from("<QII", params_of(api, task)[3]) for task in (record, wait, reset)}
    assert len(events) == 1
    word = api.word  # type: ignore[attr-defined]
    assert [struct.unpack_from("<QQ", params_of(api, task)[3]) for task in (write, held)] == [(word, 5)] * 2
    changed = struct.pack("<QQQI4xQI40x", one, 0, api.memory(b"after..."), 1, 8, 1)
    note = api.memory(b"operator")
    api.step("aclmdlRITaskSetParams", 0, task=kernel, params=given(api, 1, changed, note, 8))
    for task, kind in ((write, 5), (held, 6)):
        value = struct.pack("<QQI4x", word + 8, 9, 0)
        api.step("aclmdlRITaskSetParams", 0, task=task, params=given(api, kind, value))
    api.step("aclmdlRIUpdate", 0, modelRI=graph)
    _, said, size, _ = params_of(api, kernel)
    assert api.read(said, size) == b"operator"
    api.step("aclmdlRIExecuteAsync", 0, modelRI=graph, stream=api.stream)
    api.wait()
    assert seen == [b"after..."]
    assert struct.unpack("<QQ", api.acl.runtime.device(0).memory.read(word, 16))[1] == 9
    api.step("aclmdlRIDestroy", 0, modelRI=graph)


@pytest.mark.parametrize("kind", [0, 2, 3, 4, 7])
def test_other_types_cannot_be_set(api: Caller, one: int, kind: int) -> None:
    graph, tasks = captured(api, one)
    task = tasks[kind - 1] if kind in (2, 3, 4) else tasks[0]
    api.step("aclmdlRITaskSetParams", 107000, "EE1003", task=task, params=given(api, kind, b""))
    api.step("aclmdlRIDestroy", 0, modelRI=graph)


def test_a_value_task_has_no_operator(api: Caller, one: int) -> None:
    graph, tasks = captured(api, one)
    value = struct.pack("<QQI4x", api.word, 9, 0)  # type: ignore[attr-defined]
    api.step("aclmdlRITaskSetParams", 107000, task=tasks[4], params=given(api, 5, value, api.memory(b"x"), 1))
    api.step("aclmdlRIDestroy", 0, modelRI=graph)


def test_a_kernel_tells_how_it_was_launched(api: Caller, one: int) -> None:
    limit_us = 3_000_000
    graph, tasks = captured(api, one, cfg=api.config((1, 1, 0), (6, 1, 0), (8, limit_us, 0)))
    place = api.memory(bytes(8))

    def told(attribute: int, layout: str) -> tuple[Any, ...]:
        api.step("aclmdlRIKernelTaskGetAttribute", 0, task=tasks[0], attrId=attribute, attrValue=place)
        return struct.unpack(layout, api.read(place, struct.calcsize(layout)))

    assert (told(1, "<B"), told(2, "<I"), told(6, "<B"), told(7, "<H")) == ((1,), (0,), (1,), (3,))
    assert told(8, "<II") == (limit_us, 0)
    for attribute in (0, 3, 4, 5, 9, 10):
        api.step("aclmdlRIKernelTaskGetAttribute", 107000, "EE1003", task=tasks[0], attrId=attribute, attrValue=place)
    api.step("aclmdlRIKernelTaskGetAttribute", 107000, "EE1017", task=tasks[1], attrId=1, attrValue=place)
    api.step("aclmdlRIKernelTaskGetAttribute", 100000, "EH0008", task=None, attrId=1, attrValue=place)
    api.step("aclmdlRIDestroy", 0, modelRI=graph)
    graph, tasks = captured(api, one, cfg=api.config((8, 0, 0)))  # a limit of 0 is none
    assert told(8, "<II") == (0, 0)
    api.step("aclmdlRIDestroy", 0, modelRI=graph)
    graph, tasks = captured(api, one)
    standard = api.step("aclrtGetOpExecuteTimeout", 0, timeoutMs=Out())
    assert told(8, "<II") == (standard * 1000 & 0xFFFFFFFF, standard * 1000 >> 32)
    api.step("aclmdlRIDestroy", 0, modelRI=graph)


def test_what_is_said_of_the_last_task_is_told_by_the_graph(api: Caller, one: int, tmp_path: Path) -> None:
    text = b'op "first"\n'

    def launch() -> None:
        api.step("aclrtLaunchKernelWithHostArgs", 0, funcHandle=one, numBlocks=1, stream=api.stream,
                 hostArgs=api.memory(bytes(8)), argsSize=8, placeHolderArray=None, placeHolderNum=0)

    launch()
    api.step("aclrtCacheLastTaskExtendInfo", 507000, "EE1004", extendInfoPtr=api.memory(text), infoSize=len(text))
    api.step("aclmdlRICaptureBegin", 0, stream=api.stream, mode=2)
    launch()
    api.step("aclrtCacheLastTaskExtendInfo", 0, extendInfoPtr=api.memory(text), infoSize=len(text))
    launch()
    api.step("aclrtCacheLastTaskExtendInfo", 0, extendInfoPtr=api.memory(b"y" * 5000), infoSize=5000)
    api.step("aclrtCacheLastTaskOpInfo", 0, infoPtr=api.memory(b"shape"), infoSize=5)
    api.step("aclrtCacheLastTaskExtendInfo", 107000, "EE1003", extendInfoPtr=api.memory(text), infoSize=0)
    api.step("aclrtCacheLastTaskExtendInfo", 107000, "EE1004", extendInfoPtr=None, infoSize=4)
    graph = api.step("aclmdlRICaptureEnd", 0, stream=api.stream, modelRI=Out())
    path = tmp_path / "graph.json"
    api.step("aclmdlRIDebugJsonPrint", 0, modelRI=graph, path=str(path), flags=0)
    said = [entry["args"].get("ExtendInfo") for entry in json.loads(path.read_text()) if entry["name"] == "one"]
    assert said == [text.decode(), "y" * 4096]
    api.step("aclmdlRIDestroy", 0, modelRI=graph)


def test_unbinding_looks_at_the_context_of_the_model_and_not_of_the_stream(api: Caller) -> None:
    model = api.step("aclmdlRIBuildBegin", 0, modelRI=Out(), flag=0)
    api.step("aclrtCreateContext", 0, context=Out(), deviceId=0)
    api.step("aclmdlRIUnbindStream", 107004, "EE1010", modelRI=model, stream=api.stream)
    other = api.step("aclmdlRIBuildBegin", 0, modelRI=Out(), flag=0)
    api.step("aclmdlRIUnbindStream", 107005, "EE4002", modelRI=other, stream=api.stream)
