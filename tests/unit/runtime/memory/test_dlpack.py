"""DLPack as the Python array API has it: copies, devices, streams, and errors of the consumer."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from runtime.api import Device
from runtime.memory import dlpack


def test_the_consumers_own_error_is_not_lost(device: Device) -> None:
    buffer = device.alloc(64)
    with pytest.raises((RuntimeError, BufferError), match=r"(?i)device"):  # NumPy has no arrays on other devices
        np.from_dlpack(buffer)
    kept = weakref.ref(buffer)
    del buffer
    gc.collect()
    assert kept() is None  # the capsule that nobody consumed has let go


def test_a_copy_is_asked_for(device: Device) -> None:
    pinned = device.alloc_host(8)
    pinned.memory[:] = bytes(range(8))
    same, other = np.from_dlpack(pinned), np.from_dlpack(_Copied(pinned))
    pinned.memory[0] = 9
    assert (same[0], other[0]) == (9, 0)
    buffer = device.upload(np.arange(6, dtype="f4").reshape(2, 3))
    before = len(device.buffers)
    capsule = buffer.__dlpack__(copy=True, max_version=(1, 0))
    assert len(device.buffers) == before + 1
    del capsule
    gc.collect()
    assert len(device.buffers) == before


def test_device_memory_reaches_the_cpu_by_a_copy(device: Device) -> None:
    array = np.arange(6, dtype="f4").reshape(2, 3)
    buffer = device.upload(array)
    found = np.from_dlpack(_OnTheCpu(buffer))
    assert (found == array).all()
    assert found.dtype == array.dtype
    with pytest.raises(BufferError, match="copy=False"):
        buffer.__dlpack__(dl_device=(dlpack.CPU, 0), copy=False)


@pytest.mark.parametrize("place", [(2, 0), (dlpack.EXTENSION, 1)])
def test_other_devices_are_refused(device: Device, place: tuple[int, int]) -> None:
    for buffer in (device.alloc(64), device.alloc_host(64), device.empty(4, "f4")):
        with pytest.raises(BufferError, match="dl_device"):
            buffer.__dlpack__(dl_device=place)


def test_only_streams_of_the_memorys_device(device: Device) -> None:
    buffer, pinned = device.alloc(64), device.alloc_host(64)
    for stream in (None, -1, device.create_stream()):
        buffer.__dlpack__(stream=stream)
    pinned.__dlpack__(stream=None)
    for stream in (0, 5, "x"):
        with pytest.raises(BufferError, match="stream="):
            buffer.__dlpack__(stream=stream)
    for stream in (-1, 5, device.default_stream):
        with pytest.raises(BufferError, match="the CPU"):
            pinned.__dlpack__(stream=stream)


class _Wrapped:
    """What a consumer of the array API asks for, whatever NumPy's version can be told."""

    def __init__(self, buffer: object) -> None:
        self.buffer = buffer

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU, 0


class _Copied(_Wrapped):
    def __dlpack__(self, **wishes: object) -> object:
        return self.buffer.__dlpack__(**{**wishes, "copy": True})  # type: ignore[attr-defined]


class _OnTheCpu(_Wrapped):
    def __dlpack__(self, **wishes: object) -> object:
        return self.buffer.__dlpack__(**{**wishes, "dl_device": (1, 0), "copy": None})  # type: ignore[attr-defined]
