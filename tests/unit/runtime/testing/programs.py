"""Programs for tests of sweeps and campaigns: one that is right, and some that are wrong in one way each."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from runtime.api import Runtime
from runtime.errors import RuntimeFault


def right(machine: Runtime) -> None:
    device = machine.device(0)
    with device.create_stream() as stream:
        buffer = device.alloc(64)
        stream.write_value(buffer, 5)
        stream.synchronize(30_000)
        assert device.download(buffer, "u8")[0] == 5
        buffer.close()


def prepared(machine: Runtime) -> Any:
    device = machine.device(0)
    stream = device.create_stream()
    yield
    with stream:
        stream.synchronize(30_000)


def untyped(machine: Runtime) -> Any:
    """Goes on with None where the driver has refused memory, and the runtime raises what it should not."""
    device = machine.device(0)
    yield
    if _refused(device):
        device.memory.write(0, None)  # type: ignore[arg-type]


def wrong(machine: Runtime) -> None:
    """Ignores that a copy has failed."""
    device = machine.device(0)
    with device.alloc(64) as buffer:
        with contextlib.suppress(RuntimeFault):
            device.copy(buffer, bytes([7]) * 64)
        assert bytes(device.download(buffer)[:1]) == b"\x07"


def leaking(machine: Runtime) -> Any:
    """Takes an id behind the runtime's back when something has failed."""
    device = machine.device(0)
    yield
    if _refused(device):
        device.hal.fake.device(0).ids["notify"].take(None)


def hanging(machine: Runtime) -> Any:
    device = machine.device(0)
    yield
    if _refused(device):
        time.sleep(3600)


def dying(machine: Runtime) -> Any:
    device = machine.device(0)
    yield
    if _refused(device):
        os.abort()


def _refused(device: Any) -> bool:
    try:
        device.alloc(64).close()
    except RuntimeFault:
        return True
    return False
