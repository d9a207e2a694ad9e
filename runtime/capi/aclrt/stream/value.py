"""Values in device memory, by name."""

from __future__ import annotations

from chips.tasks import WaitFor
from runtime import errors
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import entry, own_stream_of
from runtime.capi.aclrt.kinds import U32, U64, Address, Handle
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


@entry(null("devAddr"))
def aclrtValueWrite(acl: Acl, devAddr: Address, value: U64, flag: U32, stream: Handle) -> None:
    """Write 64 bits when the stream gets there."""
    call = "aclrtValueWrite"
    if flag:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag}; only 0 is known", ee="EE1003",
            params=(call, flag, "flag", "0"), hint="pass 0",
        )
    target = own_stream_of(acl, call, stream)
    _check_address(acl, call, devAddr)
    core.submit_write(target, devAddr, value)


@entry(null("devAddr"))
def aclrtValueWait(acl: Acl, devAddr: Address, value: U64, flag: U32, stream: Handle) -> None:
    """Wait until 64 bits meet a condition: 0 at least, 1 equal, 2 common bits, 3 not all bits."""
    call = "aclrtValueWait"
    try:
        test = WaitFor(flag)
    except ValueError:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: flag is {flag}", ee="EE1003", params=(call, flag, "flag", "[0, 3]"),
            hint="0 at least, 1 equal, 2 common bits, 3 not all bits",
        ) from None
    target = own_stream_of(acl, call, stream)
    _check_address(acl, call, devAddr)
    core.wait_value(target, devAddr, value, test)
