"""Allocation rules: what size and which flags a request becomes on a chip before it reaches halMemAlloc, and why.

The rules are data (memory.yaml); the padding is a fact of the SoC. Sources: 13.1-13.3 of the runtime's behaviour for
sizes and page kinds, ascend_hal_base.h for the bits of the flag word (device 0-9, kind 10-13, HBM 14, huge page 17,
log2 alignment 20-24, P2P 25, giant page 31, module 56-63).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from chips.chip import Chip
from chips.schema import read_yaml
from chips.yaml_file import beside
from npuhal import constants
from npuhal.records import dataclass
from npuhal.words import shown

_SIZE_LIMIT = 1 << 64


class BadAllocation(ValueError):
    """A request that can never reach the driver: size 0, a size that overflows, a page kind the chip does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One page policy of aclrtMemMallocPolicy."""

    value: int
    name: str
    pages: str
    """huge_first, huge, normal or giant."""
    p2p: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRule:
    """How one allocating call treats size and policy."""

    pad: bool
    """Whether the SoC's padding is added."""
    combine: bool = False
    """Whether the call reads type bits and read-only beside the page policy, and gives P2P forms their huge pages."""
    host: str = ""
    """Kind of host memory (a MEM_ constant); empty for device memory."""
    module: str
    """Module charged for the block (a MODULE_ID constant)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRules:
    """The rules common to all chips."""

    align: int
    huge_above: int
    align_exponent: int
    policy_mask: int
    type_mask: int
    types: Mapping[int, str]
    readonly: int
    policies: Mapping[int, Policy]
    calls: Mapping[str, CallRule]

    def call(self, name: str) -> CallRule:
        """Return the rule of a call; BadAllocation lists the known names."""
        try:
            return self.calls[name]
        except KeyError:
            raise BadAllocation(f"call {name!r} is not one of {', '.join(self.calls)}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """What reaches the driver for one request."""

    size_bytes: int
    """Size handed to halMemAlloc; the driver itself rounds it up to the page."""
    attempts: tuple[int, ...]
    """Flag words in the order they are tried: huge-first falls back to normal pages."""
    page: str
    """Page kind of the first attempt: normal, huge (2 MiB) or giant (1 GiB)."""
    padding_bytes: int
    """Padding the SoC asks for in this call."""
    p2p: bool
    policy: str
    """Name of the page policy that was applied."""

    @property
    def flags(self) -> int:
        """The flag word of the first attempt."""
        return self.attempts[0]


@cache
def rules() -> MemoryRules:
    """Return the rules of memory.yaml."""
    raw = read_yaml(beside(__file__, "memory.yaml"))
    fields: dict[str, Any] = {name: value for name, value in raw.items() if name not in ("spec", "policies", "calls")}
    policies = {value: Policy(value=value, **entry) for value, entry in raw["policies"].items()}
    calls = {name: CallRule(**entry) for name, entry in raw["calls"].items()}
    return MemoryRules(**fields, policies=policies, calls=calls)


def rounded_size(size: int, padding: int) -> int:
    """Return the size after padding and rounding; `padding` is added before the round-up to a multiple of 32.

    BadAllocation for a size below 1 and for one that leaves 64 bits on the way.
    """
    if size < 1:
        raise BadAllocation(f"size {shown(size)} must be at least 1 byte")
    align = rules().align
    if size + align + padding >= _SIZE_LIMIT:
        raise BadAllocation(f"size {shown(size)} plus {align + padding} bytes of rounding does not fit 64 bits")
    return (size + align + padding - 1) // align * align


def allocation(
    size: int, policy: int, chip: Chip, call: str = "malloc", *, device: int = 0, module: int | None = None
) -> Allocation:
    """Return what halMemAlloc sees when `call` asks for `size` bytes under a policy on a chip.

    `call` is malloc, malloc_cached, malloc_align32, malloc_with_cfg, malloc_for_task_scheduler, malloc_host,
    malloc_host_with_cfg or malloc_host_uva; host calls ignore the policy. A policy outside the enumeration is
    huge-first, as the runtime treats it. `module` replaces the call's module id; one that does not exist becomes the
    application's. Raises BadAllocation for a size of 0, an overflow, or pages the chip does not have.
    """
    table = rules()
    rule = table.call(call)
    charged = _module(rule, module)
    if rule.host:
        flags = getattr(constants, rule.host) | _address_alignment(table) | charged
        return Allocation(
            size_bytes=rounded_size(size, 0),
            attempts=(flags,),
            page="normal",
            padding_bytes=0,
            p2p=False,
            policy="HOST",
        )
    applied, memory, readonly = _read_policy(table, rule, policy)
    padding = chip.padding_size if rule.pad and applied.pages != "giant" else 0
    padded = rounded_size(size, padding)
    base = constants.MEM_DEV | device | charged
    pages: tuple[str, ...] = ("giant",)
    attempts: tuple[int, ...]
    if applied.pages == "giant" and not readonly:
        if not chip.has("MEM_1G_HUGE_PAGE"):
            raise BadAllocation(f"{chip.soc} has no 1 GiB pages (policy {applied.name}); use HUGE_ONLY")
        attempts = (base | constants.MEM_TYPE_HBM | constants.MEM_PAGE_GIANT | _p2p(applied.p2p),)
    else:
        p2p = applied.p2p and not readonly
        if p2p and not chip.has("DEVICE_P2P"):
            raise BadAllocation(f"{chip.soc} has no P2P memory (policy {applied.name}); use a policy without P2P")
        pages = _pages(table, rule, applied, padded, readonly)
        # only chips with both kinds of memory put P2P blocks into HBM unless they are told to
        in_hbm = memory == "hbm" or (memory == "" and (not p2p or chip.has("MEM_MIX_HBM_AND_DDR")))
        base |= _address_alignment(table) | _p2p(p2p) | (constants.MEM_TYPE_HBM if in_hbm else 0)
        attempts = tuple(base | (constants.MEM_PAGE_HUGE if page == "huge" else 0) for page in pages)
    return Allocation(
        size_bytes=padded,
        attempts=attempts,
        page=pages[0],
        padding_bytes=padding,
        p2p=bool(attempts[0] & constants.MEM_ADVISE_P2P),
        policy=applied.name,
    )


def explain_allocation(size: int, policy: int, chip: Chip, call: str = "malloc") -> str:
    """Say in words what a request of `size` bytes becomes on a chip, and why: a few short sentences."""
    table = rules()
    result = allocation(size, policy, chip, call)
    rule = table.call(call)
    said = [f"{call}({size}) on {chip.soc} takes {result.size_bytes} bytes."]
    rounded = rounded_size(size, 0)
    if rounded != size:
        said.append(f"{size} is rounded up to {rounded}, the next multiple of {table.align}.")
    else:
        said.append(f"{size} is already a multiple of {table.align}.")
    if rule.host:
        said.append("Host memory is never padded, and the policy does not matter.")
        return " ".join(said)
    added = result.size_bytes - rounded
    if result.padding_bytes and added:
        said.append(f"The SoC's padding_size of {result.padding_bytes} takes {added} bytes more.")
    elif result.padding_bytes:
        said.append(f"The SoC's padding_size of {result.padding_bytes} still fits below {rounded}.")
    elif rule.pad and result.page == "giant":
        said.append("1 GiB pages are never padded.")
    elif rule.pad:
        said.append("The SoC's padding_size is 0, so nothing is added.")
    else:
        said.append(f"{call} adds no padding.")
    if policy not in table.policies and not rule.combine:
        said.append(f"Policy {policy:#x} is not in the enumeration and counts as {result.policy}.")
    said.append(f"{result.policy}: {_page_reason(table, rule, result)}")
    return " ".join(said)


def _page_reason(table: MemoryRules, rule: CallRule, result: Allocation) -> str:
    if result.page == "giant":
        return "1 GiB pages, nothing else is tried."
    if result.page == "huge":
        also = "; normal pages if there are none." if len(result.attempts) > 1 else ", nothing else is tried."
        return f"2 MiB pages{also}"
    if "HUGE" in result.policy and result.p2p and not rule.combine:
        return "normal pages, because this call never asks for huge P2P pages."
    if "HUGE_FIRST" in result.policy and result.size_bytes <= table.huge_above:
        return f"normal pages, because {result.size_bytes} is not above {table.huge_above}."
    return "normal pages."


def _read_policy(table: MemoryRules, rule: CallRule, policy: int) -> tuple[Policy, str, bool]:
    """Split a policy word into page policy, memory type ("" = the chip's) and read-only."""
    first = table.policies[0]
    if not rule.combine:
        return table.policies.get(policy, first), "", False
    applied = table.policies.get(policy & table.policy_mask)
    if applied is None:
        return first, "", False
    return applied, table.types.get(policy & table.type_mask, ""), bool(policy & table.readonly)


def _pages(table: MemoryRules, rule: CallRule, applied: Policy, size: int, readonly: bool) -> tuple[str, ...]:
    """Return the page kinds that are tried; a read-only request and a P2P one of the older calls get normal pages."""
    if readonly or applied.pages == "normal" or (applied.p2p and not rule.combine):
        return ("normal",)
    if applied.pages == "huge":
        return ("huge",)
    return ("huge", "normal") if size > table.huge_above else ("normal",)


def _address_alignment(table: MemoryRules) -> int:
    return table.align_exponent << constants.MEM_ALIGN_BIT


def _p2p(wanted: bool) -> int:
    return constants.MEM_ADVISE_P2P if wanted else 0


def _module(rule: CallRule, module: int | None) -> int:
    if module is None:
        module = getattr(constants, rule.module)
    elif not 0 <= module < constants.MAX_MODULE_ID:
        module = constants.APP_MODULE_ID
    return module << constants.MEM_MODULE_ID_BIT


def internal_flags(
    *, host: bool = False, hbm: bool = False, huge: bool = False, device_read_only: bool = False, p2p: bool = False
) -> int:
    """Return the flag word of a block that the runtime allocates for itself (device id 0; the caller adds its own)."""
    table = rules()
    kind = constants.MEM_HOST if host else constants.MEM_DEV
    return int(
        kind
        | _address_alignment(table)
        | (constants.MEM_TYPE_HBM if hbm else 0)
        | (constants.MEM_PAGE_HUGE if huge else 0)
        | (constants.MEM_HOST_RW_DEV_RO if device_read_only else 0)
        | _p2p(p2p)
        | constants.RUNTIME_MODULE_ID << constants.MEM_MODULE_ID_BIT
    )
