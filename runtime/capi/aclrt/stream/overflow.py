"""Arithmetic overflow by name: switches per stream, and the status a device keeps (core_spec 4.3)."""

from __future__ import annotations

from runtime.capi.aclrt.checks import context, live, null, null_rt, one_of, own, refuse, uncaptured
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import U32, U64, Address, Size
from runtime.capi.aclrt.state import Acl
from runtime.core.device import overflow
from runtime.core.stream.stream import Stream


@entry(one_of("flag", 0, 1), live("stream", Stream), uncaptured("stream"), own("stream"))
def aclrtSetStreamOverflowSwitch(acl: Acl, stream: Stream, flag: U32) -> None:
    """Turn overflow reports of a stream on (1) or off (0)."""
    overflow.set_check(stream, bool(flag))


@entry(null("flag"), live("stream", Stream), own("stream"))
def aclrtGetStreamOverflowSwitch(acl: Acl, stream: Stream, flag: Out[U32]) -> None:
    """Tell whether a stream reports overflow."""
    flag.value = int(stream.env.overflow_enabled)


@entry(
    null("outputAddr"), live("stream", Stream), refuse("outputSize != 64", "outputSize", "64", "EE1001"),
    uncaptured("stream"), own("stream"),
    passes_snapshot=True,
)  # fmt: skip
def aclrtGetOverflowStatus(acl: Acl, outputAddr: Address, outputSize: Size, stream: Stream) -> None:
    """Queue a copy of the overflow status to device memory."""
    overflow.read_status(stream, outputAddr, outputSize)


@entry(
    live("stream", Stream), null("outputAddr", message="EE1001"),
    refuse("outputSize != 64", "outputSize", "64", "EE1001"), uncaptured("stream"), own("stream"),
    passes_snapshot=True,
)  # fmt: skip
def aclrtGetFloatOverflowStatus(acl: Acl, outputAddr: Address, outputSize: U64, stream: Stream) -> None:
    """Queue a copy of the overflow status to device memory."""
    overflow.read_status(stream, outputAddr, outputSize)


@entry(
    live("stream", Stream), null_rt("outputAddr"), refuse("outputSize != 64", "outputSize", "64", "EE1003"),
    uncaptured("stream"), own("stream"),
    passes_snapshot=True,
)  # fmt: skip
def aclrtNpuGetFloatOverFlowStatus(
    acl: Acl, outputAddr: Address, outputSize: U64, checkMode: U32, stream: Stream
) -> None:
    """Queue a copy of the overflow status to device memory, by a check mode."""
    overflow.read_status(stream, outputAddr, outputSize, check_mode=checkMode)


@entry(
    live("stream", Stream), uncaptured("stream"), context("not stream", code=107000, message="EE1018"), own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtResetOverflowStatus(acl: Acl, stream: Stream) -> None:
    """Queue the clearing of the overflow status."""
    overflow.clear_status(stream)


@entry(
    live("stream", Stream), uncaptured("stream"), context("not stream", code=107000, message="EE1018"), own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtResetFloatOverflowStatus(acl: Acl, stream: Stream) -> None:
    """Queue the clearing of the overflow status."""
    overflow.clear_status(stream)


@entry(live("stream", Stream), uncaptured("stream"), own("stream"), passes_snapshot=True)
def aclrtNpuClearFloatOverFlowStatus(acl: Acl, checkMode: U32, stream: Stream) -> None:
    """Queue the clearing of the overflow status, by a check mode."""
    overflow.clear_status(stream, check_mode=checkMode)


@entry(null("overflowAddr", message="EE1001"), context())
def aclrtCtxGetFloatOverflowAddr(acl: Acl, overflowAddr: Out[Address]) -> None:
    """Return where kernels note overflows on chips that do so per context."""
    overflowAddr.value = acl.runtime.current_context().overflow_address
