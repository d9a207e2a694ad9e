"""Memory as users see it: buffers and their protocols, copies over every link, sharing, and what users ran into."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
import pytest

from chips.tasks import MemcpyAsync
from runtime import errors
from runtime.api import Device, Stream
from runtime.launch.copy import transfer
from tests.unit.runtime.machines import CHIPS, V100, V200, OpenMachine

MiB = 1 << 20
LINKS = (*(f"fake://{soc}?args={link}" for soc in CHIPS for link in ("dma", "bar")), f"fake://{V200}?args=ub")


# -- protocols -----------------------------------------------------------------------------------------------------


def test_host_buffers_are_arrays_without_a_copy(device: Device) -> None:
    host = device.alloc_host(64)
    host.numpy("u4")[:] = range(16)
    for value, array in enumerate((np.asarray(host), np.from_dlpack(host)), 9):  # type: ignore[arg-type]
        assert array.view("u4")[1:].tolist() == list(range(1, 16))
        array[0] = value
        assert host[0] == value
    host[4:8] = b"\1\2\3\4"
    assert bytes(host)[:8] == b"\x0a\0\0\0\1\2\3\4"
    assert memoryview(host.memory).nbytes == len(host) == 64
    assert host.__dlpack_device__() == (1, 0)


def test_device_buffers_pass_through_dlpack_as_an_extension_device(device: Device) -> None:
    buffer = device.alloc(64)
    assert buffer.__dlpack_device__() == (12, 0)
    assert "dltensor" in repr(buffer.__dlpack__())
    with pytest.raises(errors.InvalidArgument, match="download"):
        np.asarray(buffer)
    buffer.close()
    with pytest.raises(errors.InvalidArgument, match="was freed"):
        buffer.__dlpack__()


def test_a_consumer_of_dlpack_keeps_the_buffer_alive(device: Device) -> None:
    host = device.alloc_host(8)
    address, array = host.address, np.from_dlpack(host)  # type: ignore[arg-type]
    del host
    device.alloc_host(8).close()
    assert address in device.buffers
    assert array.size == 8
    del array
    assert address not in device.buffers


def test_buffers_say_what_they_are(device: Device) -> None:
    buffer = device.alloc(100)
    part = buffer.view(10, 20)
    assert part.owner is buffer
    assert (part.size, part.nbytes, part.device) == (20, 20, device)
    assert repr(part) == f"<20 bytes of device 0 at {buffer.address + 10:#x}, part of 100 bytes>"


# -- copies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", LINKS)
def test_copies_of_every_kind_over_every_link(open_machine: OpenMachine, url: str) -> None:
    device = open_machine(url).device()
    data = np.random.default_rng(3).integers(0, 256, 9000, dtype=np.uint8)
    host, back = device.alloc_host(9000), device.alloc_host(9000)
    one, two = device.alloc(9000), device.alloc(9000)
    host.numpy()[:] = data
    with device.create_stream() as stream:
        stream.copy(one, host)
        stream.copy(two, one)
        stream.copy(back, two)
        stream.copy_rows(one, 100, host, 80, 60, 50)
        stream.fill(two, 0x5A, 100)
        stream.synchronize()
        assert stream.ring.pending == 0
    assert np.array_equal(back.numpy(), data)
    expected = data.copy()
    for row in range(50):
        expected[row * 100 : row * 100 + 60] = data[row * 80 : row * 80 + 60]
    assert np.array_equal(device.download(one), expected)
    assert device.download(two).tobytes() == b"\x5a" * 100 + data[100:].tobytes()


@pytest.mark.parametrize("url", LINKS)
def test_long_copies_go_in_pieces(open_machine: OpenMachine, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PCIE_BYTES", "UB_BYTES", "INSIDE_BYTES"):
        monkeypatch.setattr(transfer, name, 4096)
    device = open_machine(url).device()
    host, target = device.alloc_host(10_000), device.alloc(10_000)
    host.numpy()[:] = np.arange(10_000) % 251
    with device.create_stream() as stream:
        stream.copy(target, host)
        assert stream.ring.submitted == 3 * (2 if "ub" in url else 1)
        stream.synchronize()
    assert device.download(target).tobytes() == bytes(host)


@pytest.mark.parametrize(("dtype", "operation"), [
    ("int8", "add"), ("int16", "max"), ("int32", "min"), ("uint32", "add"), ("float16", "add"), ("float32", "max"),
    ("float32", "equal"),
])  # fmt: skip
def test_reductions(device: Device, stream: Stream, dtype: str, operation: str) -> None:
    left, right = np.arange(-8, 24).astype(dtype), (np.arange(32) * 3 % 17).astype(dtype)
    target, source = device.upload(left), device.upload(right)
    stream.reduce(target, source, operation, dtype)
    stream.synchronize()
    expected = {"add": left + right, "max": np.maximum(left, right), "min": np.minimum(left, right),
                "equal": (left == right).astype(dtype)}[operation]  # fmt: skip
    assert np.array_equal(device.download(target, dtype), expected)


@pytest.mark.parametrize(("operation", "dtype"), [("add", "uint8"), ("mul", "float32")])
def test_reductions_that_the_engine_has_not_are_refused(device: Device, stream: Stream, operation: str,
                                                        dtype: str) -> None:
    buffer = device.alloc(64)
    with pytest.raises(errors.InvalidArgument, match="operations: add, max, min, equal"):
        stream.reduce(buffer, buffer, operation, dtype)


def test_copies_between_cards_need_peer_access_in_the_right_direction(machine: Any) -> None:
    one, two = machine.device(0), machine.device(1)
    source, target = one.upload(b"across"), two.alloc(6)
    with two.create_stream() as stream:
        with pytest.raises(errors.InvalidArgument, match="device 1 does not reach the memory of device 0") as caught:
            stream.copy(target, source)
        assert "enable_peer_access(runtime.device(0))" in caught.value.hint
        one.enable_peer_access(two)
        with pytest.raises(errors.InvalidArgument, match="does not reach"):
            stream.copy(target, source)
        two.enable_peer_access(one)
        stream.copy(target, source)
        stream.synchronize()
    assert two.download(target).tobytes() == b"across"


# -- kinds of memory -----------------------------------------------------------------------------------------------


def test_managed_memory_is_used_by_host_and_device(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V100}").device()
    with device.alloc_managed(1000) as shared, device.create_stream() as stream:
        shared.numpy()[:] = 3
        target = device.alloc(1000)
        stream.copy(target, shared)
        stream.fill(target, 4, 10)
        stream.copy(shared, target)
        stream.synchronize()
        assert bytes(shared) == b"\4" * 10 + b"\3" * 990
        assert device.ledger.find(shared.address).size == 2 * MiB  # type: ignore[union-attr]


def test_chips_without_managed_memory_say_so(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V200}").device()
    with pytest.raises(errors.NotSupported) as caught:
        device.alloc_managed(10)
    assert caught.value.code == 207000


def test_registered_host_memory_is_pinned(device: Device, stream: Stream) -> None:
    area = mmap.mmap(-1, 1 << 17)
    whole = memoryview(area)
    start = -np.frombuffer(whole, np.uint8).ctypes.data % 65536
    mine = whole[start : start + 65536]
    mine[:] = b"\x21" * 65536
    target = device.alloc(65536)
    with device.register_host(mine) as registered:
        assert (registered + 64).device_address == registered.device_address + 64
        assert (registered + 64).word == registered.word + 64
        stream.copy(target, registered)
        assert stream.ring.submitted == 1
        stream.synchronize()
        with pytest.raises(errors.InvalidState, match="overlap"):
            device.register_host(mine)
    assert device.download(target).tobytes() == bytes(mine)
    assert len(device.runtime.host_memory) == 0


def test_virtual_memory(device: Device) -> None:
    with device.reserve(8 * MiB) as addresses, device.create_physical(2 * MiB) as physical:
        mapping = addresses.map(physical, 4 * MiB)
        assert mapping.address == addresses.address + 4 * MiB
        device.copy(mapping, b"hello")
        with device.reserve(2 * MiB) as other:
            assert device.download(other.map(physical).view(0, 5)).tobytes() == b"hello"
        with pytest.raises(errors.InvalidArgument, match="does not fit"):
            addresses.map(physical, 7 * MiB)
        mapping.close()
        with pytest.raises(errors.InvalidArgument, match="was freed"):
            device.download(mapping)
    with pytest.raises(errors.InvalidArgument, match="multiples of 2097152 bytes"):
        device.create_physical(MiB)


def test_a_hole_in_a_range_is_found_at_the_copy(device: Device, stream: Stream) -> None:
    with device.reserve(4 * MiB) as addresses, device.create_physical(2 * MiB) as physical:
        mapping, source = addresses.map(physical), device.alloc(64)
        hole = addresses.address + 2 * MiB
        for start in (hole, hole - 32):
            with pytest.raises(errors.InvalidArgument, match=f"nothing is mapped at {hole:#x}: the mapping of handle "
                               rf"{physical.handle:#x} at {addresses.address:#x} has {2 * MiB} bytes"):
                device.memory.copy(start, 64, source.address, 64)
        with pytest.raises(errors.InvalidArgument, match=rf"the block at {source.address:#x} has \d+ bytes"):
            device.memory.copy(addresses.address, 2 * MiB, source.address, 2 * MiB)
        mapping.close()
        stream.submit(MemcpyAsync(src=source.address, dst=addresses.address, size=64), owner="my copy")
        with pytest.raises(errors.RuntimeFault) as caught:
            stream.synchronize()
    assert caught.value.code == 507001
    assert "my copy" in caught.value.message


def test_one_access_may_cross_from_a_mapping_into_the_next(device: Device, stream: Stream) -> None:
    source, pieces = device.upload(bytes(range(64))), [device.create_physical(2 * MiB) for _ in range(2)]
    with device.reserve(4 * MiB) as addresses, device.reserve(2 * MiB) as other:
        edge = addresses.address + 2 * MiB - 32
        for order in (pieces, pieces[::-1]):  # what is mapped there changes
            mappings = [addresses.map(piece, index * 2 * MiB) for index, piece in enumerate(order)]
            for _ in range(2):
                stream.submit(MemcpyAsync(src=source.address, dst=edge, size=64))
            stream.synchronize()
            with other.map(order[1]) as behind:
                assert device.download(behind.view(0, 32)).tobytes() == bytes(range(32, 64))
            for mapping in mappings:
                mapping.close()
        with addresses.map(pieces[0]):
            stream.submit(MemcpyAsync(src=source.address, dst=edge, size=64))
            with pytest.raises(errors.RuntimeFault, match="507001"):
                stream.synchronize()
    for piece in pieces:
        piece.close()


def test_shared_memory_and_who_may_open_it(device: Device) -> None:
    buffer = device.upload(b"for others")
    with device.share(buffer) as shared:
        with pytest.raises(errors.RuntimeFault):
            device.open_shared(shared.key)
        shared.allow(os.getpid())
        with device.open_shared(shared.key) as opened:
            assert device.download(opened.view(0, 10)).tobytes() == b"for others"
            device.fill(opened, 0, 3)
        assert device.download(buffer).tobytes() == b"\0\0\0 others"
    with device.share(buffer, None) as anybody, device.open_shared(anybody.key):
        pass
    with pytest.raises(errors.InvalidArgument) as caught:
        device.share(buffer.view(1))
    assert "first address of a block" in caught.value.hint
    assert device.runtime.open_keys.open_ones() == []


def test_shared_physical_memory(device: Device) -> None:
    physical = device.create_physical(2 * MiB)
    number = physical.export(None)
    again = device.import_physical(number, physical.size)
    with device.reserve(4 * MiB) as addresses:
        device.copy(addresses.map(physical), b"same")
        assert device.download(addresses.map(again, 2 * MiB).view(0, 4)).tobytes() == b"same"
    again.close()
    physical.close()
    with pytest.raises(errors.InvalidArgument, match="was closed"):
        physical.export()


# -- what users ran into -------------------------------------------------------------------------------------------


def test_a_pinned_source_is_read_when_the_copy_runs_a_pageable_one_at_the_call(device: Device, stream: Stream) -> None:
    pinned, target = device.alloc_host(64), device.alloc(64)
    pinned.numpy()[:] = 0x11
    card = device.hal.fake.device(device.device_id)  # type: ignore[attr-defined]
    card.hold(stream.stream_id)
    stream.copy(target, pinned)
    pinned.numpy()[:] = 0x22
    card.release(stream.stream_id)
    stream.synchronize()
    assert device.download(target).tobytes() == b"\x22" * 64
    pageable = bytearray(b"\x33" * 64)
    stream.copy(target, pageable)
    pageable[:] = bytes(64)
    stream.synchronize()
    assert device.download(target).tobytes() == b"\x33" * 64


def test_a_buffer_dropped_while_a_copy_is_pending_stays_until_it_is_done(device: Device, stream: Stream) -> None:
    pinned, target = device.alloc_host(64), device.alloc(64)
    pinned.numpy()[:] = 5
    card = device.hal.fake.device(device.device_id)  # type: ignore[attr-defined]
    card.hold(stream.stream_id)
    stream.copy(target, pinned)
    address = pinned.address
    del pinned
    device.alloc_host(64).close()
    assert device.ledger.find(address) is not None
    card.release(stream.stream_id)
    stream.synchronize()
    device.alloc_host(64).close()
    assert device.ledger.find(address) is None
    assert device.download(target).tobytes() == b"\5" * 64


@pytest.mark.parametrize("soc", CHIPS)
def test_sizes_that_reach_the_driver(open_machine: OpenMachine, soc: str) -> None:
    device = open_machine(f"fake://{soc}").device()
    padding = device.chip.padding_size
    for size, expected in ((1, 32 + padding), (32, 32 + padding), (33, 64 + padding)):
        buffer = device.alloc(size)
        assert device.ledger.find(buffer.address).size == expected  # type: ignore[union-attr]
        assert buffer.address % 64 == 0
    with pytest.raises(errors.InvalidArgument) as caught:
        device.alloc(0)
    assert caught.value.code == 100000


def test_huge_pages_run_out_before_normal_ones(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V100}?hbm=64m").device()
    huge_only, held = 1, []
    while device.memory.pages().huge_free:
        held.append(device.alloc(1024, huge_only))
    with pytest.raises(errors.OutOfMemory, match=r"0 of \d+ bytes of huge pages are free") as caught:
        device.alloc(1024, huge_only)
    assert caught.value.code == 207001
    assert device.alloc(4 * MiB).size == 4 * MiB  # huge first falls back to normal pages


def test_what_a_device_has_taken_goes_with_it_and_closing_it_later_is_no_mistake(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend910b3?devices=2")
    device, other = machine.device(0), machine.device(1)
    area = mmap.mmap(-1, 1 << 17)
    start = -np.frombuffer(area, np.uint8).ctypes.data % 65536
    mine = memoryview(area)[start : start + 65536]
    source, foreign = other.share(other.alloc(2 << 20), None), other.create_physical(2 << 20)
    room = device.reserve(4 << 20)
    taken = [
        device.register_host(mine), device.open_shared(source.key), device.share(device.alloc(2 << 20)),
        device.create_physical(2 << 20), room.map(foreign), device.alloc(64), device.alloc_host(64), room,
    ]  # fmt: skip
    device.close()
    assert machine.open_keys.open_ones() == []
    assert len(machine.host_memory) == 0
    again = machine.device(0)
    with again.register_host(mine), again.create_physical(2 << 20):
        for each in taken:
            each.close()
    with pytest.raises(errors.InvalidArgument, match="was closed"):
        again.reserve(2 << 20).map(taken[3])
    other.close()
    for each in (source, foreign):
        each.close()


def test_a_fabric_handle_has_all_its_bytes(device: Device) -> None:
    with pytest.raises(errors.InvalidArgument, match="a fabric handle of 64 bytes"):
        device.import_physical(bytes(64), 1 << 21)
