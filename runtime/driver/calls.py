"""Checked HAL calls: every code that is not zero becomes a fault that keeps call, code and what was asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import npuhal
from npuhal import constants as c
from npuhal.errors import (
    ChannelError,
    DeviceLost,
    HalError,
    NotInitialised,
    OutOfMemory,
    StateError,
    Timeout,
    error_class,
)
from runtime import errors

if TYPE_CHECKING:
    from runtime.driver.resource_table import ResourceTable


_NOBODYS = frozenset({"halResourceIdFree", "halSqCqFree"})
"""Calls that give back what is closed for its user, also where the driver refuses."""
_SAY_LITTLE = frozenset((
    HalError, OutOfMemory, DeviceLost, ChannelError, Timeout, NotInitialised, StateError,
))  # fmt: skip
"""What a driver also answers of a card that is down, besides what it means."""


def _following(refused: HalError, call: str, first: errors.RuntimeFault) -> errors.RuntimeFault:
    """Return the fault of a call that was refused because the device had failed before; it is chained to that."""
    refused.__cause__ = first
    fault = errors.from_hal(refused, call)
    fault.message = f"{fault.message}, because the device has failed before: {first.message}"
    fault.args, fault.hint = (fault.message,), first.hint
    fault.details["first"] = first.message
    return fault


def _nothing() -> None:
    """Nothing stands in the table."""


def answer(ask: Callable[[], int], forget: Callable[[], object]) -> int:
    """Return the driver's code, and forget what it has taken.

    An interrupt leaves open whether it has: it is asked once more, and refuses what it had.
    """
    rc: int | None = None
    try:
        rc = ask()
        return rc
    finally:
        if rc is None:
            ask()
        if not rc:
            forget()


class HalCalls:
    """A HalApi together with a logic device id, as the base of the driver's chapters.

    `device_id` is the *logic* id that the HAL numbers devices by (ascend_hal_base.h), not the user's index.
    """

    __slots__ = ("device_id", "hal")

    def __init__(self, hal: npuhal.HalApi, device_id: int) -> None:
        self.hal = hal
        self.device_id = device_id

    def check(self, rc: int, call: str, detail: str = "") -> None:
        """Raise the RuntimeFault for a HAL code; zero passes."""
        if rc:
            raise self.fault(rc, call, detail)

    def give_back(
        self, table: ResourceTable, ask: Callable[[], int], again: Callable[[], object], call: str, detail: str,
        forget: Callable[[], object] = _nothing, *, held: bool | None = None,
    ) -> None:
        """Let the driver take something back, and forget it: both or none, wherever an interrupt comes.

        What is refused is noted in the table: it is asked for `again` when the device is closed, if nobody does before.
        What nobody can use or close any more then is asked for at the next wait as well.

        Args:
            ask: calls the driver and returns its code.
            forget: takes the thing out of the table; a call of C, so that no interrupt can come before it is done.
            call, detail: the driver's function, and what is given back, for the fault.
            held: whether somebody still has it, and can close it again; None: not ids and queues.

        Raises:
            RuntimeFault: it is refused.
        """
        with table.changing:
            rc = answer(ask, forget)
        if rc or table.refused:
            self.answered(table, rc, again, call, detail, held=held)

    def answered(
        self, table: ResourceTable, rc: int, again: Callable[[], object], call: str, detail: str, *,
        held: bool | None = None,
    ) -> None:
        """Note what the driver has answered to who gives something back; see `give_back`.

        Only for refusals, and while the table has some: else there is nothing to note.
        """
        if rc:
            nobodys = call in _NOBODYS if held is None else not held
            if nobodys and (call, detail) not in table.refused:
                table.dropped.append(partial(table.ask, (call, detail)))
            table.refused[call, detail] = again
            fault = self.fault(rc, call, detail)
            if nobodys:
                fault.hint = f"{fault.hint or 'nothing is to be done now'}; it is asked for again at the next wait, " \
                             "and when the device is closed"
            raise fault
        if table.refused:
            table.refused.pop((call, detail), None)

    def fault(self, rc: int, call: str, detail: str = "") -> errors.RuntimeFault:
        """Build the RuntimeFault for a HAL code without raising it.

        The driver error below it is not raised either: its traceback would keep everything alive that the callers hold.
        """
        if not rc:
            return errors.fault("ACL_ERROR_RT_INTERNAL_ERROR", f"{call} succeeded where a failure was expected")
        kind = error_class(rc)
        refused = kind(rc, call, detail)
        if kind in _SAY_LITTLE and (first := self.first_fault()) is not None:
            return _following(refused, call, first)
        return errors.from_hal(refused, call)

    def first_fault(self) -> errors.RuntimeFault | None:
        """Return what the device has failed with first, as far as this process knows; None while it works."""
        known = self.hal.first_faults.get(self.device_id)
        fault = None if known is None else known()
        return fault if isinstance(fault, errors.RuntimeFault) else None

    def call(self, name: str, *args: Any) -> None:
        """Call a HAL function whose first argument is the device id, and check its code."""
        self.check(getattr(self.hal, name)(self.device_id, *args), name)

    def supports(self, feature: str) -> bool:
        """Ask halSupportFeature for a FEATURE_* name; a library without the function has none of them."""
        if not self.hal.has("halSupportFeature"):
            return False
        return bool(self.hal.halSupportFeature(self.device_id, getattr(c, feature)))
