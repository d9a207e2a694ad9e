"""Labels by name (core_spec 17.4); the switch is in the chapter on models."""

from __future__ import annotations

import ctypes

from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import Out, entry, handle_of, own_stream_of
from runtime.capi.aclrt.kinds import Address, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.core.sync.label import Label, LabelList


@entry(null("label"), waits_for_snapshot=True)
def aclrtCreateLabel(acl: Acl, label: Out[Handle]) -> None:
    """Make a label."""
    device = acl.runtime.current_context().device
    label.value = Label(device, acl.runtime.label_ids).handle


@entry(null("label", "stream"))
def aclrtSetLabel(acl: Acl, label: Handle, stream: Handle) -> None:
    """Mark the place that a stream of a model has reached."""
    handle_of(acl, label, Label).set(own_stream_of(acl, "aclrtSetLabel", stream))


@entry(null("label"))
def aclrtDestroyLabel(acl: Acl, label: Handle) -> None:
    """Give a label up."""
    handle_of(acl, label, Label).close()


@entry(null("labels", "num", "labelList"), waits_for_snapshot=True)
def aclrtCreateLabelList(acl: Acl, labels: Address, num: Size, labelList: Out[Handle]) -> None:
    """Put labels in the order in which a switch counts them."""
    device = acl.runtime.current_context().device
    members = [handle_of(acl, handle, Label) for handle in (ctypes.c_uint64 * num).from_address(labels)]
    labelList.value = LabelList(device, members).handle


@entry(null("labelList"))
def aclrtDestroyLabelList(acl: Acl, labelList: Handle) -> None:
    """Free a list."""
    handle_of(acl, labelList, LabelList).close()
