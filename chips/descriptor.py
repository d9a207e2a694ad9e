"""Descriptors in device memory: what copies and cache operations in pointer mode point to.

A descriptor has two authors. Its owner fills in addresses and length (the body), the runtime writes the engine's words
over its front when it sends the task (the head). Sources: mem.h (rtMemcpyAddrInfo), rt_external_stars_define.h
(rtCmoAddrInfo), starsv2_base.hpp (rtDavidMemcpyAddrInfo, rtDavidCmoAddrInfo); sqe_fill_rules 6. Value writes in pointer
mode point to a block that says where, how wide and what: RtStarsWriteValuePtrDst (stars_sqe.hpp), on STARS v2 a whole
entry of its own (RtDavidStarsWriteValueSqe, stars_david.hpp).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from chips.registry import plugin
from chips.tasks import CopyConfig

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.env import EncodeEnv
    from chips.layout import Layout

ALIGN = 64
"""Descriptors start at multiples of this."""

_COPY_V1, _COPY_V2 = struct.Struct("<12xIQQ"), struct.Struct("<32xQQI12x")
_CACHE_V1, _CACHE_V2 = struct.Struct("<12xIQ8x"), struct.Struct("<32xQ8xI12x")
_COPY_HEAD_V1, _COPY_HEAD_V2 = 12, 32
_CACHE_HEAD_V1, _CACHE_HEAD_V2 = 8, 28
_WRITE_VALUE, _CACHED = 8, 2
_QOS = 6
_CACHE_PART = 63
_STREAM = 0x1F


def copy_bytes(chip: Chip) -> int:
    """Return the size of a copy's descriptor."""
    return int(chip.prop("memcpyDescriptorSize"))


def cache_bytes(chip: Chip) -> int:
    """Return the size of a cache operation's descriptor; 0 on chips that have none."""
    return int(chip.prop("cmoDDRStructInfoSize"))


def copy_body(chip: Chip, src: int, dst: int, length: int) -> bytes:
    """Return a copy's descriptor with its front still empty."""
    if chip.generation == "v100":
        return _COPY_V1.pack(length, src, dst)
    return _COPY_V2.pack(src, dst, length)


def write_body(chip: Chip, address: int, value: int, size_code: int) -> bytes:
    """Return the 64 bytes that a value write in pointer mode points to; `size_code` is the code of its width."""
    where = {"addr": address, "awsize": size_code, "awcache": _CACHED, "va": 1}
    layout = write_layout(chip)
    if "value" in layout:
        return layout.encode(**where, value=value)
    words = {"value[0]": value & 0xFFFFFFFF, "value[1]": value >> 32}
    return layout.encode(type=_WRITE_VALUE, **where, **words)


def write_layout(chip: Chip) -> Layout:
    """Return the layout of what a value write in pointer mode points to."""
    if chip.generation == "v100":
        from chips.generations.v100.tables import DESCRIPTORS

        return DESCRIPTORS["write_value_block"]
    return plugin(chip).layouts["write_value"]


def cache_body(chip: Chip, src: int, length: int) -> bytes:
    """Return a cache operation's descriptor with its front still empty."""
    if chip.generation == "v100":
        return _CACHE_V1.pack(length, src)
    return _CACHE_V2.pack(src, length)


def copy_head(env: EncodeEnv) -> bytes:
    """Return the engine's words of a copy; the length behind them stays the owner's."""
    if env.chip.generation == "v100":
        from chips.generations.v100.memory import sdma_descriptor

        return sdma_descriptor(0, CopyConfig(), env)[:_COPY_HEAD_V1]
    return _front(env, _COPY_HEAD_V2, dst_stream_id=_STREAM, dst_sub_stream_id=env.ssid)


def cache_head(env: EncodeEnv, op_code: int) -> bytes:
    """Return the engine's words of a cache operation: 6 prefetch, 7 write back, 8 invalidate, 9 flush."""
    if env.chip.generation == "v100":
        from chips.generations.v100.tables import DESCRIPTORS

        return DESCRIPTORS["sdma_descriptor"].encode(
            opcode=op_code, qos=_QOS, part_id=_CACHE_PART, src_sub_stream_id=env.ssid, dst_sub_stream_id=env.ssid
        )[:_CACHE_HEAD_V1]
    return _front(env, _CACHE_HEAD_V2, type=0, opcode=op_code, sqe_id=env.sq_id & 0xFFFF)


def _front(env: EncodeEnv, size: int, **fields: int) -> bytes:
    """Return the first bytes of a copy's entry, which is what the engine reads a descriptor as on STARS v2."""
    layout = plugin(env.chip).layouts["sdma"]
    words = {"kernel_credit": 0, "qos": _QOS, "src_stream_id": _STREAM, "src_sub_stream_id": env.ssid, **fields}
    return layout.encode(**words)[:size]
