"""What is said of tasks of a graph: remarks on the last captured one, launch attributes of kernels (core_spec 14).

Layouts: acl_rt.h, aclrtLaunchKernelAttrValue.
"""

from __future__ import annotations

import ctypes
import math
import struct

from chips import credit
from chips.tasks import CoreKernel
from chips.tasks.kernel import NEVER_TIMEOUT_US
from runtime import errors
from runtime.capi.aclrt.checks import context, feature, null, null_rt, refuse, zero
from runtime.capi.aclrt.entry import entry, handle_of
from runtime.capi.aclrt.kinds import Address, Enum, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.feature.graph import Graph, Model, Node
from runtime.launch.options import LaunchAttribute
from runtime.memory import caller

_MOST_OPERATOR_BYTES = 65536
_MOST_TEXT_BYTES = 4096
"""What is longer is cut, as the vendor's runtime does."""
_DUMP = 2
_WORD = (1 << 32) - 1
_TOLD = (LaunchAttribute.SCHEM_MODE, LaunchAttribute.DYN_UBUF_SIZE, LaunchAttribute.DATA_DUMP,
         LaunchAttribute.TIMEOUT, LaunchAttribute.TIMEOUT_US)  # fmt: skip
"""Attributes that a task tells; it keeps the others for itself."""


@entry(
    null("infoPtr"), zero("infoSize"), feature("MODEL_ACL_GRAPH"),
    refuse("infoSize > 65536", "infoSize", "at most 65536", "EE1003"), context(),
)  # fmt: skip
def aclrtCacheLastTaskOpInfo(acl: Acl, infoPtr: Address, infoSize: Size) -> None:
    """Attach information about the operator to the last captured task; aclmdlRITaskGetParams gives it back."""
    call = "aclrtCacheLastTaskOpInfo"
    size = infoSize
    if size == 0:
        raise errors.fault("ACL_ERROR_INVALID_PARAM", ee="EH0007", params=(call, size, "infoSize", "greater than 0"))
    if size > _MOST_OPERATOR_BYTES:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", ee="EE1003", params=(call, size, "infoSize", f"(0, {_MOST_OPERATOR_BYTES}]"),
        )
    model, node = _last(acl, call, "EE1010")
    if not isinstance(model, Graph):
        raise _nothing_captured(call)
    model.operators[node] = ctypes.create_string_buffer(caller.read(infoPtr, size), size)


@entry(feature("MODEL_ACL_GRAPH"), null_rt("extendInfoPtr"), zero("infoSize", message="EE1003"), context())
def aclrtCacheLastTaskExtendInfo(acl: Acl, extendInfoPtr: Address, infoSize: Size) -> None:
    """Attach a text to the last captured task, which the debug output shows; at most 4096 bytes of it are kept."""
    call = "aclrtCacheLastTaskExtendInfo"
    if acl.last.stream and not acl.last.model:
        raise errors.fault(
            "RT_ERROR_MODEL_NULL", f"{call}: the last task of this thread is in no graph", ee="EE1004",
            params=(call, "model"), hint="call it right behind the launch, while the stream is captured",
        )
    model, node = _last(acl, call)
    text = caller.read(extendInfoPtr, min(infoSize, _MOST_TEXT_BYTES))
    model.texts[node] = text.decode("utf-8", "replace")


def _last(acl: Acl, call: str, message: str = "") -> tuple[Model, Node]:
    """Return the model that keeps the thread's last task, and its node; one of another context is 107003."""
    try:
        model = acl.runtime.handles.get(acl.last.model, Model)
    except errors.RuntimeFault:
        raise _nothing_captured(call) from None
    if model.context is not acl.runtime.current_context():
        reason = "the thread's last task went to another context"
        raise errors.fault(
            "ACL_ERROR_RT_STREAM_CONTEXT", f"{call}: {reason}", ee=message,
            params=(call, "stream", reason) if message else (), hint="make that context current first",
        )
    for node in reversed(model.nodes):
        if node.user.handle == acl.last.stream:
            return model, node
    raise _nothing_captured(call)


def _nothing_captured(call: str) -> errors.RuntimeFault:
    return errors.fault(
        "RT_ERROR_MODEL_NULL", f"{call}: the last task of this thread is in no graph",
        hint="call it right behind the launch, while the stream is captured",
    )


@entry(null("task", "attrValue"))
def aclmdlRIKernelTaskGetAttribute(acl: Acl, task: Handle, attrId: Enum, attrValue: Address) -> None:
    """Write one launch attribute of a kernel to an address; time limits are those that the hardware counts, 0 none."""
    call = "aclmdlRIKernelTaskGetAttribute"
    node: Node = handle_of(acl, task, Node)
    kernel = node.task
    if not isinstance(kernel, CoreKernel):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {node!r} launches no kernel", ee="EE1017",
            params=(call, "task", "it is no kernel of an AI core"), hint="ask for its type first",
        )
    number = attrId
    if number not in _TOLD:
        allowed = ", ".join(str(each.value) for each in _TOLD)
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: attrId is {number}", ee="EE1003",
            params=(call, number, "attrId", allowed), hint=f"pass one of {allowed}",
        )
    image = _value(acl, LaunchAttribute(number), node, kernel)
    caller.write(attrValue, image, len(image))


def _value(acl: Acl, attribute: LaunchAttribute, node: Node, kernel: CoreKernel) -> bytes:
    if attribute is LaunchAttribute.SCHEM_MODE:
        return bytes([kernel.schem_mode])
    if attribute is LaunchAttribute.DYN_UBUF_SIZE:
        return struct.pack("<I", 0 if node.kernel is None else node.kernel.dynamic_ub_of(kernel))
    if attribute is LaunchAttribute.DATA_DUMP:
        return bytes([bool(kernel.flags & _DUMP)])
    limit_us = _limit_us(acl, node, kernel.timeout_us)
    if attribute is LaunchAttribute.TIMEOUT:
        return struct.pack("<H", limit_us // 1_000_000 & 0xFFFF)
    return struct.pack("<II", limit_us & _WORD, limit_us >> 32)


def _limit_us(acl: Acl, node: Node, asked_us: int) -> int:
    """Return the limit in force: what was asked for, as far as the hardware counts, else that of all operators."""
    if asked_us == NEVER_TIMEOUT_US:
        return 0
    env = node.stream.env
    if asked_us:
        return min(asked_us, math.ceil(credit.MAX_CREDIT * credit.interval_us(env)))
    limit_ms = acl.runtime.timeouts.operator_ms(env)
    return (_WORD if math.isinf(limit_ms) else int(limit_ms)) * 1000
