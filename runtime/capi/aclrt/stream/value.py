"""Values in device memory, by name."""

from __future__ import annotations

from chips.tasks import WaitFor
from runtime.capi.aclrt.checks import live, null, one_of, own, refuse
from runtime.capi.aclrt.entry import entry
from runtime.capi.aclrt.kinds import U32, U64, Address
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.core.sync import value as core


@entry(
    null("devAddr"), live("stream", Stream), refuse("flag", "flag", "0", "EE1003"),
    refuse("not on_device(acl, devAddr)", "devAddr", "device memory", "EE1001"), own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtValueWrite(acl: Acl, devAddr: Address, value: U64, flag: U32, stream: Stream) -> None:
    """Write 64 bits when the stream gets there."""
    core.submit_write(stream, devAddr, value)


@entry(
    null("devAddr"), live("stream", Stream), one_of("flag", 0, 1, 2, 3, message="EE1003"),
    refuse("not on_device(acl, devAddr)", "devAddr", "device memory", "EE1001"), own("stream"),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtValueWait(acl: Acl, devAddr: Address, value: U64, flag: U32, stream: Stream) -> None:
    """Wait until 64 bits meet a condition: 0 at least, 1 equal, 2 common bits, 3 not all bits."""
    core.wait_value(stream, devAddr, value, WaitFor(flag))
