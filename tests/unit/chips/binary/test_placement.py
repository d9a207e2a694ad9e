"""Room on the device, alignment, and instruction prefetch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips import Chip, find_chip
from chips.binary import KernelAttribute, MixType
from chips.binary.kernels import Kernel, KernelSymbol
from chips.binary.meta import no_meta
from chips.binary.placement import CODE_ALIGNMENT, aligned_base, device_size, plan_placement, prefetch_counts

A2, DAVID, OLD, CLOUD5 = (find_chip(soc) for soc in ("Ascend910B1", "Ascend950PR_9599", "Ascend310P3", "arch9201"))


@pytest.mark.parametrize(
    ("chip", "load_size", "size", "from_pool"),
    [
        (A2, 4104, 8192, True),
        (A2, 4096, 4096, True),
        (DAVID, 1544, 4096, True),
        (DAVID, 4096 - 1280, 4096, True),
        (DAVID, 4096 - 1279, 8192, True),
        (OLD, 4104, 8200, False),
        (OLD, 1, 4097, False),
    ],
)
def test_room(chip: Chip, load_size: int, size: int, from_pool: bool) -> None:
    assert plan_placement(load_size, chip, read_only=True) == (size, from_pool, True)


def test_a_full_pool_leaves_the_driver() -> None:
    assert plan_placement(1544, DAVID, read_only=False, pool=False) == (1544 + 1280 + 4096, False, False)


@given(address=st.integers(0, 2**48), load_size=st.integers(1, 2**24), pool=st.booleans())
@pytest.mark.parametrize("chip", [A2, DAVID, OLD], ids=lambda chip: chip.soc)
def test_the_image_always_fits_behind_its_aligned_base(chip: Chip, address: int, load_size: int, pool: bool) -> None:
    request = plan_placement(load_size, chip, read_only=True, pool=pool)
    address = aligned_base(address) if pool else address
    base = aligned_base(address)
    assert base % CODE_ALIGNMENT == 0
    assert address <= base
    assert base + device_size(load_size, chip) <= address + request.size


def kernel(attribute: KernelAttribute, mix: MixType, length1: int, length2: int | None = None) -> Kernel:
    meta = no_meta(A2)
    second = None if length2 is None else KernelSymbol("v", 0, length2, meta)
    return Kernel("k", 0, attribute, mix, KernelSymbol("k", 0, length1, meta), second, meta, 1, False, True)


@pytest.mark.parametrize(
    ("chip", "made", "counts"),
    [
        (DAVID, kernel(KernelAttribute.CUBE, MixType.NONE, 4095), (1, 0)),
        (DAVID, kernel(KernelAttribute.CUBE, MixType.NONE, 2047), (0, 0)),
        (DAVID, kernel(KernelAttribute.CUBE, MixType.AIC, 10**6), (16, 0)),
        (DAVID, kernel(KernelAttribute.VECTOR, MixType.AIV, 10**6), (8, 0)),
        (DAVID, kernel(KernelAttribute.MIX, MixType.MAIN_AIC, 10**6, 10**6), (16, 8)),
        (DAVID, kernel(KernelAttribute.AICPU, MixType.NONE, 10**6), (0, 0)),
        (CLOUD5, kernel(KernelAttribute.CUBE, MixType.NONE, 10**6), (64, 0)),
        (CLOUD5, kernel(KernelAttribute.VECTOR, MixType.NONE, 1024), (2, 0)),
    ],
)
def test_prefetch(chip: Chip, made: Kernel, counts: tuple[int, int]) -> None:
    assert prefetch_counts(made, chip) == counts
