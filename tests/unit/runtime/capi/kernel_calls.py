"""What the tests of the C API of kernels share: a process with a device and a stream, and made-up kernel files."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.capi.aclrt import Acl, Out
from runtime.cli.sample import minimal_kernel
from runtime.launch.binary import Function
from runtime.launch.kernel import Kernel
from tests.tools.elf_writer import ElfWriter, dfx, dfx_item, tlv, u32

SOCS = {"910B1": "ascend910b1", "910_9391": "ascend910_9391", "950": "ascend950pr_9599"}
AIV, SIMT = 3, 3
"""Kernel type and vector function, as compilers write them."""
_PARAMETER = struct.Struct("<IIIIHHIIII")


class Caller:
    """An initialised process with a device and a stream; calls are checked for code and message."""

    def __init__(self, soc: str) -> None:
        self.soc = soc
        self.acl = Acl(f"fake://{SOCS[soc]}?devices=2&seed=1&kernels=noop")
        self.kept: list[Any] = []
        self.step("aclrtSetDevice", 0, deviceId=0)
        self.stream = self.step("aclrtCreateStream", 0, stream=Out())

    @property
    def fake(self) -> Any:
        return self.acl.runtime.hal.fake

    def step(self, name: str, expected: int, message: str = "", /, **given: Any) -> Any:
        self.acl.reports.take_text()
        assert self.acl.call(name, **given) == expected, (name, self.acl.reports.message_ids())
        assert self.acl.reports.message_ids() == ((message,) if message else ()), name
        outputs = [value.value for value in given.values() if isinstance(value, Out)]
        return outputs[0] if len(outputs) == 1 else outputs

    def memory(self, data: bytes) -> int:
        """Put bytes where C code could read them."""
        self.kept.append(ctypes.create_string_buffer(data, max(len(data), 1)))
        return ctypes.addressof(self.kept[-1])

    @staticmethod
    def read(address: int, size: int) -> bytes:
        """Return what the C code has put somewhere."""
        return ctypes.string_at(address, size)

    def words(self, *values: int) -> int:
        return self.memory(struct.pack(f"<{len(values)}Q", *values))

    def config(self, *attributes: tuple[int, int, int]) -> int:
        rows = b"".join(struct.pack("<IIIII", *each, 0, 0) for each in attributes)
        return self.words(self.memory(rows), len(attributes))

    def options(self, *pairs: tuple[int, int]) -> int:
        rows = b"".join(struct.pack("<IIIII", kind, value, 0, 0, 0) for kind, value in pairs)
        return self.words(self.memory(rows), len(pairs))

    def load(self, image: bytes, code: int = 0, message: str = "", options: int | None = None) -> Any:
        return self.step("aclrtBinaryLoadFromData", code, message, data=self.memory(image), length=len(image),
                         options=options, binHandle=Out())

    def function(self, image: bytes, name: str) -> int:
        found: int = self.step("aclrtBinaryGetFunction", 0, binHandle=self.load(image), kernelName=name,
                               funcHandle=Out())
        return found

    def listen(self, function: int, size: int) -> list[bytes]:
        """Return what a kernel will see of its argument block, launch by launch."""
        seen: list[bytes] = []
        self.fake.attach(self.code(function), lambda context: seen.append(context.args.bytes(0, size)), grid=True)
        return seen

    def code(self, function: int) -> bytes:
        """Return the machine code of a function."""
        kernel = self.acl.runtime.handles.get(function, Function).on(self.acl.runtime.device(0))
        assert isinstance(kernel, Kernel)
        return kernel.code

    def wait(self) -> None:
        self.step("aclrtSynchronizeStream", 0, stream=self.stream)


@pytest.fixture(params=["910B1", pytest.param("910_9391", marks=pytest.mark.soak), "950"])
def soc(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["910B1", "950"], scope="module")
def refusing(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """One process for all calls of a module that are refused before they look at anything."""
    caller = Caller(str(request.param))
    yield caller
    caller.acl.close()


@pytest.fixture
def api(soc: str) -> Iterator[Caller]:
    caller = Caller(soc)
    yield caller
    caller.acl.close()


@pytest.fixture
def function(api: Caller) -> int:
    return api.function(minimal_kernel("five", 5), "five")


def listed(name: str, *sizes: int, vector_function: int = 0) -> bytes:
    """Return a device ELF whose kernel has a list of parameters with these sizes, packed."""
    meta = u32(1, AIV)
    if vector_function:
        meta += u32(12, vector_function)
    meta += dfx(*(dfx_item(0x10002, (1 << 64) - 1) for _ in sizes))
    meta += tlv(16, struct.pack("<IQ", len(sizes), sum(sizes)))
    offset = 0
    for number, size in enumerate(sizes):
        meta += tlv(17, _PARAMETER.pack(number, number, offset, size, 8, 0, 0, 0, 0, 0))
        offset += size
    return ElfWriter().kernel(name, meta, size=64).build()


def start(api: Caller, function: int) -> int:
    return int(api.step("aclrtKernelArgsInit", 0, funcHandle=function, argsHandle=Out()))


def append(api: Caller, handle: int, data: bytes) -> Any:
    return api.step("aclrtKernelArgsAppend", 0, argsHandle=handle, param=api.memory(data), paramSize=len(data),
                    paramHandle=Out())


def host_args(api: Caller, function: int, data: bytes, code: int = 0, message: str = "", *places: int) -> None:
    array = api.memory(struct.pack(f"<{len(places)}I", *places))
    api.step("aclrtLaunchKernelWithHostArgs", code, message, funcHandle=function, numBlocks=1, stream=api.stream,
             hostArgs=api.memory(data), argsSize=len(data), placeHolderArray=array, placeHolderNum=len(places) // 2)
