"""The first programs: an addition, what to do with an error, facts about the system, probing for features."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from fakes.kernels import add
from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.capi.aclrt import Out
from tests.examples.conftest import CApi, StandIn

FIRST = np.arange(1, 9, dtype="f4")
SUMS = [1.5, 3.0, 4.5, 6.0, 7.5, 9.0, 10.5, 12.0]


def test_hello(machine: Runtime, stand_in: StandIn) -> None:
    """The minimal loop: device, stream, arrays, a workspace, the operator, the result."""
    operator = stand_in(add(), 3)
    with machine.device(0) as device, device.create_stream() as stream:
        first, second, result = device.upload(FIRST), device.upload(FIRST / 2), device.alloc(FIRST.nbytes)
        with device.pool.alloc(1024, stream):  # what an operator would compute in
            operator[1](first, second, result, stream=stream)
        stream.synchronize()
        assert device.download(result, "f4").tolist() == SUMS


def test_errors_as_exceptions(device: Device) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        device.alloc(0)
    fault = caught.value
    assert fault.code // 100_000 == 1  # the caller is wrong
    assert fault.name
    assert fault.hint


def test_error_handling(c: CApi) -> None:
    """Provoke a NULL argument, then read all four sources of errors once."""
    c("aclrtGetRunMode", runMode=None, code=100000)  # refused before it reaches the runtime
    c("aclrtSynchronizeStreamWithTimeout", stream=None, timeout=0, code=107000)
    assert c.answer("aclrtPeekAtLastError", level=0) == 107000
    assert c.answer("aclrtGetLastError", level=0) == 107000
    messages = c.answer("aclGetRecentErrMsg")
    assert "EH0008" in messages
    assert "EE1003" in messages
    verbose = ctypes.create_string_buffer(256)
    c("aclrtGetErrorVerbose", deviceId=0, errorInfo=ctypes.addressof(verbose))
    assert not any(verbose.raw)  # the device itself has nothing to say
    assert c.answer("aclrtPeekAtLastError", level=0) == 0
    assert c.answer("aclrtGetLastError", level=0) == 0
    assert c.answer("aclGetRecentErrMsg") is None


def test_system_info(c: CApi) -> None:
    assert c("aclrtGetRunMode", runMode=Out()) == 1  # on a host
    assert len(c("aclrtGetVersion", majorVersion=Out(), minorVersion=Out(), patchVersion=Out())) == 3
    assert c.answer("aclFloatToFloat16", value=1.625) == 0x3E80
    assert c.answer("aclFloat16ToFloat", value=0x3E80) == 1.625
    float32, float16, int64 = 0, 1, 9
    assert [c.answer("aclDataTypeSize", dataType=kind) for kind in (float32, float16, int64)] == [4, 2, 8]


def test_probing_for_features(c: CApi) -> None:
    """What a program asks before it uses something; attributes of the toolkit need the toolkit."""
    soc = c.answer("aclrtGetSocName")
    assert c("aclrtCheckArchCompatibility", socVersion=soc, canCompatible=Out()) == 1
    cube_cores, vector_cores = (
        c("aclGetDeviceCapability", deviceId=0, deviceInfo=kind, value=Out()) for kind in (0, 1)
    )
    assert vector_cores == 2 * cube_cores
    c("aclGetCannAttributeList", cannAttrList=Out(), num=Out(), code=100003)


def test_features_by_name(device: Device) -> None:
    assert device.chip.has("OVERFLOW_MODE")
    assert not device.chip.has("NO_SUCH_FEATURE")


def test_own_kernel(device: Device, stream: Stream, stand_in: StandIn) -> None:
    """A vector addition in which each block does its part."""

    def custom_add(context: Any) -> None:
        part = slice(context.block * 8 // context.blocks, (context.block + 1) * 8 // context.blocks)
        first, second, result = (context.args.array(slot, "f4", 8) for slot in range(3))
        result[part] = first[part] + second[part]

    result = device.alloc(FIRST.nbytes)
    stand_in(custom_add, 3, grid=False)[4](device.upload(FIRST), device.upload(FIRST / 2), result, stream=stream)
    stream.synchronize()
    assert device.download(result, "f4").tolist() == SUMS
