"""Copies: what counts as memory, directions, pieces, and what is held until the task is done."""

from __future__ import annotations

import gc
import weakref
from array import array
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Runtime, Stream
from runtime.core.stream import stream as streams
from runtime.launch.copy import transfer
from tests.unit.runtime.machines import V200, OpenMachine, holdings


@pytest.mark.parametrize(
    "source",
    [
        b"01234567", bytearray(b"01234567"), memoryview(b"01234567"), array("i", [1, 2]), np.arange(2, dtype="f4"),
        np.arange(8, dtype="u1").reshape(2, 4), np.ones(1, "c8"), np.array([(1, 2)], "i4,f4"), np.ones(8, "?"),
        np.arange(4, dtype=">i2"), np.array(b"abcdefgh"),
    ],
    ids=lambda source: str(getattr(source, "dtype", type(source).__name__)),
)  # fmt: skip
def test_anything_contiguous_can_be_copied(device: Device, source: Any) -> None:
    buffer = device.upload(source)
    wanted = memoryview(source).tobytes() if not hasattr(source, "tobytes") else source.tobytes()
    assert device.download(buffer).tobytes() == wanted


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "or to 'dict'; expected"), ([1, 2], "or to 'list'; expected"), (None, "or to 'NoneType'; expected"),
        (5, "or to 'int'; expected"),
        (np.zeros((8, 16), "u1")[:, ::2], "not contiguous"), (np.zeros((2, 3), order="F"), "not contiguous in C order"),
        (np.array([object()]), "Python objects"), (np.array([(1, None)], [("a", "i4"), ("b", "O")]), "Python objects"),
        (np.array(["2020"], "M8[D]"), "copy: (data|src)"),
    ],
    ids=["dict", "list", "None", "int", "strided", "Fortran", "objects", "objects in records", "dates"],
)  # fmt: skip
def test_what_is_no_memory_is_refused_by_name(machine: Runtime, device: Device, source: Any, message: str) -> None:
    before = holdings(machine)
    for use in (lambda: device.upload(source), lambda: device.copy(device.alloc(8), source, 0)):
        with pytest.raises(errors.InvalidArgument, match=message):
            use()
    gc.collect()
    device.alloc(8).close()
    assert holdings(machine) == before


def test_fields_called_o_are_no_objects(device: Device) -> None:
    assert device.download(device.upload(np.array([(1,)], [("O", "i4")])), "i4").tolist() == [1]


