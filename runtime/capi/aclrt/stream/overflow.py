"""Arithmetic overflow by name: switches per stream, and the status a device keeps (core_spec 4.3)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import Out, entry, own_stream_of, stream_of
from runtime.capi.aclrt.kinds import U32, U64, Address, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.core.device import overflow


@entry()
def aclrtSetStreamOverflowSwitch(acl: Acl, stream: Handle, flag: U32) -> None:
    """Turn overflow reports of a stream on (1) or off (0)."""
    call = "aclrtSetStreamOverflowSwitch"
    if flag not in (None, 0, 1):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: flag is {flag}", ee="EH0007", params=(call, flag, "flag", "0 or 1"),
            hint="1 turns the check on, 0 off",
        )
    own_stream_of(acl, call, stream).set_overflow_check(bool(flag))


@entry(null("flag"))
def aclrtGetStreamOverflowSwitch(acl: Acl, stream: Handle, flag: Out[U32]) -> None:
    """Tell whether a stream reports overflow."""
    flag.value = int(stream_of(acl, stream).overflow_check)


@entry(null("outputAddr"))
def aclrtGetOverflowStatus(acl: Acl, outputAddr: Address, outputSize: Size, stream: Handle) -> None:
    """Queue a copy of the overflow status to device memory."""
    call = "aclrtGetOverflowStatus"
    overflow.read_status(own_stream_of(acl, call, stream), outputAddr, outputSize)


@entry(null("outputAddr"))
def aclrtGetFloatOverflowStatus(acl: Acl, outputAddr: Address, outputSize: U64, stream: Handle) -> None:
    """Queue a copy of the overflow status to device memory."""
    call = "aclrtGetFloatOverflowStatus"
    overflow.read_status(own_stream_of(acl, call, stream), outputAddr, outputSize)


@entry(null("outputAddr"))
def aclrtNpuGetFloatOverFlowStatus(
    acl: Acl, outputAddr: Address, outputSize: U64, checkMode: U32, stream: Handle
) -> None:
    """Queue a copy of the overflow status to device memory, by a check mode."""
    call = "aclrtNpuGetFloatOverFlowStatus"
    target = own_stream_of(acl, call, stream)
    overflow.read_status(target, outputAddr, outputSize, check_mode=checkMode)


@entry()
def aclrtResetOverflowStatus(acl: Acl, stream: Handle) -> None:
    """Queue the clearing of the overflow status."""
    overflow.clear_status(own_stream_of(acl, "aclrtResetOverflowStatus", stream))


@entry()
def aclrtResetFloatOverflowStatus(acl: Acl, stream: Handle) -> None:
    """Queue the clearing of the overflow status."""
    overflow.clear_status(own_stream_of(acl, "aclrtResetFloatOverflowStatus", stream))


@entry()
def aclrtNpuClearFloatOverFlowStatus(acl: Acl, checkMode: U32, stream: Handle) -> None:
    """Queue the clearing of the overflow status, by a check mode."""
    target = own_stream_of(acl, "aclrtNpuClearFloatOverFlowStatus", stream)
    overflow.clear_status(target, check_mode=checkMode)


@entry(null("overflowAddr"))
def aclrtCtxGetFloatOverflowAddr(acl: Acl, overflowAddr: Out[Address]) -> None:
    """Return where kernels note overflows on chips that do so per context."""
    overflowAddr.value = acl.runtime.current_context().overflow_address
