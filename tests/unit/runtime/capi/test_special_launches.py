"""The C API of SIMT launches and of kernels for the AICPU (core_spec 8.2, 12.6, 12.7)."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chips.memory_rules import internal_flags
from chips.tasks import AicpuKernel
from fakes.kernels import Fail
from runtime import errors
from runtime.capi.aclrt import Out
from runtime.capi.aclrt.kernel.binary import binary_of
from runtime.cli.sample import minimal_kernel
from tests.tools.elf_writer import ElfWriter, u32
from tests.unit.runtime.capi.kernel_calls import (
    AIV,
    SIMT,
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


@pytest.fixture
def simt() -> Iterator[Caller]:
    caller = Caller("950")
    yield caller
    caller.acl.close()


def simt_launch(api: Caller, function: int, code: int = 0, message: str = "", grid: tuple[int, int, int] = (2, 3, 1),
                threads: tuple[int, int, int] = (32, 1, 1), dynamic: int = 0) -> None:
    api.step("aclrtLaunchSIMTKernelWithHostArgs", code, message, func=function, gridDim=grid, blockDim=threads,
             dynUbufSize=dynamic, stream=api.stream, hostArgs=api.words(5, 6), argsSize=16,
             placeHolderArray=api.memory(struct.pack("<II", 0, 8)), placeHolderNum=1)


def test_grids_and_threads_precede_the_arguments(simt: Caller) -> None:
    function = simt.function(listed("threads", 8, 8, vector_function=SIMT), "threads")
    seen: list[tuple[int, bytes]] = []
    simt.fake.attach(
        simt.code(function), lambda context: seen.append((context.blocks, context.args.bytes(-32, 48))), grid=True
    )
    simt_launch(simt, function)
    values = [simt.words(8), simt.words(9)]
    simt.step("aclrtLaunchSIMTKernelWithArgsArray", 0, func=function, gridDim=(1, 1, 4), blockDim=(8, 8, 1),
              dynUbufSize=0, stream=simt.stream, args=simt.words(*values))
    simt.wait()
    (blocks, first), (more, second) = seen
    assert (blocks, more) == (6, 4)
    assert struct.unpack("<Q3I3I", first[:32]) == (0, 1, 1, 32, 1, 3, 2)
    pointer, value = struct.unpack("<QQ", first[32:])
    assert value == 6
    assert pointer
    assert struct.unpack("<Q3I3IQQ", second) == (0, 1, 8, 8, 4, 1, 1, 8, 9)


def test_what_simt_launches_refuse(simt: Caller) -> None:
    function = simt.function(listed("threads", 8, 8, vector_function=SIMT), "threads")
    for zero in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        simt_launch(simt, function, 107000, "EE1003", grid=zero)
        simt_launch(simt, function, 107000, "EE1003", threads=zero)
    simt_launch(simt, function, 107000, "EE1003", grid=(256, 256, 1))
    limit = simt.step("aclrtFunctionGetAvailDynUbufPerBlock", 0, func=function, flags=0, dynamicUbufSize=Out())
    assert limit == 262144 - 32768
    simt_launch(simt, function, dynamic=limit)
    simt_launch(simt, function, 107000, "EE1017", dynamic=limit + 1)
    simt_launch(simt, function, 107000, "EE1003", dynamic=262145)
    simt_launch(simt, simt.function(listed("plain", 8, 8), "plain"), 107000, "EE1017")
    unlisted = ElfWriter().kernel("bare", u32(1, AIV) + u32(12, SIMT), size=64).build()
    simt_launch(simt, simt.function(unlisted, "bare"), 107000, "EE1017")


@pytest.mark.parametrize(("vector_function", "dynamic", "code"), [
    (0, 0, 0), (0, 1, 107000), (1, 262144, 0), (2, 262144, 0), (3, 229376, 0), (3, 229377, 107000),
    (4, 229377, 107000),
])  # fmt: skip
def test_limits_of_the_unified_buffer(simt: Caller, vector_function: int, dynamic: int, code: int) -> None:
    name = f"ub{vector_function}"
    function = simt.function(listed(name, 8, vector_function=vector_function), name)
    simt.step("aclrtLaunchKernelV2", code, "EE1017" if code else "", funcHandle=function, numBlocks=1, argsData=0x1000,
              argsSize=8, cfg=simt.config((2, dynamic, 0)), stream=simt.stream)


# -- AICPU ---------------------------------------------------------------------------------------------------------

_OPS = """{"Sum": {"opInfo": {"functionName": "RunSum", "kernelSo": "libsum.so", "opKernelLib": "AICPUKernel"}},
           "Own": {"opInfo": {"functionName": "RunOwn", "opKernelLib": "CUSTAICPUKernel"}}}"""


@pytest.fixture
def op_list(api: Caller, tmp_path: Path) -> int:
    path = tmp_path / "libsum.json"
    path.write_text(_OPS)
    return int(api.step("aclrtBinaryLoadFromFile", 0, binPath=str(path), options=api.options((3, 0)), binHandle=Out()))


def test_aicpu_kernels_run_by_name(api: Caller, op_list: int) -> None:
    seen: list[bytes] = []
    api.fake.attach_aicpu("libsum.so", "RunSum", lambda context: seen.append(context.args.bytes(0, 12)))
    function = api.step("aclrtBinaryGetFunction", 0, binHandle=op_list, kernelName="Sum", funcHandle=Out())
    assert api.step("aclrtGetFunctionAttribute", 0, funcHandle=function, attrType=1, attrValue=Out()) == 100
    assert api.step("aclrtKernelArgsGetHandleMemSize", 0, funcHandle=function, memSize=Out()) == 96 + 128 * 48
    assert api.step("aclrtKernelArgsGetMemSize", 0, funcHandle=function, userArgsSize=9, actualArgsSize=Out()) == 9
    handle = start(api, function)
    for data in (b"12345", b"6789abc"):  # without gaps
        append(api, handle, data)
    api.step("aclrtKernelArgsFinalize", 0, argsHandle=handle)
    api.step("aclrtLaunchKernelWithConfig", 0, funcHandle=function, numBlocks=1, stream=api.stream, argsHandle=handle)
    host_args(api, function, b"hello, world")
    api.wait()
    assert seen == [b"123456789abc", b"hello, world"]
    given = {"func": function, "numBlocks": 1, "stream": api.stream, "args": api.words(0)}
    api.step("aclrtLaunchKernelWithArgsArray", 207000, "", **given)
    api.step("aclrtGetFunctionAddr", 107000, "EE1017", funcHandle=function, aicAddr=Out(), aivAddr=Out())


def test_a_model_of_the_aicpu_is_executed_by_name(api: Caller, op_list: int) -> None:
    ran: list[bytes] = []
    api.fake.attach_aicpu("libsum.so", "RunSum", lambda context: ran.append(context.args.bytes(0, 4)))
    function = api.step("aclrtBinaryGetFunction", 0, binHandle=op_list, kernelName="Sum", funcHandle=Out())
    alone, kept = (
        api.step("aclrtCreateStreamWithConfig", 0, stream=Out(), priority=0, flag=flag) for flag in (16, 16 | 4)
    )
    model = api.step("aclmdlRIBuildBegin", 0, modelRI=Out(), flag=0)
    api.step("aclmdlRIBindStream", 107000, "EE1017", modelRI=model, stream=alone, flag=0)
    api.step("aclmdlRIBindStream", 0, modelRI=model, stream=kept, flag=0)
    api.step("aclrtLaunchKernelWithHostArgs", 0, funcHandle=function, numBlocks=1, stream=kept,
             hostArgs=api.memory(b"once"), argsSize=4, placeHolderArray=None, placeHolderNum=0)
    api.step("aclmdlRIEndTask", 0, modelRI=model, stream=kept)
    api.step("aclmdlRIBuildEnd", 0, modelRI=model, reserve=None)
    api.step("aclmdlRIExecute", 0, modelRI=model, timeout=5000)
    api.step("aclmdlRIExecuteAsync", 207000, modelRI=model, stream=api.stream)
    api.step("rtModelExecute", 0, mdl=model, stm=api.stream, flag=0)
    api.wait()
    assert ran == [b"once"] * 2
    api.step("aclmdlRIDestroy", 0, modelRI=model)


def test_names_are_written_to_the_device_once(api: Caller, op_list: int) -> None:
    function = api.step("aclrtBinaryGetFunction", 0, binHandle=op_list, kernelName="Sum", funcHandle=Out())
    host_args(api, function, bytes(8))
    device = api.acl.runtime.device(0)
    names = device.names.address_of("libsum.so"), device.names.address_of("RunSum")
    assert [device.memory.read(address, 7) for address in names] == [b"libsum.", b"RunSum\0"]
    host_args(api, function, bytes(8))
    assert names == (device.names.address_of("libsum.so"), device.names.address_of("RunSum"))
    api.wait()


@pytest.mark.parametrize("from_file", [True, False])
def test_libraries_go_to_the_device_and_back(api: Caller, tmp_path: Path, from_file: bool) -> None:
    library, ops = bytes(range(256)) * 20, """{"Own": {"opInfo": {"functionName": "Run", "kernelSo": "libown.so"}}}"""
    (tmp_path / "libown.so").write_bytes(library)
    (tmp_path / "libown.json").write_text(ops)
    held = api.fake.kernels.libraries
    before = len(held)
    if from_file:
        handle = api.step("aclrtBinaryLoadFromFile", 0, binPath=str(tmp_path / "libown.so"),
                          options=api.options((3, 1)), binHandle=Out())
        names = ["libown.so"]
    else:
        handle = api.load(library, options=api.options((3, 2)))
        other = api.load(library, options=api.options((3, 2)))  # another name: the first is taken
        names = [binary_of(api.acl, each).content.library_name for each in (handle, other)]
        assert all(name.endswith(f"_{len(library)}.so") for name in names)
    assert held == {(0, name): library for name in names}
    assert len(held) == before + len(names) == len(set(names))
    device = api.acl.runtime.device(0)
    blocks = device.memory.space()
    api.step("aclrtBinaryUnLoad", 0, binHandle=handle)
    assert (0, names[0]) not in held
    assert device.memory.space() == blocks
    api.step("aclrtResetDevice", 0, deviceId=0)  # the rest goes with the device, without a task
    assert len(held) == len(names) - 1


def test_a_launch_that_names_a_library_which_was_given_up_fails_loudly(api: Caller) -> None:
    library = b"\x7fELF library"
    handle = api.load(library, options=api.options((3, 2)))
    name = binary_of(api.acl, handle).content.library_name
    device, ran = api.acl.runtime.device(0), []
    api.fake.attach_aicpu(name, "Run", lambda context: ran.append(context.block))
    block = device.memory.alloc(64, internal_flags(hbm=True))
    task = AicpuKernel(so_name=device.names.address_of(name), func_name=device.names.address_of("Run"), args=block)
    stream = device.create_stream()
    stream.submit(task)
    stream.synchronize()
    api.step("aclrtBinaryUnLoad", 0, binHandle=handle)
    stream.submit(task)
    with pytest.raises(errors.RuntimeFault):
        stream.synchronize()
    assert any("was sent and given up again" in problem for problem in api.fake.problems)
    assert len(ran) == 1
    device.memory.free(block)
    stream.close(force=True)


def test_large_libraries_are_sent_from_where_they_are(api: Caller) -> None:
    memory, library = api.acl.runtime.device(0).memory, bytes(8 << 20)
    address = memory.alloc(len(library), internal_flags(hbm=True))
    tracemalloc.start()
    try:
        memory.write(address, memoryview(library).toreadonly())
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    memory.free(address)


def test_a_library_that_the_device_refuses_is_not_registered(api: Caller) -> None:
    def refuse(context: Any) -> None:
        raise Fail("no such symbol")

    api.fake.attach_aicpu("", "batchLoadsoFrombuf", refuse)
    device = api.acl.runtime.device(0)
    programs = len(device.programs)
    assert api.acl.call("aclrtBinaryLoadFromData", data=api.memory(b"library"), length=7,
                        options=api.options((3, 2)), binHandle=Out()) != 0
    assert len(device.programs) == programs


def test_registering_functions_of_libraries(api: Caller, op_list: int) -> None:
    given = {"handle": op_list, "funcName": "RunMore", "funcHandle": Out()}
    known = api.step("aclrtBinaryGetFunction", 0, binHandle=op_list, kernelName="Sum", funcHandle=Out())
    assert api.step("aclrtRegisterCpuFunc", 0, kernelName="Sum", **given) == known
    made = api.step("aclrtRegisterCpuFunc", 0, kernelName="More", **given)
    assert api.step("aclrtRegisterCpuFunc", 0, kernelName="More", **{**given, "funcName": "Other"}) == made
    core = api.load(minimal_kernel("core", 1))
    refused = Out(7)
    api.step(
        "aclrtRegisterCpuFunc", 107000, "EE1003", kernelName="More",
        **{**given, "handle": core, "funcHandle": refused},
    )  # fmt: skip
    assert refused.value == 0


@pytest.mark.parametrize(
    ("mode", "files", "code", "message"),
    [
        (0, {"lib.json": _OPS}, 0, ""), (1, {"lib.json": _OPS, "lib.so": "x"}, 0, ""),
        (1, {"lib.json": _OPS}, 107000, "EE1012"), (0, {}, 107000, "EE1012"), (2, {"lib.json": _OPS}, 107000, "EE1017"),
        (0, {"lib.json": "no json"}, 107000, "EE1014"), (0, {"lib.json": "[]"}, 107000, "EE1014"),
    ],
)  # fmt: skip
def test_modes_of_aicpu_files(api: Caller, tmp_path: Path, mode: int, files: dict[str, str], code: int,
                              message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    api.step("aclrtBinaryLoadFromFile", code, message, binPath=str(tmp_path / "lib.so"), options=api.options((3, mode)),
             binHandle=Out())
