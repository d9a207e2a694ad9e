"""Labels by name (core_spec 17.4); the switch is in the chapter on models."""

from __future__ import annotations

import ctypes

from runtime.capi.aclrt.entry import Out, entry, handle_of, need, stream_of
from runtime.capi.aclrt.state import Acl
from runtime.core.sync.label import Label, LabelList


@entry(waits_for_snapshot=True)
def aclrtCreateLabel(acl: Acl, label: Out | None) -> None:
    """Make a label."""
    need("aclrtCreateLabel", label=label)
    assert label is not None
    label.value = None
    device = acl.runtime.current_context().device
    label.value = Label(device, acl.runtime.label_ids).handle


@entry
def aclrtSetLabel(acl: Acl, label: int | None, stream: int | None) -> None:
    """Mark the place that a stream of a model has reached."""
    need("aclrtSetLabel", label=label, stream=stream)
    handle_of(acl, label, Label).set(stream_of(acl, stream))


@entry
def aclrtDestroyLabel(acl: Acl, label: int | None) -> None:
    """Give a label up."""
    need("aclrtDestroyLabel", label=label)
    handle_of(acl, label, Label).close()


@entry(waits_for_snapshot=True)
def aclrtCreateLabelList(acl: Acl, labels: int | None, num: int | None, labelList: Out | None) -> None:
    """Put labels in the order in which a switch counts them."""
    need("aclrtCreateLabelList", labels=labels, num=num, labelList=labelList)
    assert labels is not None
    assert num is not None
    assert labelList is not None
    labelList.value = None
    device = acl.runtime.current_context().device
    members = [handle_of(acl, handle, Label) for handle in (ctypes.c_uint64 * num).from_address(labels)]
    labelList.value = LabelList(device, members).handle


@entry
def aclrtDestroyLabelList(acl: Acl, labelList: int | None) -> None:
    """Free a list."""
    need("aclrtDestroyLabelList", labelList=labelList)
    handle_of(acl, labelList, LabelList).close()
