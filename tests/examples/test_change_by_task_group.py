"""A scaled addition whose factor is changed by launching its task group again, ordered by an event."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.api import Runtime
from runtime.cli.sample import minimal_kernel

COUNT = 8


def scaled_add(context: Any) -> None:
    """Write first + factor * second: what the operator of the sample does on the device."""
    target, first, second = (context.args.array(slot, "f4", COUNT) for slot in (0, 1, 2))
    target[:] = first + context.args.scalar(24, "f4") * second


def test_change_by_task_group() -> None:
    machine = Runtime("fake://ascend910b1?seed=1")
    device = machine.device(0)
    kernel = device.load(minimal_kernel("scaled_add", 4), name="scaled_add").only
    device.hal.fake.attach(kernel.code, scaled_add, name="scaled_add", grid=True)
    stream, updater, changed = device.create_stream(), device.create_stream(), device.create_event()
    first = device.upload(np.arange(COUNT, dtype="f4") + np.float32(3.2))
    second, target = device.upload(np.full(COUNT, 2.2, "f4")), device.alloc(4 * COUNT)
    with stream.capture() as made, stream.task_group() as group:
        kernel[1](target, first, second, np.float32(1), stream=stream)
    made.launch(stream)
    stream.synchronize(30_000)
    assert np.allclose(device.download(target, "f4"), [5.4, 6.4, 7.4, 8.4, 9.4, 10.4, 11.4, 12.4])
    with updater.update(group):
        kernel[1](target, first, second, np.float32(2), stream=updater)
    stream.wait(updater.record(changed))
    made.launch(stream)
    stream.synchronize(30_000)
    assert np.allclose(device.download(target, "f4"), [7.6, 8.6, 9.6, 10.6, 11.6, 12.6, 13.6, 14.6])
    made.close()
    machine.close()
