"""Arithmetic overflow by name: switches per stream, and the status a device keeps (core_spec 4.3)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need
from runtime.capi.aclrt.state import Acl
from runtime.capi.aclrt.stream import own_stream_of, stream_of
from runtime.core.device import overflow


@entry
def aclrtSetStreamOverflowSwitch(acl: Acl, stream: int, flag: int) -> None:
    """Turn overflow reports of a stream on (1) or off (0)."""
    call = "aclrtSetStreamOverflowSwitch"
    if flag not in (None, 0, 1):
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: flag is {flag}", ee="EH0007", params=(call, flag, "flag", "0 or 1"),
            hint="1 turns the check on, 0 off",
        )
    own_stream_of(acl, call, stream).set_overflow_check(bool(flag))


@entry
def aclrtGetStreamOverflowSwitch(acl: Acl, stream: int, flag: Out | None) -> None:
    """Tell whether a stream reports overflow."""
    need("aclrtGetStreamOverflowSwitch", flag=flag)
    assert flag is not None
    flag.value = int(stream_of(acl, stream).overflow_check)


@entry
def aclrtGetOverflowStatus(acl: Acl, outputAddr: int, outputSize: int, stream: int) -> None:
    """Queue a copy of the overflow status to device memory."""
    call = "aclrtGetOverflowStatus"
    need(call, outputAddr=outputAddr)
    overflow.read_status(own_stream_of(acl, call, stream), outputAddr, outputSize)


@entry
def aclrtGetFloatOverflowStatus(acl: Acl, outputAddr: int, outputSize: int, stream: int) -> None:
    """Queue a copy of the overflow status to device memory."""
    call = "aclrtGetFloatOverflowStatus"
    need(call, outputAddr=outputAddr)
    overflow.read_status(own_stream_of(acl, call, stream), outputAddr, outputSize)


@entry
def aclrtNpuGetFloatOverFlowStatus(acl: Acl, outputAddr: int, outputSize: int, checkMode: int, stream: int) -> None:
    """Queue a copy of the overflow status to device memory, by a check mode."""
    call = "aclrtNpuGetFloatOverFlowStatus"
    need(call, outputAddr=outputAddr)
    target = own_stream_of(acl, call, stream)
    overflow.read_status(target, outputAddr, outputSize, check_mode=checkMode or 0)


@entry
def aclrtResetOverflowStatus(acl: Acl, stream: int) -> None:
    """Queue the clearing of the overflow status."""
    overflow.clear_status(own_stream_of(acl, "aclrtResetOverflowStatus", stream))


@entry
def aclrtResetFloatOverflowStatus(acl: Acl, stream: int) -> None:
    """Queue the clearing of the overflow status."""
    overflow.clear_status(own_stream_of(acl, "aclrtResetFloatOverflowStatus", stream))


@entry
def aclrtNpuClearFloatOverFlowStatus(acl: Acl, checkMode: int, stream: int) -> None:
    """Queue the clearing of the overflow status, by a check mode."""
    target = own_stream_of(acl, "aclrtNpuClearFloatOverFlowStatus", stream)
    overflow.clear_status(target, check_mode=checkMode or 0)


@entry
def aclrtCtxGetFloatOverflowAddr(acl: Acl, overflowAddr: Out | None) -> None:
    """Return where kernels note overflows on chips that do so per context."""
    need("aclrtCtxGetFloatOverflowAddr", overflowAddr=overflowAddr)
    assert overflowAddr is not None
    overflowAddr.value = acl.runtime.current_context().overflow_address
