"""Functions of features a product does not have: they answer NOT_SUPPORT there, as the real library does."""

from __future__ import annotations

_UB_ONLY = (
    "halAsyncDmaJettyCreate", "halAsyncDmaJettyDestroy", "halAsyncDmaJettyQuery", "halAsyncDmaJettyWqeFill",
    "halAsyncDmaWqeConvert", "halSqTaskArgsAsyncCopy", "halMemRegUbSegment", "halMemUnRegUbSegment",
    "halGetTsegInfoByVa", "halPutTsegInfo",
)  # fmt: skip
_NEVER = ("halRepairFault", "halResMap", "halResUnmap")
"""Depend on builds of the driver (CFG_*) that the fake does not stand for."""
_V1_ONLY = (
    "halMemManagedAdvise", "halMemManagedPrefetch", "halMemManagedPrefetchBatch", "halMemManagedRangeGetAttributes",
)  # fmt: skip


def absent(generation: str, args: str) -> frozenset[str]:
    """Return the names that answer NOT_SUPPORT on a generation with a link ("dma", "bar" or "ub")."""
    names = set(_NEVER)
    if args != "ub":
        names.update(_UB_ONLY)
    if generation != "v100":
        names.update(_V1_ONLY)
    return frozenset(names)
