"""Argument pools: sizes, the ways to the device, pools of single streams, what a failure leaves, and the end."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import pytest

from chips import find_chip
from runtime.memory import arguments
from runtime.memory.arguments import ArgumentPools
from tests.unit.runtime.machines import V100, V200
from tests.unit.runtime.memory.bench import FakeMemory

WAYS: dict[str, tuple[str, dict[str, bool]]] = {
    "dma": (V100, {}), "bar": (V100, {"bar": True}), "copy": (V200, {}), "ub": (V200, {"ub": True}),
}  # fmt: skip
LARGE = ((6208, 1024), (15360, 128), (47168, 64))
BAR = ("bar", arguments._BAR_BYTES, 1024)
POOLS = {
    "dma": [("dma", *each) for each in LARGE], "copy": [("copy", *each) for each in LARGE],
    "bar": [BAR, *(("dma", *each) for each in LARGE)], "ub": [("ub", 4096, 1024), ("ub", 16384, 128)],
}  # fmt: skip


@pytest.fixture
def memory() -> FakeMemory:
    return FakeMemory()


def make(memory: FakeMemory, way: str) -> ArgumentPools:
    soc, link = WAYS[way]
    return ArgumentPools(memory, memory, find_chip(soc), **link)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", WAYS)
def test_sizes_and_their_ends(memory: FakeMemory, way: str) -> None:
    pools = make(memory, way)
    assert pools.way == way
    assert [(pool.way, pool.size, pool.count) for pool in pools.pools] == POOLS[way]
    chains = sum(kind == "dma" for kind, _, _ in POOLS[way]) * arguments._GROUP
    assert len(memory.descriptors) == chains + {"bar": 1, "ub": 4}.get(way, 0)
    pools.close()
    assert (memory.blocks, memory.descriptors, pools.pools) == ({}, set(), [])


@pytest.mark.parametrize(
    ("size", "pool"), [(1, 6208), (6208, 6208), (6209, 15360), (15361, 47168), (47168, 47168), (47169, None)]
)
def test_the_smallest_pool_that_holds_the_size(memory: FakeMemory, size: int, pool: int | None) -> None:
    found = make(memory, "copy").pool_for(size)
    assert (found.size if found is not None else None) == pool


@pytest.mark.parametrize("way", WAYS)
def test_only_behind_pools_of_the_window_come_others(memory: FakeMemory, way: str) -> None:
    pools = make(memory, way)
    first, rest = pools.pools[0], pools.pools[1:]
    assert pools.behind(first, 64) is (rest[0] if way == "bar" else None)
    assert pools.behind(rest[0], 64) is None
    if way == "bar":
        own = object()
        assert pools.give_own(own, 8)
        assert pools.behind(pools.pool_for(64, own), 64) is first
        assert pools.behind(first, 10_000) is rest[1]
        pools.take_own(own)


@pytest.mark.parametrize("way", WAYS)
def test_blocks_do_not_overlap_and_start_on_64_bytes(memory: FakeMemory, way: str) -> None:
    pool = make(memory, way).pools[0]
    blocks = [pool.take() for _ in range(3)]
    for number, block in enumerate(blocks):
        assert block is not None
        assert block.address % 64 == 0
        block.view[block.offset : block.offset + block.size] = bytes([number]) * block.size
    for number, block in enumerate(blocks):
        assert block is not None
        assert bytes(block.view[block.offset : block.offset + block.size]) == bytes([number]) * block.size


def test_over_the_bar_a_store_reaches_the_device(memory: FakeMemory) -> None:
    block = make(memory, "bar").pools[0].take()
    assert block is not None
    block.view[block.offset : block.offset + 64] = b"x" * 64
    assert ctypes.string_at(block.address, 64) == b"x" * 64


def test_both_ends_of_a_copy_are_known(memory: FakeMemory) -> None:
    block = make(memory, "copy").pools[0].take()
    assert block is not None
    block.view[block.offset : block.offset + 3] = b"abc"
    assert block.target.value == block.address
    assert ctypes.string_at(block.source.value, 3) == b"abc"


@pytest.mark.parametrize("way", WAYS)
def test_blocks_are_made_when_those_before_are_in_use(memory: FakeMemory, way: str) -> None:
    pool = make(memory, way).pools[0]
    assert len(pool.free) == arguments._GROUP
    blocks = [pool.take() for _ in range(pool.count)]
    assert [block.address for block in blocks if block is not None] == [
        pool._base + number * pool.size for number in range(pool.count)
    ]
    assert pool.take() is None
    assert way != "dma" or len({id(block.descriptor) for block in blocks if block is not None}) == pool.count


def test_what_could_be_made_of_a_group_is_used(memory: FakeMemory) -> None:
    pool = make(memory, "dma").pools[0]
    for _ in range(arguments._GROUP):
        pool.take()
    memory.allowed = 5
    with pytest.raises(MemoryError):
        pool.take()
    assert len(pool.free) == 5
    memory.allowed = -1
    assert len({pool.take() for _ in range(pool.count - arguments._GROUP)} - {None}) == pool.count - arguments._GROUP
    assert pool.take() is None


def test_threads_share_the_blocks_of_a_pool(memory: FakeMemory) -> None:
    pool = make(memory, "dma").pools[1]
    with ThreadPoolExecutor(8) as threads:
        blocks = list(threads.map(lambda _: pool.take(), range(pool.count + 8)))
    assert len({block for block in blocks if block is not None}) == pool.count
    assert blocks.count(None) == 8


def test_an_empty_pool_says_so_and_a_block_comes_back(memory: FakeMemory) -> None:
    pools = make(memory, "copy")
    pool = pools.pools[2]
    blocks = [pool.take() for _ in range(64)]
    assert pool.take() is None
    assert len({block.address for block in blocks if block is not None}) == 64
    pools.release([block for block in blocks if block is not None])
    assert pool.unused == 64


def test_blocks_go_back_to_the_pool_that_each_is_from(memory: FakeMemory) -> None:
    pools = make(memory, "copy")
    pools.release([])
    few, many = pools.pools[2], pools.pools[1]
    taken = [block for pool in (few, many) for _ in range(pool.count) if (block := pool.take()) is not None]
    assert few.free == many.free == []  # equal, but not the same
    pools.release(taken)
    assert (few.unused, many.unused) == (few.count, many.count)


def test_a_block_of_its_own_is_freed_with_its_task(memory: FakeMemory) -> None:
    pools = make(memory, "copy")
    before = len(memory.blocks)
    block = pools.one_off(1 << 20)
    assert block.size == 1 << 20
    pools.release([block])
    assert len(memory.blocks) == before


def test_only_a_process_on_a_host_has_dma(memory: FakeMemory) -> None:
    pools = ArgumentPools(memory, memory, find_chip(V100), on_host=False)  # type: ignore[arg-type]
    assert {pool.way for pool in pools.pools} == {"copy"}


@pytest.mark.parametrize("way", WAYS)
def test_eight_streams_have_a_pool_of_their_own(memory: FakeMemory, way: str) -> None:
    pools = make(memory, way)
    given = [pools.give_own(stream, 16) for stream in range(9)]
    if way in ("dma", "copy"):
        assert not any(given)
        return
    assert given == [True] * 8 + [False]
    own = pools.pool_for(1024, 3)
    assert own is not None
    assert (own.way, own.size, len(own.free)) == (way, 1024, 16)
    assert pools.pool_for(1025, 3) in pools.pools
    assert pools.pool_for(8, 8) is pools.pool_for(8) is pools.pools[0]
    pools.take_own(3)
    assert pools.give_own(8, 16)
    pools.close()
    assert (memory.blocks, memory.descriptors) == ({}, set())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("allowed", [0, 1, 2, 3, 5, 30])
def test_pools_that_cannot_be_made_leave_nothing(memory: FakeMemory, way: str, allowed: int) -> None:
    if way in ("copy", "ub") and allowed > 2:
        allowed = {"copy": 2, "ub": 7}[way]
    memory.allowed = allowed
    with pytest.raises(MemoryError):
        make(memory, way)
    assert (memory.blocks, memory.descriptors) == ({}, set())
