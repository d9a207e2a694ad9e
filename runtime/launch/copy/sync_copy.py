"""Which way a copy goes that the caller waits for: by the driver, or by the device's copy engine (core_spec 13.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.core.diagnostics.tracing import span
from runtime.driver.dma import CopyDriver
from runtime.memory.location import Location, locate

if TYPE_CHECKING:
    from runtime.core.device.device import Device

_LEAST_BYTES = 2 << 20
"""Where the runtime runs on the device itself, the engine takes copies inside it from this size on."""


def copy(device: Device, dst: int, capacity: int, src: int, count: int) -> None:
    """Copy and wait; by the engine on chips whose driver leaves copies to it (property sdmaCopyMethod)."""
    device.tally.copies_at_once += 1
    with span(device.runtime, "copy", bytes=count, device=device.user_id):
        if _by_engine(device, dst, src, count) and device.hal.has("halSdmaCopy"):
            CopyDriver(device.hal, device.device_id).by_sdma(dst, capacity, src, count)
        else:
            device.memory.copy(dst, capacity, src, count)


def _by_engine(device: Device, dst: int, src: int, count: int) -> bool:
    method = device.chip.prop("sdmaCopyMethod")
    if method != "SDMA_COPY_BY_HAL_WITH_OFFLINE":
        return bool(method == "SDMA_COPY_BY_HAL")
    if device.env.online or count < _LEAST_BYTES:
        return False
    return all(locate(device.memory, address).location is Location.DEVICE for address in (dst, src))
