"""Descriptors of STARS v2: the engine reads one as the entry of a copy, a value write as an entry of its own.

Sources: starsv2_base.hpp (rtDavidMemcpyAddrInfo, rtDavidCmoAddrInfo), stars_david.hpp (RtDavidStarsWriteValueSqe).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from chips.generations.v200.memory import D2D_QOS, STREAM_ID
from chips.registry import Descriptors

if TYPE_CHECKING:
    from chips.env import EncodeEnv
    from chips.layout import LayoutSet

_COPY, _CACHE = struct.Struct("<32xQQI12x"), struct.Struct("<32xQ8xI12x")
_COPY_HEAD, _CACHE_HEAD = 32, 28  # bytes that the runtime writes


def forms(layouts: LayoutSet) -> Descriptors:
    """Return the descriptors of a generation with these entries."""

    def front(env: EncodeEnv, size: int, **fields: int) -> bytes:
        words = {"kernel_credit": 0, "qos": D2D_QOS, "src_stream_id": STREAM_ID, "src_sub_stream_id": env.ssid}
        return layouts["sdma"].encode(**(words | fields))[:size]

    return Descriptors(
        copy_body=lambda src, dst, length: _COPY.pack(src, dst, length),
        cache_body=lambda src, length: _CACHE.pack(src, length),
        copy_head=lambda env: front(env, _COPY_HEAD, dst_stream_id=STREAM_ID, dst_sub_stream_id=env.ssid),
        cache_head=lambda env, op_code: front(env, _CACHE_HEAD, type=0, opcode=op_code, sqe_id=env.sq_id & 0xFFFF),
        write=layouts["write_value"],
    )
