"""Streams and tensors of other libraries: handles, the protocol, DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Runtime, Stream


class Theirs:
    """A stream object of another library."""

    def __init__(self, handle: Any, version: int = 0) -> None:
        self.told = version, handle

    def __npu_stream__(self) -> tuple[int, Any]:
        return self.told


def test_a_stream_by_all_its_names(device: Device, stream: Stream) -> None:
    version, handle = stream.__npu_stream__()
    assert version == 0
    for name in (stream, handle, Theirs(handle)):
        assert device.stream_of(name) is stream
    assert device.stream_of(0) is device.stream_of(Theirs(0)) is device.default_stream


@pytest.mark.parametrize("thing", ["stream", 1.0, True, None, Theirs("x")])
def test_what_is_no_stream(device: Device, thing: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="is no stream"):
        device.stream_of(thing)


def test_streams_that_cannot_be_used(machine: Runtime, device: Device, stream: Stream) -> None:
    handle = stream.handle
    with pytest.raises(errors.ContextError, match="what it is used with on device 1"):
        machine.device(1).stream_of(stream)
    with pytest.raises(errors.NotSupported, match="version 9"):
        device.stream_of(Theirs(handle, 9))
    stream.close()
    for name in (stream, handle, Theirs(handle), 12345678):
        with pytest.raises(errors.InvalidHandle):
            device.stream_of(name)


class Tensor:
    """A tensor without the buffer protocol, like those of most frameworks."""

    def __init__(self, array: Any, kind: int = 1) -> None:
        self.array, self.kind = array, kind

    def __dlpack__(self, **options: Any) -> Any:
        if self.kind != 1:
            raise BufferError("memory of a device")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0


def test_arrays_in_and_out(device: Device) -> None:
    array = np.arange(12, dtype="f4").reshape(3, 4)
    for source in (array, Tensor(array), array.tobytes()):
        buffer = device.upload(source)
        assert device.download(buffer, "f4", (3, 4)).tolist() == array.tolist()
        assert device.download(buffer, "f4", (-1, 2)).shape == (6, 2)
    host = device.alloc_host(48)
    device.copy(host, buffer)
    assert np.from_dlpack(host).view("f4").tolist() == array.ravel().tolist()
    target = np.zeros_like(array)
    device.copy(target, host)
    assert target.tolist() == array.tolist()


def test_arrays_that_do_not_fit(device: Device) -> None:
    buffer = device.upload(np.zeros(6, "f4"))
    with pytest.raises(errors.InvalidArgument, match=r"6 elements have no shape \(4, 2\)"):
        device.download(buffer, "f4", (4, 2))
    with pytest.raises(errors.InvalidArgument, match="no whole number"):
        device.download(buffer.view(0, 5), "f4")
    with pytest.raises(errors.InvalidArgument, match="through DLPack"):
        device.upload(Tensor(np.zeros(4), kind=12))
    with pytest.raises(errors.InvalidArgument, match="cannot copy from or to"):
        device.upload(object())
