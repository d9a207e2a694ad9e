"""`nodes=`: a driver's library that does not get to the kernel, and what its functions answer then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.machine import Machine

_COUNT: Mapping[str, int] = {
    "missing": c.DRV_ERROR_INNER_ERR, "closed": c.DRV_ERROR_IOCRL_FAIL, "bare": c.DRV_ERROR_NO_DEVICE,
}  # fmt: skip
"""What drvGetDevNum answers: only a kernel without cards says that there is no device."""
_MANAGED = (
    "drvGetPlatformInfo", "drvGetDevIDs", "drvDeviceStatus", "drvDeviceGetPhyIdByIndex", "drvDeviceGetIndexByPhyId",
    "halGetDeviceInfo", "halGetDeviceInfoByBuff", "halGetPhyDeviceInfo", "halGetChipInfo", "halGetChipCapability",
    "halGetSocVersion", "halGetPairDevicesInfo", "halGetPairPhyDevicesInfo", "halDeviceOpen",
)  # fmt: skip
"""Functions that ask the manager's node."""


def apply(machine: Machine, nodes: str) -> None:
    """Let all functions that need the kernel fail."""
    if nodes == "open":
        return
    machine.faults.on_call("drvGetDevNum", _COUNT[nodes], times=0)
    for name in _MANAGED:
        machine.faults.on_call(name, c.DRV_ERROR_INVALID_HANDLE, times=0)
