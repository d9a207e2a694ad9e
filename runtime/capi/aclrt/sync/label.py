"""Labels by name (core_spec 17.4); the switch is in the chapter on models."""

from __future__ import annotations

import ctypes

from runtime.capi.aclrt.checks import context, live, null, own, refuse
from runtime.capi.aclrt.entry import Out, entry, handle_of, need_rt
from runtime.capi.aclrt.kinds import Address, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.core.sync.label import Label, LabelList
from runtime.memory import caller


@entry(null("label"), context())
def aclrtCreateLabel(acl: Acl, label: Out[Handle]) -> None:
    """Make a label."""
    context = acl.runtime.current_context()
    label.value = Label(context.device, acl.runtime.label_ids, context=context).handle


@entry(
    null("label", "stream"), live("label", Label), live("stream", Stream), context(),
    refuse("is_foreign_label(acl, label_)", "label", "a label of the context", "EE1010", code=507031), own("stream"),
    refuse("of_branch(stream_)", "stream", "no stream of a conditional node", "", code=207000),
)  # fmt: skip
def aclrtSetLabel(acl: Acl, label: Label, stream: Stream) -> None:
    """Set a label at the position that a stream of a model has reached."""
    label.set(stream)


@entry(
    null("label"), live("label", Label), context(),
    refuse("is_foreign_label(acl, label_)", "label", "a label of the context", "EE1010", code=507031),
)  # fmt: skip
def aclrtDestroyLabel(acl: Acl, label: Label) -> None:
    """Give a label up."""
    label.close()


@entry(null("labels", "labelList"), refuse("not 0 < num <= 65535", "num", "[1, 65535]", "EE1003"))
def aclrtCreateLabelList(acl: Acl, labels: Address, num: Size, labelList: Out[Handle]) -> None:
    """Put labels in the order in which a switch counts them."""
    handles = list(caller.array(ctypes.c_uint64, num, labels))
    members = [handle_of(acl, handle, Label) for handle in handles if handle]
    context = acl.runtime.current_context()
    if len(members) < num:
        need_rt("aclrtCreateLabelList", **{f"labels[{handles.index(0)}]": None})
    labelList.value = LabelList(context.device, members).handle


@entry(null("labelList"), waits_for_snapshot=True)
def aclrtDestroyLabelList(acl: Acl, labelList: Handle) -> None:
    """Free a list."""
    handle_of(acl, labelList, LabelList).close()
