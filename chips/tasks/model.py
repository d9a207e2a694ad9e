"""Models and graphs: building, executing, branching."""

from __future__ import annotations

import enum
from typing import ClassVar

from chips.tasks.types import Task, TaskType, described

__all__ = [
    "CaptureCondition",
    "ConditionKind",
    "LabelSet",
    "LabelSwitchByIndex",
    "ModelExecute",
    "ModelMaintenance",
    "ModelOperation",
    "ModelTaskUpdate",
    "SerialSchedule",
    "StreamActive",
    "StreamSwitch",
]


class ModelOperation(enum.IntEnum):
    """What a model maintenance task does (task_info.hpp, MMT_*)."""

    STREAM_ADD = 0
    STREAM_DELETE = 1
    LOAD_COMPLETE = 2
    DESTROY = 3
    PRE_PROCESS = 4
    STREAM_LOAD_COMPLETE = 5
    ABORT = 6


class ConditionKind(enum.IntEnum):
    """Kind of a conditional graph node."""

    IF = 0
    WHILE = 1
    SWITCH = 2


@described
class ModelMaintenance(Task):
    """Build up, take down or prepare a model on the device.

    ``stream_id`` is the stream it is about, ``sq_id`` its queue (v2).  PRE_PROCESS also takes the executor flag
    (2 AICPU, 1 TS, 5 capture) and the notify of the end of the graph.
    """

    type: ClassVar[TaskType] = TaskType.MODEL_MAINTAINCE
    operation: ModelOperation
    model_id: int
    stream_id: int = 0
    sq_id: int = 0
    stream_type: int = 0
    first_task_id: int = 0
    endgraph_notify_id: int = 0
    executor_flag: int = 0
    exec_times_addr: int = 0


@described
class ModelExecute(Task):
    """Start a model: a program at ``function`` activates the queues of its head streams.

    ``function_bytes`` counts the instructions; tables of the head queues and of the addresses of their execution
    counters follow them.  ``trace_addr``: where the program leaves what went wrong.
    """

    type: ClassVar[TaskType] = TaskType.MODEL_EXECUTE
    model_id: int
    first_task_id: int = 0
    function: int = 0
    function_bytes: int = 0
    head_sq_ids: tuple[int, ...] = ()
    exec_times_addrs: tuple[int, ...] = ()
    trace_addr: int = 0


@described
class StreamSwitch(Task):
    """Activate another stream if a device variable compares with a value.

    ``condition``: 0 ==, 1 !=, 2 >, 3 >=, 4 <, 5 <=.  ``extended`` reads the value from ``value_addr`` and compares as
    ``data_type`` (0 int32, 1 int64), else ``value`` is the 64-bit constant.
    """

    type: ClassVar[TaskType] = TaskType.STREAM_SWITCH
    addr: int
    condition: int
    true_sq_id: int
    true_stream_id: int = 0
    value: int = 0
    value_addr: int = 0
    data_type: int = 0
    extended: bool = False
    page: int = 0
    exec_times_addr: int = 0
    function: int = 0
    function_bytes: int = 0


@described
class StreamActive(Task):
    """Activate another stream's queue, given its register page and its execution counter."""

    type: ClassVar[TaskType] = TaskType.STREAM_ACTIVE
    active_sq_id: int
    active_stream_id: int = 0
    page: int = 0
    exec_times_addr: int = 0
    function: int = 0
    function_bytes: int = 0


@described
class LabelSet(Task):
    """Define a label at this position of the stream; ``dst`` is its entry in the label table."""

    type: ClassVar[TaskType] = TaskType.LABEL_SET
    label_id: int
    dst: int = 0


@described
class LabelSwitchByIndex(Task):
    """Go on at the label whose index stands at ``index_addr`` (values >= ``max_index`` take the last).

    ``labels_addr`` is the label table, ``count_addr`` the word with the number of labels the model has.
    """

    type: ClassVar[TaskType] = TaskType.STREAM_LABEL_SWITCH_BY_INDEX
    index_addr: int
    max_index: int
    labels_addr: int
    function: int = 0
    function_bytes: int = 0
    trace_addr: int = 0
    count_addr: int = 0


@described
class ModelTaskUpdate(Task):
    """Change a task of a model from the device: offsets of the new values from the descriptor, and whose task it is."""

    type: ClassVar[TaskType] = TaskType.MODEL_TASK_UPDATE
    descriptor_offset: int
    tiling_key_offset: int
    block_dim_offset: int
    tiling_table_offset: int
    tiling_table_length: int
    target_stream_id: int
    target_task_id: int
    execute_stream_id: int


@described
class CaptureCondition(Task):
    """A conditional node of a captured graph: evaluate, run the chosen sub-graph, wait for its end notify."""

    type: ClassVar[TaskType] = TaskType.CAPTURE_CONDITION
    kind: ConditionKind
    notify_id: int
    function: int = 0
    function_bytes: int = 0
    jump_function: int = 0
    jump_function_bytes: int = 0
    timeout_s: int = 0


@described
class SerialSchedule(Task):
    """A step of serial model scheduling (v201): ``type`` says which, the rest whom it is about."""

    type: TaskType = TaskType.MODEL_SERIAL_SCHED_PREPROC  # type: ignore[misc]
    model_id: int = 0
    notify_id: int = 0
    priority: int = 0
    timeout_s: int = 0xFFFFFFFF
    """How long the wait lasts; the default is for ever."""
    sq_ids: tuple[int, ...] = ()
    """The queue that executes the model, and the model's own."""
    group_id: int = 0
    pid: int = 0
