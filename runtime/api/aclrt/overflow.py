"""Arithmetic overflow by name: switches per stream, and the status a device keeps (core_spec 4.3)."""

from __future__ import annotations

from chips.tasks import ClearFloatStatus, GetFloatStatus
from runtime import errors
from runtime.api.aclrt.entry import Out, entry, need
from runtime.api.aclrt.state import Acl
from runtime.api.aclrt.stream import own_stream_of, stream_of

_STATUS_BYTES = 64


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
    _read(acl, "aclrtGetOverflowStatus", outputAddr, outputSize, stream, debug=False)


@entry
def aclrtGetFloatOverflowStatus(acl: Acl, outputAddr: int, outputSize: int, stream: int) -> None:
    """Queue a copy of the overflow status that debugging keeps."""
    _read(acl, "aclrtGetFloatOverflowStatus", outputAddr, outputSize, stream, debug=True)


@entry
def aclrtResetOverflowStatus(acl: Acl, stream: int) -> None:
    """Queue the end of what the overflow status says."""
    own_stream_of(acl, "aclrtResetOverflowStatus", stream).submit(ClearFloatStatus(), owner="overflow status reset")


@entry
def aclrtResetFloatOverflowStatus(acl: Acl, stream: int) -> None:
    """Queue the end of what the debugging status says."""
    target = own_stream_of(acl, "aclrtResetFloatOverflowStatus", stream)
    target.submit(ClearFloatStatus(debug=True), owner="overflow status reset")


@entry
def aclrtCtxGetFloatOverflowAddr(acl: Acl, overflowAddr: Out | None) -> None:
    """Return where kernels note overflows on chips that do so per context."""
    need("aclrtCtxGetFloatOverflowAddr", overflowAddr=overflowAddr)
    assert overflowAddr is not None
    overflowAddr.value = acl.runtime.current_context().overflow_address


def _read(acl: Acl, call: str, address: int, size: int, stream: int, *, debug: bool) -> None:
    need(call, outputAddr=address)
    if size != _STATUS_BYTES:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: outputSize is {size}; the status has {_STATUS_BYTES} bytes",
            ee="EE1001", params=(f"{call}: outputSize must be {_STATUS_BYTES}, not {size}",),
            hint=f"give {_STATUS_BYTES} bytes of device memory",
        )
    own_stream_of(acl, call, stream).submit(GetFloatStatus(addr=address, debug=debug), owner="overflow status read")
