"""The caching pool: driver calls, order of streams, limits, statistics, and a random program against a plain model."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import errors
from runtime.api import Device, Stream
from runtime.memory.fences import point_of
from runtime.memory.ledger import Ledger
from runtime.memory.pool import LARGE_SEGMENT, SMALL_SEGMENT, UNIT, CachingPool
from tests.tools.examples import examples
from tests.unit.runtime.machines import OpenMachine

MiB = 1 << 20


class Source:
    """A driver with so many bytes, that says what it was asked."""

    def __init__(self, size: int = 1 << 40) -> None:
        self.left, self.next, self.held = size, 1 << 32, dict[int, int]()
        self.calls = 0
        self.annotate = None

    def take(self, size: int) -> int:
        self.calls += 1
        if size > self.left:
            fault = errors.fault("ACL_ERROR_RT_MEMORY_ALLOCATION", "the driver is empty")
            assert isinstance(fault, errors.OutOfMemory)
            raise fault
        self.left -= size
        self.next += 1 << 33
        self.held[self.next] = size
        return self.next

    def give(self, address: int) -> None:
        self.left += self.held.pop(address)

    def shortage(self) -> str:
        return f"{self.left} bytes are left"


class Ring:
    submitted = 0
    reclaimed = 0


class Timeline:
    """A stream whose progress the test moves by hand."""

    def __init__(self, handle: int) -> None:
        self.handle, self.closed, self.ring, self.asked = handle, False, Ring(), 0

    def observed(self) -> None:
        """Nobody wants to know."""

    def drain(self) -> None:
        self.asked += 1


def padded(size: int) -> int:
    return (size + 63) // 32 * 32


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def pool(source: Source) -> CachingPool:
    return CachingPool(source, padded, Ledger(lambda: ""))


def test_memory_that_comes_and_goes_costs_one_driver_call(pool: CachingPool, source: Source) -> None:
    stream = Timeline(1)
    for _ in range(1000):
        pool.give(pool.take(100_000, stream))
    assert source.calls == 1
    assert pool.memory_stats()["allocation.all.allocated"] == 1000
    assert pool.memory_allocated() == 0
    assert pool.memory_reserved() == SMALL_SEGMENT


@pytest.mark.parametrize(("size", "segment"), [
    (1, SMALL_SEGMENT), (MiB - 64, SMALL_SEGMENT), (MiB, LARGE_SEGMENT), (10 * MiB - 64, LARGE_SEGMENT),
    (10 * MiB, 12 * MiB), (33 * MiB, 34 * MiB),
])  # fmt: skip
def test_segments_by_size(pool: CachingPool, size: int, segment: int) -> None:
    block = pool.take(size, Timeline(1))
    assert pool.memory_reserved() == segment
    assert block.size >= padded(size)
    assert block.size % UNIT == block.address % UNIT == 0


def test_the_same_stream_has_its_memory_back_at_once_another_one_does_not(pool: CachingPool) -> None:
    one, two = Timeline(1), Timeline(2)
    first = pool.take(MiB // 2, one)
    address = first.address
    one.ring.submitted = 5
    pool.give(first)
    again = pool.take(MiB // 2, one)
    assert again.address == address
    pool.give(again)
    other = pool.take(MiB // 2, two)
    assert other.address != address
    one.ring.reclaimed = 5
    pool.trim()
    third = pool.take(MiB // 2, two)
    assert {address, other.address} != {other.address}
    assert third.address != other.address


def test_others_get_it_when_the_device_has_passed_the_free(pool: CachingPool, source: Source) -> None:
    one, two = Timeline(1), Timeline(2)
    block = pool.take(30 * MiB, one)
    address = block.address
    one.ring.submitted = 7
    pool.give(block)
    one.ring.reclaimed = 6
    assert pool.take(30 * MiB, two).address != address
    one.ring.reclaimed = 7
    assert pool.take(30 * MiB, two).address == address
    assert source.calls == 2


def test_a_recorded_stream_must_pass_too(pool: CachingPool) -> None:
    one, two = Timeline(1), Timeline(2)
    block = pool.take(30 * MiB, one)
    address = block.address
    pool.record(block, two)
    two.ring.submitted = 3
    pool.give(block)
    assert [row.state for row in pool.memory_snapshot()] == ["active_pending_free", "inactive"]
    assert (pool.memory_allocated(), pool.memory_stats()["active.all.current"]) == (0, 1)
    assert pool.take(30 * MiB, one).address != address
    two.ring.reclaimed = 3
    assert pool.take(30 * MiB, one).address == address


def test_neighbours_join_and_whole_segments_go_back(pool: CachingPool, source: Source) -> None:
    stream = Timeline(1)
    blocks = [pool.take(200_000, stream) for _ in range(9)]
    assert source.calls == 1
    for block in blocks[::2] + blocks[1::2]:
        pool.give(block)
    assert [row.size for row in pool.memory_snapshot()] == [SMALL_SEGMENT]
    assert pool.trim() == SMALL_SEGMENT
    assert pool.memory_reserved() == 0
    assert source.held == {}


def test_trim_keeps_what_is_used_and_what_was_asked_to_keep(pool: CachingPool) -> None:
    stream = Timeline(1)
    kept, gone = pool.take(30 * MiB - 64, stream), pool.take(40 * MiB - 64, stream)
    pool.give(gone)
    assert pool.trim(70 * MiB) == 0
    assert pool.trim(31 * MiB) == 40 * MiB
    assert pool.memory_allocated() == kept.size


def test_a_limit_is_never_passed(pool: CachingPool, source: Source) -> None:
    stream = Timeline(1)
    pool.limit = 50 * MiB
    first = pool.take(40 * MiB - 64, stream)
    with pytest.raises(errors.OutOfMemory, match="limit 52428800") as caught:
        pool.take(20 * MiB, stream)
    assert caught.value.details["allocated"] == first.size
    assert pool.memory_stats()["num_ooms"] == 1
    pool.give(first)
    assert pool.take(20 * MiB, stream).size >= 20 * MiB
    assert pool.memory_reserved() <= 50 * MiB
    with pytest.raises(errors.InvalidArgument, match="cannot be limited"):
        pool.limit = MiB
    assert pool.limit == 50 * MiB


def test_an_empty_driver_gets_cached_memory_back_first() -> None:
    source = Source(64 * MiB)
    pool, stream = CachingPool(source, padded, Ledger(lambda: "")), Timeline(1)
    pool.give(pool.take(40 * MiB - 64, stream))
    assert pool.take(60 * MiB, stream).size >= 60 * MiB
    assert pool.memory_stats()["num_alloc_retries"] == 1
    with pytest.raises(errors.OutOfMemory, match="2097152 bytes are left"):
        pool.take(40 * MiB, stream)


def test_peaks_and_totals_can_start_again(pool: CachingPool) -> None:
    stream = Timeline(1)
    block = pool.take(MiB, stream)
    peak = block.size
    pool.give(block)
    assert (pool.memory_allocated(), pool.max_memory_allocated()) == (0, peak)
    pool.reset_peak_memory_stats()
    assert pool.max_memory_allocated() == 0
    assert pool.max_memory_reserved() == LARGE_SEGMENT
    pool.reset_accumulated_memory_stats()
    assert pool.memory_stats()["allocated_bytes.all.allocated"] == 0
    assert "20.0 MiB" in pool.memory_summary()


Operation = tuple[int, int, int]
OPERATIONS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 40 * MiB)), max_size=60)


@settings(max_examples=examples(60))
@given(OPERATIONS, st.integers(2, 120))
def test_random_programs(operations: list[Operation], limit_mib: int) -> None:
    source = Source()
    pool = CachingPool(source, padded, Ledger(lambda: ""))
    pool.limit = limit_mib * MiB
    streams = [Timeline(number + 1) for number in range(3)]
    held: list[Any] = []
    waiting: list[tuple[int, int, list[Any]]] = []
    for what, who, size in operations:
        stream = streams[who]
        if what <= 1:
            try:
                block = pool.take(size, stream)
            except errors.OutOfMemory:
                assert pool.memory_reserved() <= limit_mib * MiB
                continue
            assert block.size >= padded(size)
            for other, _ in held:
                assert block.address + block.size <= other.address or other.address + other.size <= block.address
            for start, end, points in waiting:
                if block.address < end and start < block.address + block.size:
                    assert all(point.stream is stream or point.passed() for point in points)
            held.append((block, stream))
        elif what == 2 and held:
            block, owner = held.pop(size % len(held))
            waiting.append((block.address, block.address + block.size, [point_of(owner)]))
            pool.give(block)
        elif what == 3:
            stream.ring.submitted += size % 7
        elif what == 4:
            stream.ring.reclaimed = stream.ring.submitted
        elif what == 5:
            pool.trim(size)
        assert sum(source.held.values()) == pool.memory_reserved() <= limit_mib * MiB
        assert pool.memory_allocated() == sum(block.size for block, _ in held)
    for block, _ in held:
        pool.give(block)
    for stream in streams:
        stream.ring.reclaimed = stream.ring.submitted
    pool.empty_cache()
    assert source.held == {}
    assert pool.memory_snapshot() == []


# -- on a device ---------------------------------------------------------------------------------------------------


def test_pooled_buffers_are_buffers(device: Device, stream: Stream) -> None:
    with device.pool.alloc(1000, stream) as buffer:
        assert buffer.size == 1000
        device.fill(buffer, 7)
        stream.copy(buffer, bytes(500), 500)
        assert device.download(buffer).tobytes() == bytes(500) + b"\7" * 500
    with pytest.raises(errors.InvalidArgument, match="was freed"):
        device.download(buffer)


def test_dropped_pooled_buffers_come_back(device: Device, stream: Stream) -> None:
    address = device.pool.alloc(4096, stream).address
    gc.collect()
    assert device.pool.alloc(4096, stream).address == address


def test_allocation_on_a_full_device_takes_from_the_pool_first(open_machine: OpenMachine) -> None:
    device = open_machine("fake://ascend910b1?hbm=512m").device()
    device.pool.alloc(200 * MiB).close()
    assert device.pool.memory_reserved() >= 200 * MiB
    device.alloc(200 * MiB)
    assert device.pool.memory_reserved() == 0


def test_out_of_memory_names_the_places_that_hold_most(
    open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUHAL_TRACE_CREATION", "1")
    device = open_machine("fake://ascend910b1?hbm=512m").device()
    keep = [device.alloc(100 * MiB) for _ in range(2)]
    for ask in (lambda: device.alloc(300 * MiB), lambda: device.pool.alloc(300 * MiB)):
        with pytest.raises(errors.OutOfMemory, match=r"test_pool\.py:\d+ \(209715264 in 2\)"):
            ask()
    assert len(keep) == 2


def test_nothing_stays_behind(open_machine: OpenMachine) -> None:
    machine = open_machine("fake://ascend950pr_9599?seed=3")
    device = machine.device()
    device.pool.alloc(MiB)
    device.pool.alloc(30 * MiB).close()
    fake = machine.hal.fake  # type: ignore[attr-defined]
    device.close()
    assert fake.memory.blocks == ()
