"""Value writes on STARS v1, and waits for a value in memory.

Sources: stars_sqe.hpp (RtStarsWriteValueSqe, RtStarsFunctionCallSqe); sqe_fill_rules 5 and 7.  ``chips.programs``
builds the blocks that wait.
"""

from __future__ import annotations

from typing import Literal

from chips.env import EncodeEnv, TaskIds
from chips.generations.v100.tables import LAYOUTS, call, ops
from chips.registry import Later, TaskOps
from chips.tasks import (
    CaptureRecord,
    CaptureRecordExternal,
    CaptureWait,
    CaptureWaitExternal,
    IpcRecord,
    IpcWait,
    MemWaitValue,
    MemWriteValue,
    Report,
    WriteValue,
    WriteValuePointer,
)

_AWCACHE_VALUE = 2
_EXTERNAL_SIZE = 0  # one byte
_WRITE = LAYOUTS["write_value"]
_WRITE_POINTER = LAYOUTS["write_value_pointer"]
_NOP = LAYOUTS["nop"]
_INVALID_TYPE = LAYOUTS["invalid"].when["type"]
_WAIT = LAYOUTS["memory_wait"]
_WAIT_END = LAYOUTS["memory_wait_end"]


def wants_report(report: Report, env: EncodeEnv) -> bool:
    """Whether a value write asks for a completion entry."""
    return env.dvpp_group if report is Report.DEFAULT else report is Report.ALWAYS


def write_value(task: WriteValue | WriteValuePointer, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a value write, direct or through a block in memory."""
    if isinstance(task, WriteValuePointer):
        return _WRITE_POINTER.encode(
            stream_id=env.stream_id, task_id=ids.task_id, wr_cqe=wants_report(task.report, env), pointer=task.pointer
        )
    return _WRITE.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=wants_report(task.report, env),
        addr=task.addr,
        awsize=task.size_code,
        awcache=_AWCACHE_VALUE,
        value=int.from_bytes(task.data, "little"),
    )


def mem_write_value(task: MemWriteValue, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of a 64-bit value write (user values, captured and inter-process records)."""
    fields = {} if task.addr else {"type": _INVALID_TYPE}
    return _WRITE.encode(
        stream_id=env.stream_id,
        task_id=ids.task_id,
        wr_cqe=env.dvpp_group,
        addr=task.addr,
        awsize=task.size_code,
        value=task.value,
        **fields,
    )


def record_external(task: CaptureRecordExternal, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the SQE of an external event record: a no-op until its memory is attached."""
    head = {"stream_id": env.stream_id, "task_id": ids.task_id}
    if task.pointer:
        return _WRITE_POINTER.encode(**head, wr_cqe=env.dvpp_group, pointer=task.pointer)
    if task.addr:
        return _WRITE.encode(**head, wr_cqe=env.dvpp_group, addr=task.addr, awsize=_EXTERNAL_SIZE, value=task.value)
    return _NOP.encode(**head)


def memory_wait(task: MemWaitValue, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the four SQEs of a memory wait: no-op, flag := 0, the polling call, where to go on."""
    head = {"stream_id": env.stream_id, "task_id": ids.task_id}
    return b"".join(
        (
            _NOP.encode(**head),
            _WRITE.encode(**head, wr_cqe=env.dvpp_group, addr=task.flag_addr, awsize=task.size_code),
            call(_WAIT, env, ids, task.function, task.function_bytes),
            _WAIT_END.encode(**head, position=(ids.position + 1) % env.ring_depth),
        )
    )


def wait_external(task: CaptureWaitExternal, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Build the three SQEs of an external event wait; no-ops until its memory is attached."""
    head = {"stream_id": env.stream_id, "task_id": ids.task_id}
    nop = _NOP.encode(**head)
    if not task.addr:
        return nop * 3
    reset = _WRITE.encode(**head, wr_cqe=env.dvpp_group, addr=task.flag_addr, awsize=0)
    return nop + reset + call(_WAIT, env, ids, task.function, task.function_bytes)


_FUNCTION = {"function": 0x100, "function_bytes": 8}


def _wait(kind: type[MemWaitValue], verified: Literal["bytes", "rule"] = "bytes") -> TaskOps:
    return ops(
        memory_wait,
        "nop write_value memory_wait memory_wait_end",
        Later(kind, **_FUNCTION),
        verified=verified,
        sqes=4,
    )


OPS = (
    ops(write_value, "write_value write_value_pointer", WriteValue, WriteValuePointer),
    ops(mem_write_value, "write_value invalid", MemWriteValue),
    ops(mem_write_value, "write_value invalid", CaptureRecord, verified="rule"),
    ops(mem_write_value, "write_value invalid", IpcRecord, verified="rule"),
    ops(
        record_external,
        "nop write_value write_value_pointer",
        CaptureRecordExternal,
        Later(CaptureRecordExternal, addr=8),
        verified="rule",
    ),
    _wait(MemWaitValue),
    _wait(CaptureWait, "rule"),
    _wait(IpcWait, "rule"),
    ops(
        wait_external,
        "nop write_value memory_wait",
        CaptureWaitExternal,
        Later(CaptureWaitExternal, addr=8, flag_addr=8, **_FUNCTION),
        verified="rule",
        sqes=3,
    ),
)
"""Builders of this module."""
