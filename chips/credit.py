"""Time-out credits: how a time limit becomes the 8-bit credit field of an SQE.

The scheduler counts a running entry down from its credit, one step every "credit interval"; 255 never ends.  Rules of
every generation stand here once; the builders say which of them applies.  Source: the runtime's time-out helpers
(GetAicpuKernelCredit, GetSdmaKernelCredit, GetKernelCreditByTimeout and the credit start value of DevProperties);
`sqe_fill_rules`, section 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chips.env import EncodeEnv

NEVER_US = (1 << 64) - 1
"""Time limit of a task that may run for ever, in microseconds."""

NEVER_CREDIT = 255
"""Credit that is not counted down."""

MAX_CREDIT = 254
"""Longest limit that is counted down."""

_AICPU_LONG_US = 1_091_000_000  # above this the scheduler's own AICPU limit is switched off
_AICPU_MARGIN = 4  # steps the scheduler allows the AICPU beyond its own limit
_AICPU_MARGIN_BELOW = 250
_CREDIT_UNMONITORED = 8
_CREDIT_UNMONITORED_FLAT = 16
_KFC_KINDS = frozenset({5, 6})  # AICPU kernel kinds that take a limit where STARS does not watch the AICPU
_NO_START_VALUE = 0xFFFF

_SCALE_UNKNOWN = 0.001  # KernelCreditScale of chips that count in cycles of 1 GHz
_CYCLES_UNKNOWN_US = 4294967.296
_SCALE_MIN = 0.001
_FINE_US = 100_000.0
_SCALE_MC62 = 33554.43359375  # the value of MC62CM12A, 33554.432 rounded to single precision; MC32DM11A keeps it exact
_SCALE_BS9 = 18641.351
_TOLERANCE = 1e-5


def interval_us(env: EncodeEnv) -> float:
    """Microseconds per credit of the stream's device; below 0.001 where the chip states none."""
    chip = env.chip
    scale = float(chip.prop("KernelCreditScale"))
    if chip.soc.startswith("BS9SX1A"):
        return _SCALE_BS9
    if abs(scale - _SCALE_UNKNOWN) > _TOLERANCE:
        return scale
    if env.credit_interval_us and chip.has("TASK_EXEC_TIMEOUT_SCALE_MODIFY") and env.ts_has("OP_EXEC_TIMEOUT_MS"):
        return env.credit_interval_us
    return _CYCLES_UNKNOWN_US


def is_fine(interval_us: float) -> bool:
    """Tell whether steps of this many microseconds, as the scheduler has answered, are fine: below 100 ms."""
    return _SCALE_MIN < interval_us < _FINE_US


def from_time(time_us: int, env: EncodeEnv, most: int = MAX_CREDIT) -> int:
    """Credits that cover a time, rounded up; ``most`` for 0, for longer times, and where the interval is unknown."""
    interval = interval_us(env)
    if time_us == 0 or interval < _SCALE_MIN:
        return most
    return min(math.ceil(time_us / interval), most)


def started(credit: int, env: EncodeEnv) -> int:
    """Credit as the chip counts it: one less where counting starts at 0 (creditStartValue), 255 left alone."""
    start = int(env.chip.prop("creditStartValue"))
    if start == _NO_START_VALUE or credit == NEVER_CREDIT:
        return credit
    return credit - 1 if credit else start


def aicore(time_us: int, env: EncodeEnv) -> int:
    """Credit of a cube or vector kernel with a limit of ``time_us`` (0: the process-wide or the chip's own limit)."""
    if time_us == NEVER_US and (env.ts_has("OP_EXEC_TIMEOUT_MS") or env.ts_has("AICORE_NEVER_TIMEOUT")):
        return started(NEVER_CREDIT, env)
    if time_us:
        return started(from_time(time_us, env), env)
    if env.op_timeout_us is None:
        return started(int(env.chip.prop("starsDefaultKernelCredit")), env)
    if env.op_timeout_fine and env.op_timeout_us == 0:
        return started(NEVER_CREDIT, env)
    return started(from_time(env.op_timeout_us, env), env)


def sdma(env: EncodeEnv) -> int:
    """Credit of a copy engine entry."""
    limit = env.op_timeout_us
    if limit is not None and (env.op_timeout_fine or env.chip.has("KERNEL_CREDIT_CALC_FROM_EXE_TIMEOUT")):
        return started(from_time(limit, env), env)
    return started(MAX_CREDIT, env)


def monitors_aicpu(env: EncodeEnv) -> bool:
    """Whether STARS itself watches how long AICPU kernels take."""
    return env.online and env.chip.has("STARS_MONITOR_AICPU_TIMEOUT")


def aicpu_unlimited(env: EncodeEnv) -> int:
    """Credit of an AICPU entry that carries no limit at all and that STARS does not watch."""
    return _CREDIT_UNMONITORED_FLAT if env.flat_addresses else _CREDIT_UNMONITORED


def aicpu(time_us: int, kind: int, env: EncodeEnv, *, never: int = NEVER_CREDIT) -> int:
    """Credit of an AICPU kernel of a kind with a limit of ``time_us`` (0: the process-wide limit).

    ``never`` is what stands for an unlimited kernel; v100 has no unlimited credit for old task schedulers.
    """
    watched = monitors_aicpu(env)
    if time_us == NEVER_US or (time_us > _AICPU_LONG_US and (watched or kind in _KFC_KINDS)):
        return never
    if not time_us and env.op_timeout_us is None and watched:
        return started(MAX_CREDIT, env)
    limit = time_us or env.op_timeout_us or 0
    wide = abs(float(env.chip.prop("KernelCreditScale")) - _SCALE_MC62) < _TOLERANCE
    credit = from_time(limit, env, NEVER_CREDIT if wide else MAX_CREDIT)
    if credit < _AICPU_MARGIN_BELOW:
        credit += _AICPU_MARGIN
    return started(credit, env)


def ccu(seconds: int, env: EncodeEnv) -> int:
    """Credit of a collective-communication mission; 0 seconds and times beyond the range mean no limit."""
    time_us = seconds * 1_000_000
    if seconds == 0 or time_us > MAX_CREDIT * interval_us(env):
        return NEVER_CREDIT
    return started(from_time(time_us, env), env)


def dvpp(requested: int, env: EncodeEnv) -> int:
    """Credit of a media entry that its caller filled in, cut to what is counted."""
    return started(min(requested, MAX_CREDIT), env)
