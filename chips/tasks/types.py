"""Task types: what the task scheduler calls each kind of work.

Numbers as in task_info.hpp, enum tsTaskType_t; they stand in placeholder SQEs and in profiling records.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar, TypeVar

from npuhal.records import dataclass

__all__ = ["BareTask", "Task", "TaskType"]

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        """Tell type checkers what a decorator does; nothing while the program runs."""
        return lambda decorator: decorator


class TaskType(enum.IntEnum):
    """Every task type of the three plug-in families, by the vendor's number."""

    KERNEL_AICORE = 0
    KERNEL_AICPU = 1
    EVENT_RECORD = 2
    STREAM_WAIT_EVENT = 3
    FUSION_ISSUE = 4
    MEMCPY = 5
    MAINTENANCE = 6
    CREATE_STREAM = 7
    DATA_DUMP = 8
    REMOTE_EVENT_WAIT = 9
    CREATE_L2_ADDR = 11
    MODEL_MAINTAINCE = 12
    MODEL_EXECUTE = 13
    NOTIFY_WAIT = 14
    NOTIFY_RECORD = 15
    RDMA_SEND = 16
    STREAM_SWITCH = 18
    STREAM_ACTIVE = 19
    LABEL_SET = 20
    LABEL_SWITCH = 21
    LABEL_GOTO = 22
    PROFILER_TRACE = 23
    EVENT_RESET = 24
    RDMA_DB_SEND = 25
    PROFILER_TRACE_EX = 26
    PROFILER_DYNAMIC_ENABLE = 27
    PROFILER_DYNAMIC_DISABLE = 28
    ALLOC_DSA_ADDR = 29
    CCU_LAUNCH = 30
    MEM_WAIT_PROF = 31
    MEMSET = 32
    STARS_COMMON = 50
    FFTS = 51
    FFTS_PLUS = 52
    CMO = 53
    BARRIER = 54
    WRITE_VALUE = 55
    MULTIPLE_TASK = 56
    TASK_SQE_UPDATE = 57
    PROFILING_ENABLE = 64
    PROFILING_DISABLE = 65
    KERNEL_AIVEC = 66
    MODEL_END_GRAPH = 67
    MODEL_TO_AICPU = 68
    ACTIVE_AICPU_STREAM = 69
    DATADUMP_LOADINFO = 70
    STREAM_SWITCH_N = 71
    HOSTFUNC_CALLBACK = 72
    ONLINEPROF_START = 73
    ONLINEPROF_STOP = 74
    STREAM_LABEL_SWITCH_BY_INDEX = 75
    STREAM_LABEL_GOTO = 77
    DEBUG_REGISTER = 78
    DEBUG_UNREGISTER = 79
    FUSIONDUMP_ADDR_SET = 80
    MODEL_EXIT_GRAPH = 81
    ADCPROF = 82
    DEVICE_RINGBUFFER_CONTROL = 83
    DEBUG_REGISTER_FOR_STREAM = 84
    DEBUG_UNREGISTER_FOR_STREAM = 85
    TASK_TIMEOUT_SET = 86
    GET_DEVICE_MSG = 87
    NPU_GET_FLOAT_STATUS = 88
    NPU_CLEAR_FLOAT_STATUS = 89
    MEMCPY_ASYNC_WITHOUT_SDMA = 90
    SET_OVERFLOW_SWITCH = 91
    REDUCE_ASYNC_V2 = 92
    SET_STREAM_GE_OP_TAG = 93
    SET_STREAM_MODE = 94
    IPCINT_NOTICE = 95
    MODEL_LOAD = 96
    GET_STARS_VERSION = 97
    FLIP = 98
    SET_SQ_LOCK_UNLOCK = 99
    UPDATE_ADDRESS = 100
    MODEL_TASK_UPDATE = 101
    AICPU_INFO_LOAD = 102
    NOP = 103
    COMMON_CMD = 104
    UB_DB_SEND = 105
    DIRECT_SEND = 106
    FUSION_KERNEL = 107
    KERNEL_MIX_AIC = 108
    KERNEL_MIX_AIV = 109
    DAVID_EVENT_RECORD = 110
    DAVID_EVENT_WAIT = 111
    DAVID_EVENT_RESET = 112
    MEM_WRITE_VALUE = 113
    MEM_WAIT_VALUE = 114
    RDMA_PI_VALUE_MODIFY = 115
    DQS_ENQUEUE = 116
    DQS_DEQUEUE = 117
    DQS_PREPARE = 118
    DQS_ZERO_COPY = 119
    DQS_SCHED_END = 120
    DQS_MBUF_FREE = 121
    DQS_INTER_CHIP_PREPROC = 122
    DQS_INTER_CHIP_POSTPROC = 123
    DQS_ADSPC = 124
    TSFW_AICPU_MSG_VERSION = 125
    CAPTURE_RECORD = 126
    CAPTURE_WAIT = 127
    DQS_BATCH_DEQUEUE = 128
    IPC_RECORD = 129
    IPC_WAIT = 130
    DQS_CONDITION_COPY = 131
    DQS_FRAME_ALIGN = 132
    CAPTURE_CONDITION = 133
    CAPTURE_RECORD_EXTERNAL = 134
    CAPTURE_WAIT_EXTERNAL = 135
    MODEL_SERIAL_SCHED_PREPROC = 136
    MODEL_SERIAL_SCHED_NOTIFY_WAIT = 137
    MODEL_SERIAL_SCHED_POSTPROC = 138


@dataclass(frozen=True, slots=True)
class Task:
    """Base of all task descriptions: says what is to be done, independent of the chip that does it."""

    type: ClassVar[TaskType]


Kind = TypeVar("Kind", bound=type[Task])


@dataclass_transform(frozen_default=True, kw_only_default=True)
def described(kind: Kind) -> Kind:
    """Make a task description of a class: a frozen, slotted dataclass that takes keyword arguments."""
    return dataclass(frozen=True, slots=True, kw_only=True)(kind)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class BareTask(Task):
    """A type for which a STARS chip gets a bare placeholder: no payload, only a completion entry.

    The registry tells per generation which types these are (core_spec 9.1; registry entry ConstructSqeBase).
    """

    type: TaskType  # type: ignore[misc]
