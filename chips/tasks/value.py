"""Values in memory: writes, and waits until one compares."""

from __future__ import annotations

import enum
from typing import ClassVar

from chips.tasks.types import Task, TaskType, described

__all__ = [
    "CaptureRecord",
    "CaptureRecordExternal",
    "CaptureWait",
    "CaptureWaitExternal",
    "IpcRecord",
    "IpcWait",
    "MemWaitValue",
    "MemWriteValue",
    "Report",
    "WaitFor",
    "WriteValue",
    "WriteValuePointer",
]


class Report(enum.IntEnum):
    """Whether a value write asks for a completion entry (TaskWrCqeFlag)."""

    DEFAULT = 0
    NEVER = 1
    ALWAYS = 2


class WaitFor(enum.IntEnum):
    """Condition of a memory wait; all but the first two ignore bits the value does not name."""

    GREATER_OR_EQUAL = 0
    EQUAL = 1
    AND = 2
    NOR = 3


@described
class WriteValue(Task):
    """Write 1 to 32 bytes: ``size_code`` is log2 of the byte count (0..5), ``data`` that many bytes or fewer."""

    type: ClassVar[TaskType] = TaskType.WRITE_VALUE
    addr: int
    size_code: int
    data: bytes
    report: Report = Report.DEFAULT


@described
class WriteValuePointer(Task):
    """A value write described by a 32-byte block in device memory."""

    type: ClassVar[TaskType] = TaskType.WRITE_VALUE
    pointer: int
    report: Report = Report.DEFAULT


@described
class MemWriteValue(Task):
    """Write a 64-bit value to memory when the stream gets there; address 0 makes an invalid SQE."""

    type: ClassVar[TaskType] = TaskType.MEM_WRITE_VALUE
    addr: int
    value: int
    size_code: int = 3


@described
class CaptureRecord(MemWriteValue):
    """An event record in a captured graph: one byte."""

    type: ClassVar[TaskType] = TaskType.CAPTURE_RECORD
    size_code: int = 0


@described
class IpcRecord(MemWriteValue):
    """An inter-process event record: one byte."""

    type: ClassVar[TaskType] = TaskType.IPC_RECORD
    size_code: int = 0


@described
class MemWaitValue(Task):
    """Wait until memory compares with a value as ``flag`` says (WaitFor).

    Runs as a small program: ``function`` (256-byte aligned) of ``function_bytes`` in device memory, a private flag at
    ``flag_addr`` (size code as for writes) and a mark that it paused its queue at ``pause_addr``.  A wait in a graph
    finds the number of its queue at ``sq_id_addr``.
    """

    type: ClassVar[TaskType] = TaskType.MEM_WAIT_VALUE
    addr: int
    value: int
    flag: int = 0
    size_code: int = 3
    function: int = 0
    function_bytes: int = 0
    flag_addr: int = 0
    pause_addr: int = 0
    sq_id_addr: int = 0


@described
class CaptureWait(MemWaitValue):
    """An event wait in a captured graph."""

    type: ClassVar[TaskType] = TaskType.CAPTURE_WAIT
    size_code: int = 0


@described
class IpcWait(MemWaitValue):
    """An inter-process event wait."""

    type: ClassVar[TaskType] = TaskType.IPC_WAIT
    size_code: int = 0


@described
class CaptureRecordExternal(Task):
    """An event record of a graph on memory that is attached later: a no-op until ``addr`` or ``pointer`` is set."""

    type: ClassVar[TaskType] = TaskType.CAPTURE_RECORD_EXTERNAL
    addr: int = 0
    value: int = 1
    pointer: int = 0


@described
class CaptureWaitExternal(Task):
    """An event wait of a graph on memory that is attached later: three no-ops until ``addr`` is set.

    The word at ``addr`` holds where the event's byte lies, 0 for none; the one at ``sq_id_addr`` the queue it runs in.
    """

    type: ClassVar[TaskType] = TaskType.CAPTURE_WAIT_EXTERNAL
    addr: int = 0
    value: int = 1
    function: int = 0
    function_bytes: int = 0
    flag_addr: int = 0
    sq_id_addr: int = 0
