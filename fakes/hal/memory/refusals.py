"""Which wishes halMemAlloc refuses before it looks for space: the rules of each driver tree (hal_semantics 7.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from npuhal import constants as c

KIND_SHIFT, KIND_MASK = c.MEM_VIRT_BIT, (1 << c.MEM_VIRT_WIDTH) - 1
HOST_KINDS = (c.MEM_HOST_VAL, c.MEM_HOST_UVA_VAL)
_CONTIGUOUS_LIMIT = 4 << 20
_LARGE = c.MEM_PAGE_HUGE | c.MEM_PAGE_GIANT
_READ_ONLY = c.MEM_READONLY | c.MEM_HOST_RW_DEV_RO
_SCHEDULER = c.MEM_ADVISE_TS | c.MEM_ADVISE_4G
_NOT_SHARED = c.MEM_CONTIGUOUS_PHY | c.MEM_ADVISE_P2P | c.MEM_ADVISE_BAR | c.MEM_DEV_CP_ONLY
"""What memory with one address for host and device cannot be."""
_UNSUPPORTED, _INVALID = c.DRV_ERROR_NOT_SUPPORT, c.DRV_ERROR_INVALID_VALUE
_AGENTS = 65
"""Device numbers that the first tree allocates for: cards and the host."""
_CARDS = 64
"""Device numbers that the later tree allocates device memory for."""


def kind_of(flag: int) -> int:
    """Return what kind of memory is wanted: MEM_DEV_VAL, MEM_HOST_VAL and so on."""
    return flag >> KIND_SHIFT & KIND_MASK


def module_of(flag: int) -> int:
    """Return the number of the component that the memory is for."""
    return flag >> c.MEM_MODULE_ID_BIT & c.MEM_MODULE_ID_MASK


def _first_host(kind: int, flag: int) -> int:
    if kind == c.MEM_HOST_UVA_VAL and flag & (_NOT_SHARED | _LARGE):
        return _UNSUPPORTED
    return _UNSUPPORTED if flag & (_READ_ONLY | c.MEM_PAGE_GIANT) else 0


def _first_giant(kind: int, flag: int) -> int:
    if kind != c.MEM_DEV_VAL or flag & (_SCHEDULER | _READ_ONLY | c.MEM_CONTIGUOUS_PHY):
        return _UNSUPPORTED
    return _INVALID if flag & c.MEM_PAGE_HUGE else 0


def _first(kind: int, flag: int, size: int) -> int:
    if kind in HOST_KINDS:
        return _first_host(kind, flag)
    if kind not in (c.MEM_DEV_VAL, c.MEM_DVPP_VAL, c.MEM_UVM_VAL):
        return _UNSUPPORTED
    if kind == c.MEM_DEV_VAL and flag & _READ_ONLY == _READ_ONLY:
        return c.DRV_ERROR_PARA_ERROR
    if (kind == c.MEM_DVPP_VAL and flag & c.MEM_HOST_RW_DEV_RO) or (kind == c.MEM_UVM_VAL and flag & _READ_ONLY):
        return _UNSUPPORTED
    contiguous = kind != c.MEM_DVPP_VAL and flag & c.MEM_CONTIGUOUS_PHY
    if contiguous and (size > _CONTIGUOUS_LIMIT or flag & c.MEM_PAGE_HUGE):
        return _INVALID
    return _first_giant(kind, flag) if flag & c.MEM_PAGE_GIANT else 0


def _later(kind: int, flag: int, _size: int) -> int:
    host = kind in HOST_KINDS
    if not host and kind not in (c.MEM_DEV_VAL, c.MEM_DVPP_VAL):
        return _UNSUPPORTED
    if not host and flag & c.MEM_DEVID_MASK >= _CARDS:
        return c.DRV_ERROR_INVALID_DEVICE
    unsupported = (
        flag & (_SCHEDULER | c.MEM_READONLY)
        or (host and flag & _LARGE)
        or (kind == c.MEM_HOST_UVA_VAL and flag & _NOT_SHARED)
        or (flag & _LARGE and flag & c.MEM_CONTIGUOUS_PHY)
    )
    if unsupported:
        return _UNSUPPORTED
    if flag & _LARGE == _LARGE or (flag & c.MEM_DEV_CP_ONLY and not flag & c.MEM_DEV):
        return _INVALID
    if flag & c.MEM_DEV_CP_ONLY and flag & _LARGE:
        return _UNSUPPORTED
    forbidden = not flag & c.MEM_DEV or flag & (c.MEM_PAGE_GIANT | c.MEM_DEV_CP_ONLY)
    return _UNSUPPORTED if flag & c.MEM_HOST_RW_DEV_RO and forbidden else 0


_RULES: Mapping[bool, Callable[[int, int, int], int]] = {True: _first, False: _later}


def refusal(first: bool, flag: int, size: int) -> int:
    """Return the code for a wish that is refused before an address is looked for; 0 for others.

    Args:
        first: whether the driver is that of STARS v1.
    """
    return _RULES[first](kind_of(flag), flag, size)


def is_device_number(first: bool, flag: int) -> bool:
    """Whether the device number in the flags is one that the driver allocates for."""
    return not first or flag & c.MEM_DEVID_MASK < _AGENTS
