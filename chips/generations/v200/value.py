"""Value writes, and waits for a value in memory (RtDavidStarsWriteValueSqe, RtDavidStarsFunctionCallSqe)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from chips.generations.v200.generation import Generation, Rule
from chips.generations.v200.model import call
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

if TYPE_CHECKING:
    from chips.env import EncodeEnv, TaskIds

_INVALID = 63  # SQE type of an entry that must not run
_CACHE = 2  # write attribute of all value writes but those to a wait's own flag
_SIZE_8_BIT = 0
_VALUE = struct.Struct("<8I")
_WAIT_SQES = 3
_WAIT_PROGRAM_BYTES = 500  # sizeof RtStarsMemWaitValueLastInstrFcWithDynamicProf


def report(wish: Report, env: EncodeEnv) -> bool:
    """Return whether a value write asks for a completion entry."""
    return env.dvpp_group if wish == Report.DEFAULT else wish == Report.ALWAYS


def write_value(at: Generation, task: WriteValue, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a write of 1 to 32 bytes; bytes the task does not give are zero."""
    data = task.data.ljust(_VALUE.size, b"\0")
    words = {f"value[{index}]": word for index, word in enumerate(_VALUE.unpack(data)) if word}
    return at.encode(
        "write_value",
        env,
        ids,
        wr_cqe=report(task.report, env),
        addr=task.addr,
        awsize=task.size_code,
        awcache=_CACHE,
        va=1,
        **words,
    )


def write_value_pointer(at: Generation, task: WriteValuePointer, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a write whose description lies in device memory."""
    return at.encode("write_value_pointer", env, ids, wr_cqe=report(task.report, env), descriptor=task.pointer)


def mem_write_value(at: Generation, task: MemWriteValue, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a write of one value; address 0 makes an entry that the hardware refuses."""
    return _write(at, env, ids, task.addr, task.value, task.size_code)


def capture_record_external(at: Generation, task: CaptureRecordExternal, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the record of an event attached later: by pointer, by address, or a no-op while there is neither."""
    if task.pointer:
        return at.encode("write_value_pointer", env, ids, descriptor=task.pointer)
    if task.addr:
        return _write(at, env, ids, task.addr, task.value, _SIZE_8_BIT)
    return at.encode("nop", env, ids)


def mem_wait_value(at: Generation, task: MemWaitValue, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode a wait: a NOP to come back to, the reset of the wait's flag, the program that compares.

    The call states the size of the program's longest form, also on chips whose program is shorter.
    """
    size = max(task.function_bytes, _WAIT_PROGRAM_BYTES)
    return _wait(at, env, ids, task.flag_addr, task.size_code, task.function, size)


def capture_wait_external(at: Generation, task: CaptureWaitExternal, env: EncodeEnv, ids: TaskIds) -> bytes:
    """Encode the wait for an event attached later: three no-ops while there is none."""
    if not task.addr:
        return at.encode("nop", env, ids) * _WAIT_SQES
    return _wait(at, env, ids, task.flag_addr, _SIZE_8_BIT, task.function, task.function_bytes)


def _write(at: Generation, env: EncodeEnv, ids: TaskIds, addr: int, value: int, size_code: int) -> bytes:
    if not addr:
        return at.encode("write_value", env, ids, type=_INVALID)
    words = {"value[0]": value & 0xFFFF_FFFF, "value[1]": value >> 32}
    return at.encode("write_value", env, ids, addr=addr, awsize=size_code, awcache=_CACHE, va=1, **words)


def _wait(
    at: Generation, env: EncodeEnv, ids: TaskIds, flag: int, size_code: int, function: int, function_bytes: int
) -> bytes:
    return (
        at.encode("nop", env, ids)
        + at.encode("write_value", env, ids, addr=flag, awsize=size_code, va=1)
        + call(at, "mem_wait", env, ids, function, function_bytes)
    )


_WAITING = ("nop", "write_value", "mem_wait")
_SAMPLE = {"addr": 0x1000, "value": 1, "function": 0x1000, "function_bytes": 64, "flag_addr": 0x2000}

RULES = (
    Rule(WriteValue, write_value, ("write_value",)),
    Rule(WriteValuePointer, write_value_pointer, ("write_value_pointer",)),
    Rule(MemWriteValue, mem_write_value, ("write_value",)),
    Rule(CaptureRecord, mem_write_value, ("write_value",)),
    Rule(IpcRecord, mem_write_value, ("write_value",)),
    Rule(MemWaitValue, mem_wait_value, _WAITING, sqes=_WAIT_SQES, samples=(MemWaitValue(**_SAMPLE),)),
    Rule(CaptureWait, mem_wait_value, _WAITING, sqes=_WAIT_SQES, samples=(CaptureWait(**_SAMPLE),)),
    Rule(IpcWait, mem_wait_value, _WAITING, sqes=_WAIT_SQES, samples=(IpcWait(**_SAMPLE),)),
)
"""Builders of this module that all generations have."""

EXTERNAL = (
    Rule(
        CaptureRecordExternal,
        capture_record_external,
        ("write_value", "write_value_pointer", "nop"),
        verified="rule",
        samples=(CaptureRecordExternal(addr=0x1000), CaptureRecordExternal(pointer=0x1000), CaptureRecordExternal()),
    ),
    Rule(
        CaptureWaitExternal,
        capture_wait_external,
        _WAITING,
        verified="rule",
        sqes=_WAIT_SQES,
        samples=(CaptureWaitExternal(**_SAMPLE), CaptureWaitExternal()),
    ),
)
"""Builders of external events, which v201 does not have."""
