"""Kernel files: argument lists by the C API, a limit on cores, host memory and managed memory as arguments."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.capi.aclrt import Out
from runtime.cli.sample import minimal_kernel
from runtime.launch.binary import Function
from runtime.launch.kernel import Kernel
from tests.examples.conftest import CApi, StandIn

COUNT = 16384
PAGE = 65536


def test_a_kernel_file_and_an_argument_list(c: CApi, tmp_path: Path) -> None:
    """Two device buffers and, as a placeholder, a block of parameters that lies in the list itself."""
    path = tmp_path / "scale.o"
    path.write_bytes(minimal_kernel("scale", 3))
    binary = c("aclrtBinaryLoadFromFile", binPath=str(path), options=None, binHandle=Out())
    function = c("aclrtBinaryGetFunction", binHandle=binary, kernelName="scale", funcHandle=Out())
    kernel = c.acl.runtime.handles.get(function, Function).on(c.acl.runtime.device(0))
    assert isinstance(kernel, Kernel)

    def scale(context: Any) -> None:
        source, target = (context.args.array(slot, "f4", 8) for slot in (0, 1))
        target[:] = source * context.args.array(2, "f4", 1)[0]

    c.acl.runtime.hal.fake.attach(kernel.code, scale, name="scale", grid=True)
    host = np.arange(8, dtype="f4")
    source, target = (c("aclrtMalloc", devPtr=Out(), size=32, policy=0) for _ in range(2))
    c("aclrtMemcpy", dst=source, destMax=32, src=host.ctypes.data, count=32, kind=1)
    arguments = c("aclrtKernelArgsInit", funcHandle=function, argsHandle=Out())
    for pointer in (source, target):
        word = ctypes.c_uint64(pointer)
        c("aclrtKernelArgsAppend", argsHandle=arguments, param=ctypes.addressof(word), paramSize=8, paramHandle=Out())
    place = c("aclrtKernelArgsAppendPlaceHolder", argsHandle=arguments, paramHandle=Out())
    block = c("aclrtKernelArgsGetPlaceHolderBuffer", argsHandle=arguments, paramHandle=place, dataSize=4,
              bufferAddr=Out())
    ctypes.c_float.from_address(block).value = 3.0
    c("aclrtKernelArgsFinalize", argsHandle=arguments)
    stream = c("aclrtCreateStream", stream=Out())
    c("aclrtLaunchKernelWithConfig", funcHandle=function, numBlocks=8, stream=stream, argsHandle=arguments)
    c("aclrtSynchronizeStream", stream=stream)
    c("aclrtMemcpy", dst=host.ctypes.data, destMax=32, src=target, count=32, kind=2)
    assert host.tolist() == [0, 3, 6, 9, 12, 15, 18, 21]
    c("aclrtDestroyStream", stream=stream)
    c("aclrtBinaryUnLoad", binHandle=binary)


def test_a_kernel_on_fewer_cores(device: Device, stream: Stream, stand_in: StandIn) -> None:
    said: list[str] = []

    def hello(_context: Any) -> None:
        said.append("Hello World")

    device.limit_cores(cube=8)
    stand_in(hello, grid=False)[device.usable_cores.cube](0, stream=stream)
    stream.synchronize()
    assert said == ["Hello World"] * 8


def test_a_kernel_works_in_host_memory(device: Device, stream: Stream, stand_in: StandIn) -> None:
    """Host memory that is registered with the card has a device address; nothing is copied."""

    def add_in_place(context: Any) -> None:
        target, other = (context.args.array(slot, "f2", COUNT) for slot in (0, 1))
        target += other

    area = memoryview(mmap.mmap(-1, 2 * PAGE))
    memory = area[-np.frombuffer(area, "u1").ctypes.data % PAGE :][:PAGE]  # whole pages of the card
    first, second = np.frombuffer(memory, "f2").reshape(2, COUNT)
    first[:], second[:] = 1.5, np.arange(COUNT, dtype="f2")
    wanted = first + second
    with device.register_host(memory) as registered:
        stand_in(add_in_place, 2)[4](registered, registered + first.nbytes, stream=stream)
        stream.synchronize()
    assert np.array_equal(first, wanted)


def test_managed_memory_as_arguments(device: Device, stream: Stream, stand_in: StandIn) -> None:
    def add_in_place(context: Any) -> None:
        target, other = (context.args.array(slot, "f4", 64) for slot in (0, 1))
        target += other

    first, second = device.alloc_managed(256), device.alloc_managed(256)
    first.numpy("f4")[:64], second.numpy("f4")[:64] = 1, 2
    stand_in(add_in_place, 2)[4](first, second, stream=stream)
    stream.synchronize()
    assert first.numpy("f4")[:64].tolist() == [3] * 64


def test_managed_memory_where_there_is_none() -> None:
    machine = Runtime("fake://ascend950")
    with pytest.raises(errors.NotSupported) as caught:
        machine.device(0).alloc_managed(256)
    assert caught.value.code == 207000
    machine.close()
