"""Time limits of the process: how long streams wait for events, and how long an operator may run (core_spec 20)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from chips import credit
from runtime import errors

if TYPE_CHECKING:
    from chips.chip import Chip
    from chips.env import EncodeEnv
    from runtime.core.device import Device

_US_PER_MS = 1000
_MAX_WAIT_S = (1 << 32) - 1


class Timeouts:
    """The limits that hold where a call states none; a runtime has one of these."""

    __slots__ = ("_devices", "_in_ms", "_operator_us", "_wait_s")

    def __init__(self, devices: Callable[[], Iterable[Device]]) -> None:
        """Args:
            devices: returns the open devices, whose streams learn of a new limit at once.
        """
        self._devices = devices
        self._wait_s = 0
        self._operator_us: int | None = None
        self._in_ms = False

    # -- waits -----------------------------------------------------------------------------------------------------

    def set_wait(self, seconds: int) -> None:
        """Limit waits that state no limit of their own; 0 is none."""
        if not 0 <= seconds <= _MAX_WAIT_S:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"wait limit of {seconds} s; it must be 0 to {_MAX_WAIT_S}",
                hint="0 waits for ever",
            )
        self._wait_s = seconds

    def wait_s(self, chip: Chip, asked: int | None) -> int:
        """Return the limit of a wait in seconds, 0 for none.

        Args:
            asked: what the call states, or None.

        Raises:
            InvalidArgument 107000: negative.
            NotSupported 207000: the chip knows no limit for waits.
        """
        if asked is not None and not 0 <= asked <= _MAX_WAIT_S:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"wait for an event: timeout_s is {asked}; it must be 0 to {_MAX_WAIT_S}",
                ee="EH0007", params=("wait for an event", asked, "timeout_s", "0 or more"), hint="0 waits for ever",
            )
        mode = chip.prop("streamWaitEventTimeout")
        if mode == "CUSTOM":
            return self._wait_s if asked is None else asked
        if asked and mode != "CUSTOM":
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{chip.soc} does not limit how long a stream waits for an event",
                hint="pass 0, and synchronize the stream with a time-out instead",
            )
        return 0

    # -- operators -------------------------------------------------------------------------------------------------

    def set_operator(self, time_us: int, *, in_ms: bool = False) -> None:
        """Limit how long an operator may run, in microseconds; 0 is the longest time that the hardware counts.

        Launches that were prepared before keep their limit only until they are prepared again.

        Args:
            in_ms: the limit was stated finer than in seconds.
        """
        if time_us < 0:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"operator limit of {time_us} us; it must not be negative",
                hint="0 is the longest time that the hardware counts",
            )
        self._operator_us, self._in_ms = time_us, in_ms
        for device in self._devices():
            device.env = self.applied(device.env)
            for stream in device.streams():
                stream.env = self.applied(stream.env)
                stream.launchers.clear()

    def applied(self, env: EncodeEnv) -> EncodeEnv:
        """Return the facts of a device or stream with the operator limit in them."""
        if self._operator_us is None:
            return env
        return replace(env, op_timeout_us=self._operator_us, op_timeout_in_ms=self._in_ms)

    def operator_us(self, env: EncodeEnv) -> float:
        """Return the limit that the hardware really counts, in microseconds: whole steps, at least one."""
        steps = credit.from_time(self._operator_us or 0, env)
        return steps * credit.interval_us(env)

    def operator_ms(self, env: EncodeEnv) -> int:
        """Return `operator_us` in milliseconds, rounded up."""
        return math.ceil(self.operator_us(env) / _US_PER_MS)
