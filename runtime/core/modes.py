"""What streams and devices can be asked to be: flags and modes, as the vendor's headers number them."""

from __future__ import annotations

import enum
from typing import cast


class StreamFlag(enum.IntFlag):
    """What a stream is for (rt_stream.h, RT_STREAM_*)."""

    DEFAULT = 0
    PERSISTENT = 0x1
    """Tasks stay for a model; nothing waits for them."""
    FORCE_COPY = 0x2
    HUGE = 0x4
    """A ring of the chip's huge depth, where it has one."""
    CPU_SCHEDULE = 0x8
    """Driven by the AICPU scheduler: the host only keeps a number for it."""
    FORBIDDEN_DEFAULT = 0x10
    """A placeholder without any resource."""
    HEAD = 0x20
    PRIMARY_DEFAULT = 0x40
    PRIMARY_FIRST_DEFAULT = 0x80
    OVERFLOW = 0x100
    FAST_LAUNCH = 0x200
    FAST_SYNC = 0x400
    """Synchronize polls long before it gives the processor away."""
    DEVICE_USE_ONLY = 0x800
    """Only device code submits to it (coprocessor use)."""
    VECTOR_CORE = 0x1000
    SQ_LOCK = 0x2000
    DQS_CTRL = 0x4000
    DQS_INTER_CHIP = 0x8000

    HOST_ONLY = CPU_SCHEDULE | FORBIDDEN_DEFAULT
    NEVER_WAITED = PERSISTENT | HOST_ONLY | DEVICE_USE_ONLY
    """Synchronize and query of such streams succeed at once, and launch blocking does not apply."""

    def __and__(self, other: int) -> StreamFlag:
        """Look the answer up, which `enum` would make: streams ask for flags all the time."""
        found = StreamFlag._value2member_map_.get(int.__and__(self, other))
        return super().__and__(other) if found is None else cast("StreamFlag", found)

    __rand__ = __and__


class FailureMode(enum.IntEnum):
    """How a stream takes a failed task (TsStreamFailureMode); ABORT is where a stopped stream ends up."""

    CONTINUE = 0
    STOP = 1
    ABORT = 2


class LaunchBlocking(enum.IntEnum):
    """A stream's setting (attribute LAUNCH_BLOCKING_MODE)."""

    BY_ENVIRONMENT = 0
    NON_BLOCKING = 1
    BLOCKING = 2


class SaturationMode(enum.IntEnum):
    """What becomes of a floating-point result out of range (aclrtFloatOverflowMode)."""

    SATURATION = 0
    INF_NAN = 1
