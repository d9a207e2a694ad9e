"""Descriptors of STARS v1: what copies, cache operations and value writes in pointer mode point to.

Sources: mem.h (rtMemcpyAddrInfo), rt_external_stars_define.h (rtCmoAddrInfo), stars_sqe.hpp (RtStarsWriteValuePtrDst).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from chips.generations.v100.memory import sdma_descriptor
from chips.generations.v100.tables import DESCRIPTORS
from chips.registry import Descriptors
from chips.tasks import CopyConfig

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_COPY, _CACHE = struct.Struct("<12xIQQ"), struct.Struct("<12xIQ8x")
_COPY_HEAD, _CACHE_HEAD = 12, 8  # bytes that the runtime writes
_QOS, _CACHE_PART = 6, 63


def _copy_body(src: int, dst: int, length: int) -> bytes:
    return _COPY.pack(length, src, dst)


def _cache_body(src: int, length: int) -> bytes:
    return _CACHE.pack(length, src)


def _copy_head(env: EncodeEnv) -> bytes:
    return sdma_descriptor(0, CopyConfig(), env)[:_COPY_HEAD]


def _cache_head(env: EncodeEnv, op_code: int) -> bytes:
    return DESCRIPTORS["sdma_descriptor"].encode(
        opcode=op_code, qos=_QOS, part_id=_CACHE_PART, src_sub_stream_id=env.ssid, dst_sub_stream_id=env.ssid
    )[:_CACHE_HEAD]


FORMS = Descriptors(_copy_body, _cache_body, _copy_head, _cache_head, DESCRIPTORS["write_value_block"])
"""All of them."""
