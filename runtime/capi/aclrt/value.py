"""Values in device memory, by name."""

from __future__ import annotations

from chips.programs.wait import WaitFor
from runtime import errors
from runtime.capi.aclrt.entry import entry, need, stream_of
from runtime.capi.aclrt.state import Acl
from runtime.core.sync import value as core

_ON_DEVICE = (0x10, 0x20)
"""DVattribute.memType of device memory."""


def _check_address(acl: Acl, call: str, address: int) -> None:
    """Refuse host memory, which streams cannot reach by a value write."""
    found = acl.runtime.current_context().device.memory.attribute(address)
    if found is None or found[0] not in _ON_DEVICE:
        reason = f"{call}: {address:#x} is not device memory"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", reason, ee="EE1001", params=(reason,),
            hint="pass an address from aclrtMalloc",
        )


@entry
def aclrtValueWrite(acl: Acl, devAddr: int | None, value: int | None, flag: int | None, stream: int | None) -> None:
    """Write 64 bits when the stream gets there."""
    call = "aclrtValueWrite"
    need(call, devAddr=devAddr)
    assert devAddr is not None
    if flag:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag}; only 0 is known", ee="EE1003",
            params=(call, flag, "flag", "0"), hint="pass 0",
        )
    target = stream_of(acl, stream)
    _check_address(acl, call, devAddr)
    core.submit_write(target, devAddr, value or 0)


@entry
def aclrtValueWait(acl: Acl, devAddr: int | None, value: int | None, flag: int | None, stream: int | None) -> None:
    """Wait until 64 bits meet a condition: 0 at least, 1 equal, 2 common bits, 3 not all bits."""
    call = "aclrtValueWait"
    need(call, devAddr=devAddr)
    assert devAddr is not None
    try:
        test = WaitFor(flag or 0)
    except ValueError:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag}", ee="EE1003", params=(call, flag, "flag", "[0, 3]"),
            hint="0 at least, 1 equal, 2 common bits, 3 not all bits",
        ) from None
    target = stream_of(acl, stream)
    _check_address(acl, call, devAddr)
    core.wait_value(target, devAddr, value or 0, test)
