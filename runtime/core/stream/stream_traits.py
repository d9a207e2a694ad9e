"""What flags and chip make of a stream, worked out once: arithmetic on enumerations is slow."""

from __future__ import annotations

from functools import lru_cache

from npuhal.records import dataclass
from runtime.core.modes import StreamFlag


@dataclass(frozen=True, slots=True)
class StreamTraits:
    """What follows from flags and chip of a stream.

    Attributes:
        host_only: the host keeps no more than a number for it.
        never_waited: there is nothing to wait for, whether it is bound to a model or not.
        collects: positions are never freed: its tasks are kept for a model (STARS v2).
        fast_sync: it is polled long before the first pause.
    """

    host_only: bool
    never_waited: bool
    collects: bool
    fast_sync: bool


@lru_cache
def stream_traits(flags: StreamFlag, counts_ids: bool) -> StreamTraits:
    """Return what flags mean on a chip that counts task ids, or does not."""
    return StreamTraits(
        host_only=bool(flags & StreamFlag.HOST_ONLY), never_waited=bool(flags & StreamFlag.NEVER_WAITED),
        collects=bool(flags & StreamFlag.PERSISTENT) and not counts_ids, fast_sync=bool(flags & StreamFlag.FAST_SYNC),
    )
