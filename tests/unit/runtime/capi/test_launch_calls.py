"""The C API of argument lists and launches: codes, messages and what arrives (core_spec 8)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import pytest

from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from runtime.core.stream.stream import Stream
from runtime.launch.binary import Function
from tests.tools.elf_writer import ElfWriter, dfx, dfx_item, u32
from tests.unit.runtime.capi.kernel_calls import (
    Caller,
    api,
    append,
    function,
    host_args,
    listed,
    soc,
    start,
)  # fmt: skip

__all__ = ["api", "function", "soc"]


def test_lists_arrive_as_laid_out(api: Caller, function: int) -> None:
    seen = api.listen(function, 56)
    handle = start(api, function)
    append(api, handle, struct.pack("<Q", 1))
    small = append(api, handle, struct.pack("<I", 2))
    pointer = api.step("aclrtKernelArgsAppendPlaceHolder", 0, argsHandle=handle, paramHandle=Out())
    where = api.step("aclrtKernelArgsGetPlaceHolderBuffer", 0, argsHandle=handle, paramHandle=pointer, dataSize=12,
                     bufferAddr=Out())
    ctypes.memmove(where, b"tiling data.", 12)
    api.step("aclrtKernelArgsParaUpdate", 0, argsHandle=handle, paramHandle=small, param=api.memory(b"\3\0\0\0"),
             paramSize=4)
    api.step("aclrtKernelArgsFinalize", 0, argsHandle=handle)
    for _ in range(2):
        api.step("aclrtLaunchKernelWithConfig", 0, funcHandle=function, numBlocks=2, stream=api.stream,
                 argsHandle=handle)
    api.wait()
    status = api.acl.runtime.current_context().overflow_address
    assert len(seen) == 2
    for block in seen:
        first, second, data, hidden = struct.unpack_from("<QIxxxxQQ", block)
        assert (first, second, hidden) == (1, 3, status)
        assert api.acl.runtime.device(0).memory.read(data, 12) == b"tiling data."
        assert block[32:44] == b"tiling data."


@pytest.mark.parametrize("size", [0, 4, 9])
def test_updates_keep_the_size(api: Caller, function: int, size: int) -> None:
    handle = start(api, function)
    number = append(api, handle, bytes(8))
    code, message = (107000, "EE1017") if size else (100000, "EH0007")
    api.step("aclrtKernelArgsParaUpdate", code, message, argsHandle=handle, paramHandle=number,
             param=api.words(0, 0), paramSize=size)
    api.step("aclrtKernelArgsParaUpdate", 107017, "EE1017", argsHandle=handle, paramHandle=5, param=api.words(0),
             paramSize=8)


def test_lists_are_full_at_128_parameters_or_64_kib(api: Caller, function: int) -> None:
    handle = start(api, function)
    for _ in range(128):
        append(api, handle, b"1")
    full = {"argsHandle": handle, "param": api.words(0), "paramSize": 8, "paramHandle": Out()}
    api.step("aclrtKernelArgsAppend", 107000, "EE1001", **full)
    api.step("aclrtKernelArgsAppendPlaceHolder", 107000, "EE1001", argsHandle=handle, paramHandle=Out())
    handle = start(api, function)
    append(api, handle, bytes(65000))
    api.step("aclrtKernelArgsAppend", 107000, "EE1001", **{**full, "param": api.memory(bytes(600)), "paramSize": 600})
    pointer = api.step("aclrtKernelArgsAppendPlaceHolder", 0, argsHandle=handle, paramHandle=Out())
    buffer = {"argsHandle": handle, "paramHandle": pointer, "bufferAddr": Out()}
    api.step("aclrtKernelArgsGetPlaceHolderBuffer", 107000, "EE1001", dataSize=600, **buffer)
    api.step("aclrtKernelArgsGetPlaceHolderBuffer", 0, dataSize=64, **buffer)
    api.step("aclrtKernelArgsFinalize", 0, argsHandle=handle)
    api.step("aclrtKernelArgsGetPlaceHolderBuffer", 207000, "EE1016", dataSize=64, **buffer)
    api.step("aclrtKernelArgsGetPlaceHolderBuffer", 107000, "EE1001", dataSize=8, **{**buffer, "paramHandle": 1})


def test_lists_in_memory_of_ones_own(api: Caller, function: int) -> None:
    assert api.step("aclrtKernelArgsGetHandleMemSize", 0, funcHandle=function, memSize=Out()) == 336
    size = api.step("aclrtKernelArgsGetMemSize", 0, funcHandle=function, userArgsSize=40, actualArgsSize=Out())
    handle = api.memory(bytes(336))
    given = {"funcHandle": function, "userHostMem": api.memory(bytes(size)), "actualArgsSize": size}
    api.step("aclrtKernelArgsInitByUserMem", 100000, "EH0008", **given)
    api.step("aclrtKernelArgsInitByUserMem", 0, argsHandle=handle, **given)
    for value in range(5):
        append(api, handle, struct.pack("<Q", value))
    api.step("aclrtKernelArgsAppend", 107000, "EE1017", argsHandle=handle, param=api.words(0), paramSize=8,
             paramHandle=Out())
    api.step("aclrtKernelArgsFinalize", 0, argsHandle=handle)
    seen = api.listen(function, 40)
    api.step("aclrtLaunchKernelWithConfig", 0, funcHandle=function, numBlocks=2, stream=api.stream, argsHandle=handle)
    api.wait()
    assert seen == [struct.pack("<5Q", *range(5))]
    dead = api.acl.call("aclrtKernelArgsFinalize", argsHandle=handle + 8)
    assert dead == 107017


def test_sizes_of_lists_do_not_depend_on_hidden_slots(api: Caller) -> None:
    names = ("plain", "paired")
    image = (ElfWriter().kernel("plain", u32(1, 3) + dfx(*[dfx_item(0x10002, 8)] * 4), size=64)
             .kernel("paired_mix_aic", u32(1, 4) + dfx(*[dfx_item(0x10002, 8)] * 4), size=64)
             .kernel("paired_mix_aiv", u32(1, 4) + dfx(*[dfx_item(0x10002, 8)] * 4), size=64).build())
    binary = api.load(image)
    found = [api.step("aclrtBinaryGetFunction", 0, binHandle=binary, kernelName=name, funcHandle=Out())
             for name in names]  # fmt: skip
    hidden = [api.acl.runtime.handles.get(each, Function).entry.system_args for each in found]
    assert hidden[1] > hidden[0] or api.soc == "950"
    for each in found:
        assert api.step("aclrtKernelArgsGetHandleMemSize", 0, funcHandle=each, memSize=Out()) == 96 + 4 * 48
        size = api.step("aclrtKernelArgsGetMemSize", 0, funcHandle=each, userArgsSize=20, actualArgsSize=Out())
        assert size == 20 + 64 + 4 * 8


# -- blocks, arrays, attributes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [8, 1000, 6000, 9000, 40000, 70000])
def test_blocks_of_every_size_are_copied_at_the_call(api: Caller, function: int, size: int) -> None:
    data = bytearray(index * 7 % 256 for index in range(size))
    seen = api.listen(function, size)
    api.fake.device(0).hold()
    address = api.memory(bytes(data))
    api.step("aclrtLaunchKernelWithHostArgs", 0, funcHandle=function, numBlocks=1, stream=api.stream,
             hostArgs=address, argsSize=size)
    ctypes.memset(address, 0, size)
    api.fake.device(0).release()
    api.wait()
    assert seen == [bytes(data)]


def test_placeholders_point_into_the_copy(api: Caller, function: int) -> None:
    seen = api.listen(function, 64)
    host_args(api, function, bytes(32) + b"first data, second data.......  ", 0, "", 0, 32, 16, 44)
    api.wait()
    first, untouched, second, last = struct.unpack_from("<4Q", seen[0])
    assert (untouched, last, second - first) == (0, 0, 12)
    assert api.acl.runtime.device(0).memory.read(first, 10) == b"first data"


@pytest.mark.parametrize("places", [(32, 8), (25, 8), (8, 32), (8, 99)])
def test_placeholders_outside_the_block(api: Caller, function: int, places: tuple[int, int]) -> None:
    host_args(api, function, bytes(32), 107000, "EE1017", *places)


def test_arrays_of_pointers(api: Caller) -> None:
    function = api.function(listed("listed", 8, 4, 16), "listed")
    seen = api.listen(function, 28)
    values = [api.memory(b"a" * 8), api.memory(b"b" * 4), api.memory(b"c" * 16)]
    given = {"func": function, "numBlocks": 3, "stream": api.stream}
    api.step("aclrtLaunchKernelWithArgsArray", 0, args=api.words(*values), **given)
    api.step("aclrtLaunchKernelWithArgsArray", 107000, "EE1017", **given)
    api.step("aclrtLaunchKernelWithArgsArray", 107000, "EE1004", args=api.words(values[0], 0, values[2]), **given)
    api.wait()
    assert seen == [b"a" * 8 + b"b" * 4 + b"c" * 16]


_PAIRS = [
    (((1, 0, 0),), 0, ""), (((1, 1, 0),), 0, ""), (((1, 2, 0),), 107000, "EE1003"), (((2, 0, 0),), 0, ""),
    (((2, 262145, 0),), 107000, "EE1003"), (((3, 2, 0),), 0, ""), (((4, 4, 0),), 0, ""), (((5, 1, 0),), 0, ""),
    (((5, 2, 0),), 107000, "EE1003"), (((6, 1, 0),), 0, ""), (((6, 2, 0),), 107000, "EE1003"),
    (((7, 0, 0),), 0, ""), (((7, 65535, 0),), 0, ""), (((8, 0xFFFFFFFF, 0xFFFFFFFF),), 0, ""),
    (((7, 1, 0), (8, 1, 0)), 107000, "EE1017"), (((9, 1, 0),), 0, ""), (((9, 2, 0),), 107000, "EE1003"),
    (((0, 0, 0),), 107000, "EE1001"), (((10, 0, 0),), 107000, "EE1001"), (((1, 5, 0), (1, 0, 0)), 0, ""),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "code", "message"), _PAIRS)
def test_attributes_of_launches(api: Caller, function: int, attributes: Any, code: int, message: str) -> None:
    for name, given in (
        ("aclrtLaunchKernelV2", {"argsData": 0x1000, "argsSize": 8}),
        ("aclrtLaunchKernelWithHostArgs", {"hostArgs": api.words(1), "argsSize": 8}),
    ):  # fmt: skip
        api.step(name, code, message, funcHandle=function, numBlocks=1, stream=api.stream,
                 cfg=api.config(*attributes), **given)


_REFUSALS = {
    "no attributes behind a configuration": ("aclrtLaunchKernelV2", {"cfg": "no list"}, 107000, "EE1004"),
    "no bytes on the device": ("aclrtLaunchKernel", {"argsSize": 0}, 107000, "EE1003"),
    "no bytes on the host": ("aclrtLaunchKernelWithHostArgs", {"argsSize": 0}, 107000, "EE1003"),
    "places without an array": ("aclrtLaunchKernelWithHostArgs", {"placeHolderNum": 1}, 107000, "EE1004"),
    "no blocks": ("aclrtLaunchKernelWithHostArgs", {"numBlocks": 0}, 107000, "EE1003"),
    "no blocks for a list": ("aclrtLaunchKernelWithConfig", {"numBlocks": 0}, 100000, "EH0007"),
    "a list that is not complete": ("aclrtLaunchKernelWithConfig", {}, 107000, "EE1017"),
    "a list that is none": ("aclrtLaunchKernelWithConfig", {"argsHandle": 5}, 107017, "EE1017"),
    "a function that is none": ("aclrtLaunchKernel", {"funcHandle": 5}, 107017, "EE1017"),
    "a stream for a function": ("aclrtLaunchKernel", {"funcHandle": "stream"}, 107017, "EE1017"),
    "a function of a binary that is gone": ("aclrtLaunchKernel", {"funcHandle": "unloaded"}, 107017, "EE1017"),
    "a stream of another context": ("aclrtLaunchKernel", {"stream": "foreign"}, 107003, "EE1010"),
    "no arguments": ("aclrtLaunchKernel", {"argsData": 0}, 100000, "EH0008"),
}


@pytest.mark.parametrize("case", _REFUSALS)
def test_what_launches_refuse(api: Caller, function: int, case: str) -> None:
    name, changed, code, message = _REFUSALS[case]
    given: dict[str, Any] = {"funcHandle": function, "numBlocks": 1, "stream": api.stream}
    if name.endswith("HostArgs"):
        given |= {"hostArgs": api.words(1), "argsSize": 8}
    elif name.endswith("Config"):
        given["argsHandle"] = start(api, function)
        append(api, given["argsHandle"], bytes(8))
    else:
        given |= {"argsData": 0x1000, "argsSize": 8}
    made: dict[object, Callable[[], int]] = {
        "no list": lambda: api.words(0, 1), "stream": lambda: int(api.stream), "foreign": lambda: _foreign(api),
        "unloaded": lambda: _unloaded(api),
    }  # fmt: skip
    given |= {key: made[value]() if value in made else value for key, value in changed.items()}
    ring = api.acl.runtime.handles.get(api.stream, Stream).ring
    before = ring.submitted
    api.step(name, code, message, **given)
    assert ring.submitted == before


def _foreign(api: Caller) -> int:
    """Return a stream of a context that is not current any more."""
    own = api.step("aclrtGetCurrentContext", 0, context=Out())
    api.step("aclrtCreateContext", 0, context=Out(), deviceId=0)
    found = api.step("aclrtCreateStream", 0, stream=Out())
    api.step("aclrtSetCurrentContext", 0, context=own)
    return int(found)


def _unloaded(api: Caller) -> int:
    binary = api.load(minimal_kernel("gone", 1))
    found = api.step("aclrtBinaryGetFunction", 0, binHandle=binary, kernelName="gone", funcHandle=Out())
    api.step("aclrtBinaryUnLoad", 0, binHandle=binary)
    return int(found)


def test_prefetch_leads_the_kernel_with_empty_tasks(api: Caller, function: int) -> None:
    ring = api.acl.runtime.handles.get(api.stream, Stream).ring
    leading = int(api.acl.runtime.machine.chip.prop("taskPrefetchCount"))
    for attributes, count in (((), 1), (((5, 0, 0),), 1), (((5, 1, 0),), leading + 1)):
        before = ring.submitted
        api.step("aclrtLaunchKernelV2", 0, funcHandle=function, numBlocks=1, stream=api.stream, argsData=0x1000,
                 argsSize=8, cfg=api.config(*attributes) if attributes else None)
        assert ring.submitted - before == count
    assert leading > 1
    api.wait()


@pytest.mark.parametrize(("count", "code", "message"), [(0, 107000, "EE1003"), (1, 0, ""), (65536 + 3, 0, "")])
def test_block_counts(api: Caller, function: int, count: int, code: int, message: str,
                      caplog: pytest.LogCaptureFixture) -> None:
    api.step("aclrtLaunchKernel", code, message, funcHandle=function, numBlocks=count, argsData=0x1000, argsSize=8,
             stream=api.stream)
    assert any("the hardware sees 3" in record.getMessage() for record in caplog.records) == (count > 65535)


def test_the_reserved_parameter_is_null(api: Caller, function: int) -> None:
    api.step("aclrtLaunchKernelWithConfig", 100000, "EH0012", funcHandle=function, numBlocks=1, stream=api.stream,
             argsHandle=start(api, function), reserve=1)


def test_a_launch_is_the_last_task_of_its_thread_also_when_it_was_prepared(api: Caller, function: int) -> None:
    ring = api.acl.runtime.handles.get(api.stream, Stream).ring
    arguments = api.step("aclrtMalloc", 0, devPtr=Out(), size=64, policy=0)
    launches = [
        lambda: host_args(api, function, bytes(40)),
        lambda: api.step("aclrtLaunchKernel", 0, funcHandle=function, numBlocks=1, argsData=arguments, argsSize=40,
                         stream=api.stream),
    ]
    for launch in launches * 2:
        launch()
        assert api.step("aclrtGetThreadLastTaskId", 0, taskId=Out()) == ring.id_at((ring.submitted - 1) % ring.depth)
    api.wait()
