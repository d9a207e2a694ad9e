"""Cache operations that others wait for: on 310B, in models, through the C API."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator

import pytest

from runtime.api import Runtime
from runtime.capi.aclrt import Acl
from runtime.core.stream.stream import StreamFlag
from runtime.feature.graph import Model

_ASYNC, _WAIT = "aclrtCmoAsyncWithBarrier", "aclrtCmoWaitBarrier"


@pytest.fixture
def acl() -> Iterator[Acl]:
    made = Acl("fake://ascend310b1?seed=2")
    assert made.call("aclrtSetDevice", deviceId=0) == 0
    yield made
    made.close()


def waits(*pairs: tuple[int, int], count: int | None = None) -> ctypes.Array[ctypes.c_char]:
    body = b"".join(struct.pack("<II", *pair) for pair in pairs)
    head = struct.pack("<Q", len(pairs) if count is None else count)
    return ctypes.create_string_buffer(head + body, 56)


def test_invalidations_of_a_model_are_waited_for(acl: Acl) -> None:
    runtime: Runtime = acl.runtime
    device = runtime.device(0)
    ids, buffer = device.resource_table.ids, device.alloc(4096)
    before = {kind for kind, _ in ids}
    with device.create_stream(flags=StreamFlag.PERSISTENT) as kept, device.create_stream() as runner:
        model = Model(device.context)
        model.bind(kept)
        operation = {"src": buffer.address, "size": 4096, "cmoType": 2, "stream": kept.handle}
        for number in (7, 9, 7):
            assert acl.call(_ASYNC, **operation, barrierId=number) == 0
        assert acl.call(_ASYNC, **{**operation, "cmoType": 0}, barrierId=0) == 0
        block = waits((2, 7), (2, 9))
        assert acl.call(_WAIT, taskInfo=ctypes.addressof(block), stream=kept.handle, flag=0) == 0
        unknown = waits((2, 8))
        assert acl.call(_WAIT, taskInfo=ctypes.addressof(unknown), stream=kept.handle, flag=0) == 107005
        tasks = [node.task for node in model.nodes]
        numbers = [getattr(task, "logic_id", None) for task in tasks]
        assert numbers[0] == numbers[2] != numbers[1]
        assert getattr(tasks[4], "ids", None) == ((8, numbers[0]), (8, numbers[1]))
        assert len([kind for kind, _ in ids if kind == "CMO"]) == 3  # prefetches have id 0 in common
        model.end(kept)
        model.load()
        model.execute(runner)
        runner.synchronize(30_000)
        model.close()
        assert {kind for kind, _ in ids} == before | {"STREAM"}


@pytest.mark.parametrize(("name", "given", "code", "message"), [
    (_ASYNC, {"src": 0, "size": 64, "cmoType": 2, "barrierId": 1}, 100000, "EH0008"),
    (_ASYNC, {"src": 1, "size": 0, "cmoType": 2, "barrierId": 1}, 107000, "EE1003"),
    (_ASYNC, {"src": 1, "size": 64, "cmoType": 2, "barrierId": 0}, 107000, "EE1011"),
    (_ASYNC, {"src": 1, "size": 64, "cmoType": 0, "barrierId": 1}, 107000, "EE1011"),
    (_ASYNC, {"src": 1, "size": 64, "cmoType": 4, "barrierId": 1}, 207000, ""),
    (_ASYNC, {"src": 1, "size": 64, "cmoType": 2, "barrierId": 1}, 507000, ""),
    (_WAIT, {"taskInfo": 0, "flag": 0}, 100000, "EH0008"),
    (_WAIT, {"taskInfo": waits(count=0), "flag": 0}, 100000, "EH0007"),
    (_WAIT, {"taskInfo": waits(count=7), "flag": 0}, 100000, "EH0007"),
    (_WAIT, {"taskInfo": waits((0, 1)), "flag": 0}, 107000, "EE1003"),
    (_WAIT, {"taskInfo": waits((2, 0)), "flag": 0}, 107000, "EE1003"),
    (_WAIT, {"taskInfo": waits((2, 1)), "flag": 0}, 507000, ""),
])  # fmt: skip
def test_what_is_refused(acl: Acl, name: str, given: dict[str, object], code: int, message: str) -> None:
    given = {key: value if isinstance(value, int) else ctypes.addressof(value) for key, value in given.items()}  # type: ignore[arg-type]
    stream = acl.runtime.device(0).create_stream()
    acl.reports.take_text()
    assert acl.call(name, **given, stream=stream.handle) == code
    assert acl.reports.message_ids() == ((message,) if message else ())
    stream.close()
