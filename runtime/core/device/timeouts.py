"""Time limits of the process: how long streams wait for events, and how long an operator may run (core_spec 20)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from chips import credit
from chips.tasks import TimeoutSet
from npuhal.records import replace
from runtime import errors
from runtime.core.device import time_limits
from runtime.errors.arguments import whole, whole_or_none

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.env import EncodeEnv
    from runtime.core.ports import DevicePort

_US_PER_MS, _US_PER_S = 1000, 1_000_000
_MAX_WORD = (1 << 32) - 1
_TOLD_MS = 10_000
"""How long a scheduler may take to accept a limit."""


class Timeouts:
    """The limits that hold where a call states none; a runtime has one of these."""

    __slots__ = ("_devices", "_operator_us", "_wait_s")

    def __init__(self, devices: Callable[[], Iterable[DevicePort]]) -> None:
        """Args:
            devices: returns the open devices, whose schedulers and streams learn of a new limit at once.
        """
        self._devices = devices
        self._wait_s: int | None = None
        self._operator_us: int | None = None

    # -- waits -----------------------------------------------------------------------------------------------------

    def set_wait(self, seconds: int) -> None:
        """Limit waits that state no limit of their own; 0 is none."""
        seconds = whole("set_wait", "seconds", seconds)
        for device in self._devices():
            _need_wait_limit(device)
        if not 0 <= seconds <= _MAX_WORD:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"wait limit of {seconds} s; it must be 0 to {_MAX_WORD}",
                hint="0 waits for ever",
            )
        for device in self._devices():
            _send_timeout(device, TimeoutSet(wait_s=seconds))
        self._wait_s = seconds
        time_limits.warn(self)

    @property
    def wait_limit_s(self) -> int | None:
        """The limit of waits as it was set, or None."""
        return self._wait_s

    def wait_s(self, chip: Chip, asked: int | None) -> int:
        """Return the limit of a wait in seconds, 0 for none.

        Args:
            asked: what the call states, or None.

        Raises:
            InvalidArgument 107000: negative.
            NotSupported 207000: the chip knows no limit for waits.
        """
        asked = whole_or_none("wait for an event", "timeout_s", asked)
        if asked is not None and not 0 <= asked <= _MAX_WORD:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"wait for an event: timeout_s is {asked}; it must be 0 to {_MAX_WORD}",
                ee="EH0007", params=("wait for an event", asked, "timeout_s", "0 or more"), hint="0 waits for ever",
            )
        mode = chip.prop("streamWaitEventTimeout")
        if mode == "CUSTOM":
            return self._wait_s or 0 if asked is None else asked
        if asked and mode != "CUSTOM":
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{chip.soc} does not limit how long a stream waits for an event",
                hint="pass 0, and synchronize the stream with a time-out instead",
            )
        return 0

    # -- operators -------------------------------------------------------------------------------------------------

    def set_operator(self, time_us: int) -> None:
        """Limit how long an operator may run, in microseconds.

        0 is the longest time that the hardware counts, or no limit where it counts in fine steps. Schedulers are told
        first: a device that does not take the limit leaves everything as it was.
        """
        time_us = whole("set_operator", "time_us", time_us)
        if time_us < 0:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"operator limit of {time_us} us; it must not be negative",
                hint="0 is the longest time that the hardware counts",
            )
        for device in self._devices():
            _send_timeout(device, TimeoutSet(execute_s=_told_as(time_us, device.chip)))
        self._operator_us = min(time_us, credit.NEVER_US - 1)
        for device in self._devices():
            device.env = self.applied(device.env)
            for stream in device.streams():
                stream.env = self.applied(stream.env)
                stream.drop_prepared()
        time_limits.warn(self)

    @property
    def operator_limit_us(self) -> int | None:
        """The limit of operators as it was set, or None."""
        return self._operator_us

    def announce(self, device: DevicePort) -> None:
        """Tell the scheduler of a device that was just opened what was set before."""
        if self._wait_s is None and self._operator_us is None:
            return
        execute = None if self._operator_us is None else _told_as(self._operator_us, device.chip)
        _send_timeout(device, TimeoutSet(wait_s=self._wait_s, execute_s=execute))

    def applied(self, env: EncodeEnv) -> EncodeEnv:
        """Return the facts of a device or stream with the operator limit in them."""
        return env if self._operator_us is None else replace(env, op_timeout_us=self._operator_us)

    def operator_us(self, env: EncodeEnv) -> float:
        """Return the limit that the hardware really counts, in microseconds: whole steps; infinity for none.

        Args:
            env: of a device; how fine it counts is the device's matter.
        """
        if env.op_timeout_fine and self._operator_us == 0:
            return math.inf
        steps = credit.from_time(self._operator_us or 0, env)
        return steps * credit.interval_us(env)

    def operator_ms(self, env: EncodeEnv) -> float:
        """Return `operator_us` in milliseconds, rounded up."""
        limit = self.operator_us(env)
        return limit if math.isinf(limit) else math.ceil(limit / _US_PER_MS)


def _need_wait_limit(device: DevicePort) -> None:
    """Refuse a limit that the chip, or its scheduler, does not know."""
    known = device.chip.prop("eventWaitTimeout")
    if known == "SET_OP_WAIT_TIMEOUT_NOT_SUPPORT" or (
        known == "SET_OP_WAIT_TIMEOUT_NEED_TS_VERSION" and not device.scheduler_has("WAIT_TIMEOUT_DC")
    ):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"wait limit: the task scheduler of device {device.user_id} has none",
            hint="state a limit with each wait",
        )


def _told_as(time_us: int, chip: Chip) -> int:
    """Return an operator limit in the scheduler's unit: seconds, milliseconds on some chips."""
    unit = _US_PER_MS if chip.prop("opExecuteTimeout") else _US_PER_S
    return min(time_us // unit, _MAX_WORD)


def _send_timeout(device: DevicePort, task: TimeoutSet) -> None:
    """Send limits to the task scheduler, whose AICPU monitor keeps them; without such a monitor nobody needs them."""
    if device.scheduler.aicpu_monitor_off or device.chip.prop("timeoutUpdateMethod") == "TIMEOUT_WITHOUT_TASK":
        return
    device.control_stream.submit(task, owner="time limits")
    device.control_stream.settle(_TOLD_MS)
