"""Pools for kernel code: first fit, read-only apart from writable, blocks never merged, five idle pools kept."""

from __future__ import annotations

import pytest

from runtime.memory.kernel_pool import POOL_BYTES, KernelPool
from tests.unit.runtime.memory.bench import FakeMemory

PAGE = 4096


@pytest.fixture
def memory() -> FakeMemory:
    return FakeMemory()


@pytest.fixture
def pool(memory: FakeMemory) -> KernelPool:
    return KernelPool(memory)  # type: ignore[arg-type]


def need(address: int | None) -> int:
    assert address is not None
    return address


def test_it_starts_with_one_read_only_pool(memory: FakeMemory, pool: KernelPool) -> None:
    assert len(memory.blocks) == 1
    need(pool.alloc(100, read_only=True))
    assert len(memory.blocks) == 1
    need(pool.alloc(100, read_only=False))
    assert len(memory.blocks) == 2


def test_blocks_are_whole_pages_behind_each_other(pool: KernelPool) -> None:
    first = need(pool.alloc(1, read_only=True))
    assert first % PAGE == 0
    assert pool.alloc(PAGE + 1, read_only=True) == first + PAGE
    assert pool.alloc(1, read_only=True) == first + 3 * PAGE


@pytest.mark.parametrize("size", [0, POOL_BYTES + 1, 10 * POOL_BYTES])
def test_sizes_that_no_pool_holds(memory: FakeMemory, pool: KernelPool, size: int) -> None:
    assert pool.alloc(size, read_only=True) is None
    assert len(memory.blocks) == 1


def test_a_whole_pool_is_one_block(memory: FakeMemory, pool: KernelPool) -> None:
    first = need(pool.alloc(POOL_BYTES, read_only=True))
    second = need(pool.alloc(POOL_BYTES, read_only=True))
    assert first != second
    pool.free(first, POOL_BYTES)
    assert pool.alloc(POOL_BYTES, read_only=True) == first


def test_the_first_hole_that_fits_is_taken(pool: KernelPool) -> None:
    holes = [need(pool.alloc(size, read_only=True)) for size in (PAGE, 3 * PAGE, 2 * PAGE)]
    need(pool.alloc(POOL_BYTES - 6 * PAGE, read_only=True))
    for address, size in zip(holes, (PAGE, 3 * PAGE, 2 * PAGE), strict=True):
        pool.free(address, size)
    assert pool.alloc(2 * PAGE, read_only=True) == holes[1]
    assert pool.alloc(PAGE, read_only=True) == holes[0]


def test_freed_neighbours_are_not_joined(memory: FakeMemory, pool: KernelPool) -> None:
    pair = [need(pool.alloc(PAGE, read_only=True)) for _ in range(2)]
    need(pool.alloc(POOL_BYTES - 2 * PAGE, read_only=True))
    for address in pair:
        pool.free(address, PAGE)
    assert pool.alloc(2 * PAGE, read_only=True) not in pair
    assert len(memory.blocks) == 2


def test_five_idle_pools_are_kept(memory: FakeMemory, pool: KernelPool) -> None:
    blocks = [need(pool.alloc(POOL_BYTES, read_only=True)) for _ in range(8)]
    assert len(memory.blocks) == 8
    for address in blocks:
        pool.free(address, POOL_BYTES)
    assert len(memory.blocks) == 5


def test_close_frees_all_pools(memory: FakeMemory, pool: KernelPool) -> None:
    need(pool.alloc(PAGE, read_only=False))
    pool.close()
    assert memory.blocks == {}


def test_a_pool_that_cannot_be_had_leaves_the_others_as_they_were(memory: FakeMemory, pool: KernelPool) -> None:
    memory.allowed = 0
    with pytest.raises(MemoryError):
        pool.alloc(PAGE, read_only=False)
    assert pool.alloc(PAGE, read_only=True) is not None
