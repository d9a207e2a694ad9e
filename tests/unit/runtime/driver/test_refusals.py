"""What the driver refuses, as faults of the runtime."""

from __future__ import annotations

import gc
import weakref

import pytest

from runtime import errors
from runtime.api import Device


class Probe:
    """Something that a caller holds."""


def test_a_refusal_that_was_handled_keeps_nothing_alive(device: Device) -> None:
    """Faults and tracebacks form no cycle: what the callers hold goes at once, not when the collector comes."""
    device.hal.fake.faults.on_call("halResourceIdAlloc", "DRV_ERROR_NO_EVENT_RESOURCES")
    places: list[weakref.ref[Probe]] = []

    def ask() -> None:
        probe = Probe()
        places.append(weakref.ref(probe))
        with pytest.raises(errors.ResourceExhausted):
            device.ids.alloc("NOTIFY")

    gc.disable()
    try:
        ask()
        assert places[0]() is None
    finally:
        gc.enable()