def test_read_only_sources_are_not_copied_twice(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.arange(8, dtype="u1")
    source.flags.writeable = False
    seen: list[int] = []
    inner = device.memory.copy

    def copy(dst: int, dst_max: int, src: int, size: int) -> None:
        seen.append(src)
        inner(dst, dst_max, src, size)

    monkeypatch.setattr(type(device.memory), "copy", lambda _self, *arguments: copy(*arguments))
    device.upload(source)
    assert seen == [source.ctypes.data]


def test_a_read_only_target_is_refused(device: Device) -> None:
    target = np.zeros(8, "u1")
    target.flags.writeable = False
    for dead in (target, b"12345678"):
        with pytest.raises(errors.InvalidArgument, match="read-only"):
            device.copy(dead, device.upload(bytes(8)))


@pytest.mark.parametrize("size", [9, -1])
def test_sizes_that_do_not_fit(device: Device, stream: Stream, size: int) -> None:
    buffer = device.alloc(8)
    for copy in (device.copy, stream.copy):
        with pytest.raises(errors.InvalidArgument, match=f"copy of {size} bytes") as caught:
            copy(buffer, bytes(64), size)
        assert (caught.value.code, caught.value.message_id) == (107000, "EE1003")


def test_nothing_to_copy_sends_nothing(device: Device, stream: Stream) -> None:
    buffer, host = device.alloc(8), device.alloc_host(8)
    stream.copy(buffer, host, 0)
    stream.copy(buffer, buffer)
    stream.copy(buffer, b"")
    assert stream.ring.submitted == 0


def test_host_to_host_is_no_task(device: Device, stream: Stream) -> None:
    first, second = device.alloc_host(8), device.alloc_host(8)
    for target, source in ((first, second), (first, b"12345678"), (bytearray(8), second)):
        with pytest.raises(errors.NotSupported) as caught:
            stream.copy(target, source)
        assert caught.value.code == 207000
    first.numpy()[:] = 7
    device.copy(second, first)
    assert second.numpy().tolist() == [7] * 8


def test_all_directions_in_a_stream(device: Device, stream: Stream) -> None:
    host, back = device.alloc_host(64), device.alloc_host(64)
    host.numpy()[:] = np.arange(64)
    first, second = device.alloc(64), device.alloc(64)
    stream.copy(first, host)
    stream.copy(second, first)
    stream.copy(back, second)
    stream.synchronize()
    assert back.numpy().tolist() == list(range(64))


def test_a_pageable_end_waits_for_the_stream_and_copies_at_once(device: Device, stream: Stream) -> None:
    host = device.alloc_host(8)
    host.numpy()[:] = 5
    buffer, result = device.alloc(8), np.zeros(8, "u1")
    stream.copy(buffer, host)
    stream.copy(result, buffer)
    assert result.tolist() == [5] * 8
    assert stream.ring.pending == 0


def test_large_copies_go_in_pieces(device: Device, stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PCIE_BYTES", 1024)
    host, back = device.alloc_host(2500), device.alloc_host(2500)
    host.numpy()[:] = np.arange(2500) % 251
    buffer = device.alloc(2500)
    stream.copy(buffer, host)
    assert stream.ring.submitted == 3
    stream.copy(back, buffer)
    stream.synchronize()
    assert np.array_equal(back.numpy(), host.numpy())


def test_both_ends_live_until_the_task_is_done(device: Device, stream: Stream) -> None:
    fake = device.hal.fake.device(0)
    fake.hold()
    host, buffer = device.alloc_host(8), device.alloc(8)
    ends = [weakref.ref(host), weakref.ref(buffer)]
    stream.copy(buffer, host)
    del host, buffer
    gc.collect()
    assert all(end() is not None for end in ends)
    fake.release()
    stream.synchronize()
    gc.collect()
    assert all(end() is None for end in ends)


def test_descriptors_go_back_whether_the_copy_ran_or_not(machine: Runtime, device: Device, stream: Stream) -> None:
    before = holdings(machine).get("descriptors")
    host, buffer = device.alloc_host(8), device.alloc(8)
    stream.copy(buffer, host)
    stream.synchronize()
    assert holdings(machine).get("descriptors") == before
    if device.chip.generation != "v100":
        device.hal.fake.faults.on_call("halSqTaskSend", "DRV_ERROR_INNER_ERR")
        with pytest.raises(errors.RuntimeFault):
            stream.copy(buffer, host)
        assert holdings(machine).get("descriptors") == before


def test_a_download_is_a_whole_number_of_items(device: Device) -> None:
    with pytest.raises(errors.InvalidArgument, match=r"a buffer of 10 bytes holds no whole number of float32 items"):
        device.download(device.alloc(10), "f4")
    assert device.download(device.upload(np.ones((2, 2), "f4")), "f4").tolist() == [1.0] * 4


@pytest.mark.parametrize("to_device", [True, False])
def test_copies_by_chains_are_prepared_and_give_each_chain_back(
    open_machine: OpenMachine, to_device: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = open_machine(f"fake://{V200}?args=dma&seed=1").device(0)
    fake, slow = device.hal.fake.device(0), []
    with device.create_stream() as stream, device.alloc_host(256) as pinned, device.alloc(256) as buffer:
        pinned.memory[:] = bytes(range(256))
        device.fill(buffer, 0xEE)
        submit = streams.submit
        monkeypatch.setattr(streams, "submit", lambda *given, **more: slow.append(1) or submit(*given, **more))
        before = dict(fake.dma)
        for number in range(70):  # over a tick
            place = number % 32
            host, there = pinned.view(8 * place, 8), buffer.view(8 * (31 - place), 8)
            stream.copy(there, host) if to_device else stream.copy(host, there)
        stream.synchronize()
        assert len(slow) == 1
        assert len(fake.dma) <= len(before) + 32  # those that are kept
        copied = [bytes(pinned.memory[8 * place : 8 * place + 8]) for place in range(32)]
        if to_device:
            assert device.download(buffer).tobytes() == b"".join(reversed(copied))
        else:
            assert bytes(pinned.memory) == b"\xee" * 256
        buffer.close()
        assert fake.dma == before


def test_a_refused_copy_gives_its_chain_back(open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    device = open_machine(f"fake://{V200}?args=dma&swsq=0&seed=2").device(0)
    fake, refused = device.hal.fake.device(0), [False]
    with device.create_stream() as stream, device.alloc_host(64) as pinned, device.alloc(64) as buffer:
        sender = stream.senders[1]
        send = sender.send

        def watched(device_id: int, reference: Any) -> int:
            if refused[0]:
                raise errors.fault("RT_ERROR_DRV_ERR", "refused")
            return int(send(device_id, reference))

        monkeypatch.setattr(sender, "send", watched)
        stream.copy(buffer, pinned)
        stream.synchronize()
        before, refused[0] = dict(fake.dma), True
        for _ in range(3):
            with pytest.raises(errors.RuntimeFault, match="refused"):
                stream.copy(buffer, pinned)
        refused[0] = False
        stream.copy(buffer, pinned)
        stream.synchronize()
        assert len(fake.dma) == len(before) + 1  # kept for the next one
        pinned.close()
        assert fake.dma == before
