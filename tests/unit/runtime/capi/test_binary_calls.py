"""The C API of binaries and functions: codes, messages and outputs (core_spec 12)."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from tests.tools.elf_writer import ALLOC, OBJECT, ElfWriter, u32
from tests.unit.runtime.capi.kernel_calls import (
    AIV,
    Caller,
    api,
    function,
    listed,
    refusing,
    soc,
)  # fmt: skip

__all__ = ["api", "function", "refusing", "soc"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (((1, 0),), 0, ""), (((1, 1),), 0, ""), (((1, 2),), 107000, "EE1001"), (((2, 0x41415246),), 0, ""),
        (((2, 0x43554245),), 0, ""), (((2, 0x41494343),), 0, ""), (((2, 0x41415243),), 107000, "EE1001"),
        (((3, 0),), 107000, "EE1017"), (((3, 1),), 107000, "EE1017"), (((3, 2),), 0, ""),
        (((3, 3),), 107000, "EE1017"), (((4, 0),), 107000, "EE1003"), (((0, 0),), 107000, "EE1003"),
    ],
)  # fmt: skip
def test_loader_options(api: Caller, options: Any, code: int, message: str) -> None:
    api.load(minimal_kernel("some", 1), code, message, api.options(*options))


def test_options_without_a_list(api: Caller) -> None:
    for count in (0, 1):
        api.load(minimal_kernel("some", 1), 107000, "EE1001", api.words(0, count))


def test_a_magic_is_not_for_files(api: Caller, tmp_path: Path) -> None:
    path = tmp_path / "k.o"
    path.write_bytes(minimal_kernel("some", 1))
    api.step("aclrtBinaryLoadFromFile", 107000, "EE1001", binPath=str(path), options=api.options((2, 0x41415246)),
             binHandle=Out())


def test_lazy_binaries_reach_the_device_with_the_first_function(api: Caller) -> None:
    image = minimal_kernel("lazy", 1)
    device = api.acl.runtime.device(0)
    handle = api.load(image, options=api.options((1, 1)))
    assert len(device.programs) == 0
    api.step("aclrtBinaryGetFunction", 0, binHandle=handle, kernelName="lazy", funcHandle=Out())
    assert len(device.programs) == 1
    api.step("aclrtBinaryUnLoad", 0, binHandle=handle)
    api.load(image)
    assert len(device.programs) == 1


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("aclrtBinaryLoadFromFile", {"binHandle": Out()}, "EH0008"),
        ("aclrtBinaryLoadFromData", {"length": 5, "binHandle": Out()}, "EH0008"),
        ("aclrtDestroyBinary", {}, "EH0008"), ("aclrtBinaryLoad", {"binHandle": Out()}, "EH0008"),
        ("aclrtBinaryUnLoad", {}, "EH0008"), ("aclrtBinaryGetFunction", {"funcHandle": Out()}, "EH0008"),
        ("aclrtBinaryGetFunctionByEntry", {"funcHandle": Out()}, "EH0008"),
        ("aclrtRegisterCpuFunc", {"funcHandle": Out()}, "EH0008"),
        ("aclrtBinaryGetGlobal", {"dptr": Out(), "size": Out()}, "EH0008"),
        ("aclrtBinaryGetDevAddress", {"binAddr": Out(), "binSize": Out()}, "EH0008"),
        ("aclrtBinarySetExceptionCallback", {}, "EH0008"), ("aclrtGetFunctionAttribute", {}, "EH0008"),
        ("aclrtGetFunctionName", {}, "EH0008"), ("aclrtKernelArgsInit", {"argsHandle": Out()}, "EH0008"),
        ("aclrtKernelArgsAppend", {}, "EH0008"), ("aclrtKernelArgsAppendPlaceHolder", {}, "EH0008"),
        ("aclrtKernelArgsGetPlaceHolderBuffer", {}, "EH0008"), ("aclrtKernelArgsParaUpdate", {}, "EH0008"),
        ("aclrtKernelArgsFinalize", {}, "EH0008"), ("aclrtLaunchKernel", {}, "EH0008"),
        ("aclrtLaunchKernelV2", {}, "EH0008"), ("aclrtLaunchKernelWithConfig", {}, "EH0008"),
        ("aclrtLaunchKernelWithHostArgs", {}, "EH0008"), ("aclrtLaunchKernelWithArgsArray", {}, "EH0008"),
        ("aclrtLaunchSIMTKernelWithHostArgs", {}, "EH0008"), ("aclrtLaunchSIMTKernelWithArgsArray", {}, "EH0008"),
        ("aclrtGetFuncHandleFromExceptionInfo", {}, "EH0008"), ("aclrtGetArgsFromExceptionInfo", {}, "EH0008"),
    ],
)  # fmt: skip
def test_nulls(refusing: Caller, name: str, given: dict[str, Any], message: str) -> None:
    refusing.step(name, 100000, message, **given)


def test_outputs_of_an_address_must_be_there(api: Caller) -> None:
    handle = api.load(minimal_kernel("some", 1))
    api.step("aclrtBinaryGetDevAddress", 107000, "EE1004", binHandle=handle, binSize=Out())
    api.step("aclrtBinaryGetDevAddress", 107000, "EE1004", binHandle=handle, binAddr=Out())


def test_names_and_keys(api: Caller) -> None:
    handle = api.load(ElfWriter().kernel("k_3", u32(1, AIV)).kernel("k_8", u32(1, AIV)).build())
    by_name = api.step("aclrtBinaryGetFunction", 0, binHandle=handle, kernelName="k_8", funcHandle=Out())
    assert api.step("aclrtBinaryGetFunctionByEntry", 0, binHandle=handle, funcEntry=8, funcHandle=Out()) == by_name
    api.step("aclrtBinaryGetFunction", 107000, "EE1001", binHandle=handle, kernelName="k_9", funcHandle=Out())
    api.step("aclrtBinaryGetFunctionByEntry", 107000, "EE1011", binHandle=handle, funcEntry=9, funcHandle=Out())
    name = api.memory(bytes(16))
    for room in (0, 3):
        api.step("aclrtGetFunctionName", 107000, "EE1003", funcHandle=by_name, maxLen=room, name=name)
    api.step("aclrtGetFunctionName", 0, funcHandle=by_name, maxLen=4, name=name)
    assert ctypes.string_at(name) == b"k_8"
    assert api.step("aclrtFunctionGetBinary", 0, funcHandle=by_name, binHandle=Out()) == handle


def test_a_thread_without_context_gets_no_function(api: Caller) -> None:
    handle = api.load(minimal_kernel("some", 1))
    codes: list[int] = []

    def ask() -> None:
        codes.append(api.acl.call("aclrtBinaryGetFunction", binHandle=handle, kernelName="some", funcHandle=Out()))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert codes == [107000]


def test_globals_can_be_copied_to_and_from(api: Caller) -> None:
    image = (
        ElfWriter().section(".data", b"\x05" * 16, flags=ALLOC).kernel("k", u32(1, AIV), size=64)
        .symbol("setting", type=OBJECT, section=2, value=0, size=16).build()
    )  # fmt: skip
    handle = api.load(image)
    address, size = api.step("aclrtBinaryGetGlobal", 0, binHandle=handle, name="setting", dptr=Out(), size=Out())
    assert size == 16
    host = api.memory(bytes(16))
    api.step("aclrtMemcpy", 0, dst=host, destMax=16, src=address, count=16, kind=2)
    assert ctypes.string_at(host, 16) == b"\x05" * 16
    api.step("aclrtMemcpy", 0, dst=address, destMax=16, src=api.memory(b"\x07" * 16), count=16, kind=1)
    assert api.acl.runtime.device(0).memory.read(address, 16) == b"\x07" * 16
    api.step("aclrtBinaryGetGlobal", 107042, binHandle=handle, name="settings", dptr=Out(), size=Out())


def test_a_binary_is_launched_where_it_was_loaded(api: Caller, function: int) -> None:
    block = api.step("aclrtMalloc", 0, devPtr=Out(), size=64, policy=0)
    launch = {"funcHandle": function, "numBlocks": 1, "argsData": block, "argsSize": 40}
    api.step("aclrtLaunchKernel", 0, stream=api.stream, **launch)
    api.step("aclrtSetDevice", 0, deviceId=1)
    other = api.step("aclrtCreateStream", 0, stream=Out())
    api.step("aclrtLaunchKernel", 107017, stream=other, **launch)
    binary = api.step("aclrtFunctionGetBinary", 0, funcHandle=function, binHandle=Out())
    again = api.step("aclrtBinaryGetFunction", 0, binHandle=binary, kernelName="five", funcHandle=Out())
    assert again == function
    api.step("aclrtLaunchKernel", 0, stream=other, **launch)
    api.step("aclrtBinaryUnLoad", 0, binHandle=binary)
    api.step("aclrtLaunchKernel", 107017, "EE1017", stream=other, **launch)
    api.step("aclrtBinaryUnLoad", 107017, "EE1017", binHandle=binary)


def test_code_stays_until_queued_launches_are_done(api: Caller, function: int) -> None:
    card = api.fake.device(0)
    binary = api.step("aclrtFunctionGetBinary", 0, funcHandle=function, binHandle=Out())
    address, _ = api.step("aclrtBinaryGetDevAddress", 0, binHandle=binary, binAddr=Out(), binSize=Out())
    seen = api.listen(function, 8)
    card.hold()
    api.step("aclrtLaunchKernelWithHostArgs", 0, funcHandle=function, numBlocks=1, stream=api.stream,
             hostArgs=api.words(6), argsSize=8)
    api.step("aclrtBinaryUnLoad", 0, binHandle=binary)
    assert api.fake.memory.find(address) is not None
    card.release()
    api.wait()
    assert seen == [struct.pack("<Q", 6)]


def test_attributes_of_functions(api: Caller, function: int) -> None:
    def ask(kind: int) -> Any:
        return api.step("aclrtGetFunctionAttribute", 0, funcHandle=function, attrType=kind, attrValue=Out())

    assert [ask(kind) for kind in (1, 2, 3)] == [2, 1, 0]
    for kind in (0, 4):
        api.step("aclrtGetFunctionAttribute", 107000, "EE1003", funcHandle=function, attrType=kind, attrValue=Out())
    aic, aiv = api.step("aclrtGetFunctionAddr", 0, funcHandle=function, aicAddr=Out(), aivAddr=Out())
    assert aic == 0
    assert aiv % 4096 == 0
    assert api.step("aclrtGetFunctionSize", 0, funcHandle=function, aicSize=Out(), aivSize=Out()) == [0, 64]


def test_parameters_of_functions(api: Caller) -> None:
    function = api.function(listed("listed", 8, 4, 16), "listed")
    assert api.step("aclrtFunctionGetParamCount", 0, func=function, paramCount=Out()) == 3
    for index, place in ((0, [0, 8]), (1, [8, 4]), (2, [12, 16])):
        given = {"func": function, "paramIndex": index, "paramOffset": Out(), "paramSize": Out()}
        assert api.step("aclrtFunctionGetParamInfo", 0, **given) == place
    api.step("aclrtFunctionGetParamInfo", 107000, "EE1003", func=function, paramIndex=3, paramOffset=Out())
    assert api.step("aclrtFunctionGetAvailDynUbufPerBlock", 0, func=function, flags=0, dynamicUbufSize=Out()) == 0
    api.step("aclrtFunctionGetAvailDynUbufPerBlock", 100000, "EH0007", func=function, flags=1, dynamicUbufSize=Out())


# -- failures of one binary ----------------------------------------------------------------------------------------


def test_failures_are_told_to_the_binary_they_belong_to(api: Caller) -> None:
    told: list[tuple[str, Any]] = []
    functions = [api.function(minimal_kernel(name, 1), name) for name in ("first", "second")]
    for name, each in zip(("first", "second"), functions, strict=True):
        binary = api.step("aclrtFunctionGetBinary", 0, funcHandle=each, binHandle=Out())
        callback: Callable[..., None] = lambda info, data, name=name: told.append((name, (info, data)))  # noqa: E731
        api.step("aclrtBinarySetExceptionCallback", 0, binHandle=binary, callback=callback, userData=7)
    api.fake.attach(api.code(functions[1]), _fail)
    api.step("aclrtLaunchKernelWithHostArgs", 0, funcHandle=functions[1], numBlocks=1, stream=api.stream,
             hostArgs=api.words(9), argsSize=8)
    assert api.acl.call("aclrtSynchronizeStream", stream=api.stream) == 507035
    ((name, (info, data)),) = told
    assert (name, data) == ("second", 7)
    assert api.step("aclrtGetFuncHandleFromExceptionInfo", 0, info=info, func=Out()) == functions[1]
    address, size = api.step("aclrtGetArgsFromExceptionInfo", 0, info=info, devArgsPtr=Out(), devArgsLen=Out())
    assert address
    assert size >= 8


def _fail(_context: Any) -> None:
    from fakes.kernels import Fail

    raise Fail
