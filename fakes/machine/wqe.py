"""Work queue elements of the fake, by which copies over UB are rung: the driver makes them, tasks carry them."""

from __future__ import annotations

import struct

WQE = struct.Struct("<8sQQ40x")
"""A work queue element of the fake: a mark, where its chain of copies is kept, how many bytes it moves. What a real one
looks like only driver and hardware know; the runtime carries its bytes."""
WQE_MARK = b"NPU-WQE1"
