"""Random numbers by name (acl_rt.h, aclrtRandomNumTaskInfo)."""

from __future__ import annotations

import struct

from runtime import errors
from runtime.capi.aclrt.checks import live, null, null_rt, refuse, unbound, uncaptured
from runtime.capi.aclrt.entry import entry, need_rt, own_stream_of, stream_of
from runtime.capi.aclrt.kinds import U32, Address, Handle
from runtime.capi.aclrt.predicates import capture_of, is_bound, is_captured, model_of
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.launch.copy.random import Distribution, Number, Operand, RandomNumbers, check_generator, queue_random
from runtime.memory import caller

_OPERAND = struct.Struct("<B8sB6x")
"""aclrtRandomParaInfo: whether it is an address, the bytes, how many count."""
_REQUEST = struct.Struct(f"<II{2 * _OPERAND.size}sQQQ{_OPERAND.size}s{_OPERAND.size}s8x")
"""aclrtRandomNumTaskInfo: data type, distribution, up to two parameters, where those, result and counter lie, seed,
count."""
_TYPES = {
    3: Number.INT32, 9: Number.INT64, 8: Number.UINT32, 10: Number.UINT64, 27: Number.BFLOAT16, 1: Number.FLOAT16,
    0: Number.FLOAT32,
}  # fmt: skip
"""aclDataType -> what the generator calls it."""


@entry(null("taskInfo"), waits_for_snapshot=True)
def aclrtRandomNumAsync(acl: Acl, taskInfo: Address, stream: Handle, reserve: Address) -> None:
    """Queue the generation of random numbers: dropout mask, uniform, normal, truncated normal."""
    call = "aclrtRandomNumAsync"
    kind, distribution, parameters, operands_at, result, counter, seed, count = _REQUEST.unpack(
        caller.read(taskInfo, _REQUEST.size)
    )
    number = _TYPES.get(kind)
    if number is None:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: dataType {kind} is not generated", ee="EH0009",
            params=(call, kind, "taskInfo->dataType", "the generator has no such type"),
            hint="float, float16, bfloat16, and 32 or 64-bit integers exist",
        )
    check_generator(acl.runtime.machine.chip, call)
    if reserve:
        raise _out_of_range(call, reserve, "reserve", "NULL")
    where = own_stream_of(acl, call, stream)
    if distribution not in tuple(Distribution):
        raise _out_of_range(call, distribution, "funcType", "[0, 3]")
    how = Distribution(distribution)
    rows = [parameters[: _OPERAND.size]]
    if how is not Distribution.DROPOUT_MASK:
        rows.append(parameters[_OPERAND.size :])
    asked = RandomNumbers(
        distribution=how, number=number, parameters=tuple(_operand(call, row) for row in rows),
        seed=_operand(call, seed), count=_operand(call, count), result=result, counter=counter, operands_at=operands_at,
    )
    queue_random(where, asked, call)


def _operand(call: str, row: bytes) -> Operand:
    is_address, data, size = _OPERAND.unpack(row)
    if is_address > 1:
        raise _out_of_range(call, is_address, "isAddr", "0 or 1")
    if size > len(data):
        raise _out_of_range(call, size, "size", f"[1, {len(data)}]")
    return Operand(data[:size], bool(is_address))


def _out_of_range(call: str, value: int, name: str, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; expected {expected}", ee="EE1003",
        params=(call, value, name, expected),
    )


_RANDOM = 1
"""aclrtUpdateTaskAttrId of a task that generates random numbers; 2 is a kernel."""
_UNBOUND, _UNCAPTURED = unbound("execStream", code=107000), uncaptured("execStream")


@entry(
    null("info"), refuse("word_at(info) not in (1, 2)", "info", "id 1 or 2", "EE1003"), null_rt("taskStream"),
    live("taskStream", Stream),
    refuse("word_at(info) == 1 and not chip_has(acl, 'TASK_RAND_GENERATOR')", "info", "a chip with a generator", "",
           code=207000), live("execStream", Stream), waits_for_snapshot=True,
)  # fmt: skip
def aclrtTaskUpdateAsync(acl: Acl, taskStream: Handle, taskId: U32, info: Address, execStream: Handle) -> None:
    """Refuse: tasks that generate random numbers are not changed in place; capture them anew.

    Raises:
        NotSupported 207000: whatever the task is.
    """
    call = "aclrtTaskUpdateAsync"
    kind, data, size = struct.unpack("<IxxxxQQ", caller.read(info, 24))
    need_rt(call, **{"info->data": data})
    if kind == _RANDOM and size != _REQUEST.size:
        why = f"a description of random numbers has {_REQUEST.size} bytes"
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: info->size is {size}: {why}", ee="EE1011",
            params=(call, size, "info->size", why),
        )
    acl.runtime.current_context()
    found = stream_of(acl, execStream)
    if is_bound(found):
        raise _UNBOUND.fault(call, execStream, model_of(found))
    if is_captured(found):
        raise _UNCAPTURED.fault(call, execStream, capture_of(found))
    target = own_stream_of(acl, call, execStream)
    raise errors.fault(
        "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: task {taskId} cannot be changed from stream {target.stream_id}",
        hint="use a task group and capture the new task into it",
    )
