"""How much of which memory a device has (core_spec 13.10; acl_rt.h, aclrtMemAttr)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from npuhal import constants as c
from runtime import errors
from runtime.driver.vmm import PhysicalKind

if TYPE_CHECKING:
    from runtime.driver.memory import MemoryDriver

_DDR, _HBM = c.MEM_INFO_TYPE_DDR_SIZE, c.MEM_INFO_TYPE_HBM_SIZE
_DDR_P2P, _HBM_P2P = c.MEM_INFO_TYPE_DDR_P2P_SIZE, c.MEM_INFO_TYPE_HBM_P2P_SIZE
_BOTH, _NORMAL, _HUGE, _GIANT = ("", "huge_"), ("",), ("huge_",), ("giant_",)

_KINDS = MappingProxyType({
    0: (_DDR, _BOTH), 1: (_HBM, _BOTH), 2: (_DDR, _HUGE), 3: (_DDR, _NORMAL), 4: (_HBM, _HUGE), 5: (_HBM, _NORMAL),
    6: (_DDR_P2P, _HUGE), 7: (_DDR_P2P, _NORMAL), 8: (_HBM_P2P, _HUGE), 9: (_HBM_P2P, _NORMAL), 10: (_HBM, _GIANT),
    11: (_HBM_P2P, _GIANT), 12: (_HBM, _NORMAL), 13: (_HBM, _HUGE), 14: (_HBM, _GIANT), 15: (_HBM_P2P, _NORMAL),
    16: (_HBM_P2P, _HUGE), 17: (_HBM_P2P, _GIANT),
})  # fmt: skip
"""Attribute -> the driver's kind of memory, and which page kinds are added up."""

_PAGES = {_BOTH: c.MEM_HUGE_PAGE_TYPE, _HUGE: c.MEM_HUGE_PAGE_TYPE, _NORMAL: c.MEM_NORMAL_PAGE_TYPE,
          _GIANT: c.MEM_GIANT_PAGE_TYPE}  # fmt: skip
_TYPES = {_DDR: c.MEM_DDR_TYPE, _HBM: c.MEM_HBM_TYPE, _DDR_P2P: c.MEM_P2P_DDR_TYPE, _HBM_P2P: c.MEM_P2P_HBM_TYPE}


def space(memory: MemoryDriver, attribute: int, call: str) -> tuple[int, int]:
    """Return (free, total) bytes of one kind of memory.

    Raises:
        InvalidArgument 107016: there is no such kind (EE1003).
    """
    if attribute not in _KINDS:
        raise errors.fault(
            "RT_ERROR_INVALID_MEMORY_TYPE", f"{call}: attr is {attribute}; 0 to {len(_KINDS) - 1} exist", ee="EE1003",
            params=(call, attribute, "attr", f"[0, {len(_KINDS) - 1}]"), hint="pass ACL_HBM_MEM (1)",
        )
    kind, pages = _KINDS[attribute]
    found = memory.pages(kind)
    return (
        sum(getattr(found, f"{page}free") for page in pages), sum(getattr(found, f"{page}total") for page in pages)
    )  # fmt: skip


def physical_kind(attribute: int, owner: int, call: str, module: int = c.RUNTIME_MODULE_ID) -> PhysicalKind:
    """Return what physical memory with an attribute is, on a device (the driver's number).

    Raises:
        InvalidArgument 107016: there is no such kind (EE1003).
    """
    if attribute not in _KINDS:
        raise errors.fault(
            "RT_ERROR_INVALID_MEMORY_TYPE", f"{call}: memAttr is {attribute}; 0 to {len(_KINDS) - 1} exist",
            ee="EE1003", params=(call, attribute, "memAttr", f"[0, {len(_KINDS) - 1}]"), hint="pass ACL_HBM_MEM_HUGE",
        )
    kind, pages = _KINDS[attribute]
    return PhysicalKind(c.MEM_DEV_SIDE, owner, _PAGES[pages], _TYPES[kind], module)


def attribute_of(kind: PhysicalKind) -> int:
    """Return the attribute that stands for a kind of physical memory."""
    return next(
        attribute for attribute, (memory, pages) in _KINDS.items()
        if attribute >= 2 and _TYPES[memory] == kind.memory and _PAGES[pages] == kind.page
    )  # fmt: skip
