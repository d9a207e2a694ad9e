"""Allocation rules: sizes, flag words and the words that explain them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chips
from chips.memory_rules import BadAllocation, allocation, explain_allocation, rounded_size, rules
from tests.tools.corpus import corpus

NORMAL, HUGE, DDR = 0x2100000000904400, 0x2100000000924400, 0x2100000000900400
P2P, P2P_HUGE = 0x2100000002900400, 0x2100000002920400
GIANT, GIANT_P2P = 0x2100000080004400, 0x2100000082004400
MIB = 1 << 20


def seen(soc: str, call: str, size: int, policy: int = 0) -> tuple[int, int]:
    result = allocation(size, policy, chips.find_chip(soc), call)
    return result.size_bytes, result.flags


@pytest.mark.parametrize(
    ("soc", "pairs"),
    [
        ("Ascend910B1", [(1, 64), (31, 64), (32, 64), (33, 96), (64, 96), (100, 160), (4096, 4128)]),
        ("Ascend910_9391", [(1, 64), (100, 160), (4096, 4128)]),
        ("Ascend310P3", [(1, 64), (33, 96)]),
        ("Ascend035", [(16, 32), (17, 64), (32, 64), (33, 64), (49, 96), (64, 96), (65, 96)]),
        ("Ascend950PR_9599", [(1, 32), (31, 32), (32, 32), (33, 64), (100, 128), (4096, 4096)]),
        ("Ascend350_354f", [(1, 32), (33, 64)]),
    ],
)
def test_padded_sizes(soc: str, pairs: list[tuple[int, int]]) -> None:
    for size, expected in pairs:
        assert seen(soc, "malloc", size)[0] == expected
        assert seen(soc, "malloc_cached", size)[0] == expected
        assert seen(soc, "malloc_align32", size)[0] == -(-size // 32) * 32


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend910_9391", "Ascend950PR_9599"])
@pytest.mark.parametrize(
    ("policy", "small", "large"),
    [
        (0, NORMAL, HUGE), (1, HUGE, HUGE), (2, NORMAL, NORMAL), (3, P2P, P2P), (4, P2P, P2P), (5, P2P, P2P),
        (6, GIANT, GIANT), (7, GIANT_P2P, GIANT_P2P), (8, NORMAL, HUGE), (0x100, NORMAL, HUGE),
        (0x1000, NORMAL, HUGE), (0x101, NORMAL, HUGE), (0x1001, NORMAL, HUGE), (0x1002, NORMAL, HUGE),
        (0x1100, NORMAL, HUGE), (0x100000, NORMAL, HUGE), (0x101000, NORMAL, HUGE), (0x200000, NORMAL, HUGE),
        (0xFFFF, NORMAL, HUGE), (-1, NORMAL, HUGE),
    ],
)  # fmt: skip
def test_policies_of_malloc(soc: str, policy: int, small: int, large: int) -> None:
    assert seen(soc, "malloc", 4096, policy)[1] == small
    assert seen(soc, "malloc", 3 * MIB, policy)[1] == large
    assert seen(soc, "malloc_align32", 64, policy)[1] == small


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend910_9391", "Ascend950PR_9599"])
@pytest.mark.parametrize(
    ("policy", "small", "large"),
    [
        (0, NORMAL, HUGE), (1, HUGE, HUGE), (2, NORMAL, NORMAL), (3, P2P, P2P_HUGE), (4, P2P_HUGE, P2P_HUGE),
        (5, P2P, P2P), (6, GIANT, GIANT), (7, GIANT_P2P, GIANT_P2P), (8, NORMAL, HUGE), (0x100, DDR, DDR | 0x20000),
        (0x1000, NORMAL, HUGE), (0x101, DDR | 0x20000, DDR | 0x20000), (0x1001, HUGE, HUGE), (0x1002, NORMAL, NORMAL),
        (0x1100, NORMAL, HUGE), (0x100000, NORMAL, NORMAL), (0x101000, NORMAL, NORMAL), (0x200000, NORMAL, HUGE),
        (0xFFFF, NORMAL, HUGE), (-1, NORMAL, HUGE),
    ],
)  # fmt: skip
def test_policies_of_malloc_with_cfg(soc: str, policy: int, small: int, large: int) -> None:
    assert seen(soc, "malloc_with_cfg", 4096, policy) == (4096, small)
    assert seen(soc, "malloc_with_cfg", 3 * MIB, policy) == (3 * MIB, large)
    assert seen(soc, "malloc_for_task_scheduler", 4096, policy) == (4096, small)


@pytest.mark.parametrize(
    ("soc", "call", "size", "page"),
    [
        ("Ascend910B1", "malloc", MIB - 32, "normal"),
        ("Ascend910B1", "malloc", MIB - 31, "huge"),
        ("Ascend910B1", "malloc", MIB, "huge"),
        ("Ascend910B1", "malloc_align32", MIB, "normal"),
        ("Ascend950PR_9599", "malloc", MIB, "normal"),
        ("Ascend950PR_9599", "malloc", MIB + 1, "huge"),
    ],
)
def test_the_huge_page_threshold_is_on_the_padded_size(soc: str, call: str, size: int, page: str) -> None:
    result = allocation(size, 0, chips.find_chip(soc), call)
    assert result.page == page
    assert len(result.attempts) == (2 if page == "huge" else 1)


def test_fall_back_and_no_fall_back() -> None:
    chip = chips.find_chip("Ascend910B1")
    assert allocation(70 << 30, 0, chip).attempts == (HUGE, NORMAL)
    assert allocation(70 << 30, 1, chip).attempts == (HUGE,)
    assert allocation(70 << 30, 2, chip).attempts == (NORMAL,)
    assert allocation(70 << 30, 6, chip).attempts == (GIANT,)


@pytest.mark.parametrize(
    ("call", "size", "expected", "flags"),
    [
        ("malloc_host", 1, 32, 0x2100000000900800),
        ("malloc_host", 2 * MIB + 1, 2 * MIB + 32, 0x2100000000900800),
        ("malloc_host_with_cfg", 64, 64, 0x700000000900800),
        ("malloc_host_uva", 64, 64, 0x700000000901800),
    ],
)
def test_host_memory(call: str, size: int, expected: int, flags: int) -> None:
    for soc in ("Ascend910B1", "Ascend950PR_9599"):
        assert seen(soc, call, size) == (expected, flags)


def test_device_and_module() -> None:
    chip = chips.find_chip("Ascend910B1")
    assert allocation(64, 0, chip, device=5).flags == NORMAL | 5
    assert allocation(64, 0, chip, "malloc_host_with_cfg", module=5).flags == 0x500000000900800
    assert allocation(64, 0, chip, module=3).flags >> 56 == 3
    assert allocation(64, 0, chip, module=60000).flags >> 56 == 33


def test_p2p_memory_goes_to_hbm_only_where_a_chip_has_both_kinds() -> None:
    assert allocation(64, 3, chips.find_chip("Ascend910A")).flags == P2P | 0x4000
    assert allocation(64, 3, chips.find_chip("Ascend910B1")).flags == P2P
    assert allocation(64, 0x1003, chips.find_chip("Ascend910B1"), "malloc_with_cfg").flags == P2P | 0x4000


@pytest.mark.parametrize(
    ("soc", "size", "policy", "call", "reason"),
    [
        ("Ascend910B1", 0, 0, "malloc", "size 0 must be at least 1 byte"),
        ("Ascend910B1", -5, 0, "malloc", "size -5 must be at least 1 byte"),
        ("Ascend910B1", (1 << 64) - 64, 0, "malloc", "plus 64 bytes of rounding does not fit 64 bits"),
        ("Ascend950PR_9599", (1 << 64) - 32, 0, "malloc", "plus 32 bytes of rounding does not fit 64 bits"),
        ("Ascend310B1", 64, 6, "malloc", "Ascend310B1 has no 1 GiB pages"),
        ("Ascend610", 64, 3, "malloc", "Ascend610 has no P2P memory"),
        ("Ascend910B1", 64, 0, "calloc", "call 'calloc' is not one of malloc, malloc_cached"),
        ("Ascend910B1", 64, 0, "malloc_host_wat", "is not one of"),
    ],
)
def test_requests_that_cannot_be_made(soc: str, size: int, policy: int, call: str, reason: str) -> None:
    with pytest.raises(BadAllocation, match=reason):
        allocation(size, policy, chips.find_chip(soc), call)


def test_the_largest_size_still_passes() -> None:
    assert seen("Ascend950PR_9599", "malloc", (1 << 64) - 64)[0] == (1 << 64) - 64


@given(st.integers(1, 1 << 50), st.sampled_from([0, 16, 32]))
def test_sizes_by_definition(size: int, padding: int) -> None:
    result = rounded_size(size, padding)
    assert result % 32 == 0
    assert size + padding <= result < size + padding + 32


@given(st.integers(1, 1 << 40), st.integers(-1, 0x1FFFFF), st.sampled_from(sorted(rules().calls)))
def test_every_policy_word_gives_something_sensible(size: int, policy: int, call: str) -> None:
    result = allocation(size, policy, chips.find_chip("Ascend910B1"), call)
    assert result.size_bytes >= size
    assert result.attempts
    assert (result.page == "giant") == bool(result.flags >> 31 & 1)
    assert (result.page == "huge") == bool(result.flags >> 17 & 1)
    assert result.p2p == bool(result.flags >> 25 & 1)


@pytest.mark.parametrize(
    ("soc", "size", "policy", "call", "text"),
    [
        ("Ascend910B1", 100, 0, "malloc",
         "malloc(100) on Ascend910B1 takes 160 bytes. 100 is rounded up to 128, the next multiple of 32. The SoC's "
         "padding_size of 32 takes 32 bytes more. HUGE_FIRST: normal pages, because 160 is not above 1048576."),
        ("Ascend950PR_9599", 64, 0, "malloc",
         "malloc(64) on Ascend950PR_9599 takes 64 bytes. 64 is already a multiple of 32. The SoC's padding_size is 0, "
         "so nothing is added. HUGE_FIRST: normal pages, because 64 is not above 1048576."),
        ("Ascend035", 49, 0, "malloc",
         "malloc(49) on Ascend035 takes 96 bytes. 49 is rounded up to 64, the next multiple of 32. The SoC's "
         "padding_size of 16 takes 32 bytes more. HUGE_FIRST: normal pages, because 96 is not above 1048576."),
        ("Ascend035", 33, 2, "malloc",
         "malloc(33) on Ascend035 takes 64 bytes. 33 is rounded up to 64, the next multiple of 32. The SoC's "
         "padding_size of 16 still fits below 64. NORMAL_ONLY: normal pages."),
        ("Ascend910B1", 3 * MIB, 99, "malloc",
         "malloc(3145728) on Ascend910B1 takes 3145760 bytes. 3145728 is already a multiple of 32. The SoC's "
         "padding_size of 32 takes 32 bytes more. Policy 0x63 is not in the enumeration and counts as HUGE_FIRST. "
         "HUGE_FIRST: 2 MiB pages; normal pages if there are none."),
        ("Ascend910B1", 3 * MIB, 4, "malloc_align32",
         "malloc_align32(3145728) on Ascend910B1 takes 3145728 bytes. 3145728 is already a multiple of 32. "
         "malloc_align32 adds no padding. HUGE_ONLY_P2P: normal pages, because this call never asks for huge P2P "
         "pages."),
        ("Ascend910B1", 1, 6, "malloc",
         "malloc(1) on Ascend910B1 takes 32 bytes. 1 is rounded up to 32, the next multiple of 32. 1 GiB pages are "
         "never padded. HUGE1G_ONLY: 1 GiB pages, nothing else is tried."),
        ("Ascend910B1", 33, 0, "malloc_host",
         "malloc_host(33) on Ascend910B1 takes 64 bytes. 33 is rounded up to 64, the next multiple of 32. Host memory "
         "is never padded, and the policy does not matter."),
    ],
)  # fmt: skip
def test_explanations(soc: str, size: int, policy: int, call: str, text: str) -> None:
    assert explain_allocation(size, policy, chips.find_chip(soc), call) == text


CALLS = {
    "aclrtMalloc": "malloc", "aclrtMallocAlign32": "malloc_align32", "aclrtMallocCached": "malloc_cached",
    "aclrtMallocWithCfg": "malloc_with_cfg", "aclrtMallocForTaskScheduler": "malloc_for_task_scheduler",
    "aclrtMallocHost": "malloc_host",
}  # fmt: skip


@pytest.mark.parametrize(
    ("folder", "soc"),
    [("910B1", "Ascend910B1"), ("910_9391", "Ascend910_9391"), ("950", "Ascend950PR_9599")],
)
def test_every_recorded_allocation(folder: str, soc: str) -> None:
    chip = chips.find_chip(soc)
    compared = 0
    for line in corpus(f"behaviour/{folder}/memory.jsonl").read_text().splitlines():
        for step in json.loads(line)["steps"]:
            call = CALLS.get(step.get("call", ""))
            arguments: dict[str, Any] = step.get("args", {})
            made = [entry for entry in step.get("hal_calls") or [] if entry[0] == "halMemAlloc"]
            if call is None or arguments.get("cfg"):
                continue
            if made:
                result = allocation(arguments["size"], arguments.get("policy", 0), chip, call)
                tried = [(result.size_bytes, flags) for flags in result.attempts]
                repeats = 2 if step["ret"] == 207001 else 1  # out of memory: everything is tried once more
                wanted = [(size, int(flags, 16)) for _, size, flags, _ in made]
                assert (tried * repeats)[: len(wanted)] == wanted, (step, result)
                assert step["ret"] == 0 or len(wanted) == len(tried) * repeats
                compared += 1
            elif step.get("ret") == 100000 and arguments.get("devPtr") and arguments.get("hostPtr", 1):
                with pytest.raises(BadAllocation):
                    allocation(arguments["size"], arguments.get("policy", 0), chip, call)
                compared += 1
    assert compared > 120
