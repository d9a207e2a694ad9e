"""The numbers of a device, and how to convert between them.

Three spaces hold the same small integers, and a number of one in a call of another reaches the wrong card:

* *user* ids, 0 and up, are what this process calls its devices: positions in ASCEND_RT_VISIBLE_DEVICES;
* *driver* ids, which the headers call logic ids, are what the HAL numbers devices by, in this container or machine;
* *physical* ids are the machine's, whatever a container shows of it.

Everything in `runtime` takes user ids; `runtime.driver` and `npuhal` take driver ids.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import npuhal
from runtime import errors
from runtime.driver.info import DeviceInfo


class DeviceNumbers:
    """Converters for the devices that a process may use; a device need not be open."""

    __slots__ = ("_hal", "driver_ids")

    def __init__(self, hal: npuhal.HalApi, driver_ids: tuple[int, ...]) -> None:
        self._hal = hal
        self.driver_ids = driver_ids
        """Driver ids by user id."""

    def driver_id(self, user_id: int) -> int:
        """Return the driver id of a user id; InvalidArgument 107001 for one that no device has."""
        if not 0 <= user_id < len(self.driver_ids):
            raise _unknown(user_id, "a user", range(len(self.driver_ids)))
        return self.driver_ids[user_id]

    def physical_id(self, user_id: int) -> int:
        """Return the physical id of a user id; InvalidArgument 107001 for one that no device has."""
        return DeviceInfo(self._hal, self.driver_id(user_id)).physical_id()

    def user_of_driver(self, driver_id: int) -> int:
        """Return the user id of a driver id; InvalidArgument 107001 for a device that this process may not use."""
        if driver_id not in self.driver_ids:
            raise _unknown(driver_id, "the driver's", self.driver_ids)
        return self.driver_ids.index(driver_id)

    def user_of_physical(self, physical_id: int) -> int:
        """Return the user id of a physical id; InvalidArgument 107001 for a device that this process may not use."""
        known = self.by_physical()
        if physical_id not in known:
            raise _unknown(physical_id, "a physical", known)
        return known[physical_id]

    def by_physical(self) -> Mapping[int, int]:
        """Return user ids by physical id."""
        return {self.physical_id(user_id): user_id for user_id in range(len(self.driver_ids))}


def _unknown(number: int, whose: str, known: Collection[int]) -> errors.RuntimeFault:
    listed = ", ".join(map(str, known)) if known else "there is none"
    return errors.fault(
        "ACL_ERROR_RT_INVALID_DEVICEID",
        f"{number} is not {whose} id of a device that this process may use; those are: {listed}",
        hint="user, driver and physical ids are three things: see runtime.numbers of the process's runtime",
    )
