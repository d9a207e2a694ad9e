"""Descriptors in device memory: what copies and cache operations in pointer mode point to.

A descriptor has two authors. Its owner fills in addresses and length (the body), the runtime writes the engine's words
over its front when it sends the task (the head). Sources: mem.h (rtMemcpyAddrInfo), rt_external_stars_define.h
(rtCmoAddrInfo), starsv2_base.hpp (rtDavidMemcpyAddrInfo, rtDavidCmoAddrInfo); sqe_fill_rules 6. Value writes in pointer
mode point to a block that says where, how wide and what: RtStarsWriteValuePtrDst (stars_sqe.hpp), on STARS v2 a whole
entry of its own (RtDavidStarsWriteValueSqe, stars_david.hpp).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.registry import Descriptors, UnsupportedDescriptors, plugin

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.env import EncodeEnv
    from chips.layout import Layout

ALIGN = 64
"""Descriptors start at multiples of this."""

_CACHED = 2


def copy_bytes(chip: Chip) -> int:
    """Return the size of a copy's descriptor."""
    return int(chip.prop("memcpyDescriptorSize"))


def cache_bytes(chip: Chip) -> int:
    """Return the size of a cache operation's descriptor; 0 on chips that have none."""
    return int(chip.prop("cmoDDRStructInfoSize"))


def copy_body(chip: Chip, src: int, dst: int, length: int) -> bytes:
    """Return a copy's descriptor with its front still empty."""
    return _of(chip).copy_body(src, dst, length)


def write_layout(chip: Chip) -> Layout:
    """Return the layout of what a value write in pointer mode points to."""
    return _of(chip).write


def write_body(chip: Chip, address: int, value: int, size_code: int) -> bytes:
    """Return the 64 bytes that a value write in pointer mode points to; `size_code` is the code of its width."""
    where = {"addr": address, "awsize": size_code, "awcache": _CACHED, "va": 1}
    layout = write_layout(chip)
    if "value" in layout:
        return layout.encode(**where, value=value)
    words = {"value[0]": value & 0xFFFFFFFF, "value[1]": value >> 32}
    return layout.encode(type=layout.when["type"], **where, **words)


def cache_body(chip: Chip, src: int, length: int) -> bytes:
    """Return a cache operation's descriptor with its front still empty."""
    return _of(chip).cache_body(src, length)


def copy_head(env: EncodeEnv) -> bytes:
    """Return the engine's words of a copy; the length behind them stays the owner's."""
    return _of(env.chip).copy_head(env)


def cache_head(env: EncodeEnv, op_code: int) -> bytes:
    """Return the engine's words of a cache operation: 6 prefetch, 7 write back, 8 invalidate, 9 flush."""
    return _of(env.chip).cache_head(env, op_code)


def _of(chip: Chip) -> Descriptors:
    made = plugin(chip)
    if made.descriptors is None:
        raise UnsupportedDescriptors(made.name)
    return made.descriptors
