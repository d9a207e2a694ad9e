"""What objects say of themselves: their names, what they belong to, and how much is in them."""

from __future__ import annotations

import re

from runtime.api import Device, Runtime
from runtime.core.submission import compiled as sends
from runtime.trace import tracing
from tests.unit.runtime.machines import MakeKernel


def test_objects_name_themselves(machine: Runtime, device: Device, make_kernel: MakeKernel) -> None:
    stream = device.create_stream(name="copies")
    kernel, buffer = make_kernel("add"), device.alloc(64)
    number = device.user_id
    of_stream = f"<Stream 'copies' {stream.stream_id} on device {number}>"
    assert repr(stream) == of_stream
    assert re.fullmatch(r"<function add\[8\] at 0x[0-9a-f]+>", repr(kernel[8])) or sends.extension
    bound = kernel.bind(stream, 8)
    assert re.fullmatch(rf"<function add\[8\] on {of_stream} at 0x[0-9a-f]+>", repr(bound)) or sends.extension
    with_block = kernel.bind_device_arguments(stream, 4)
    assert re.fullmatch(rf"<function add\[4\] on {of_stream} at 0x[0-9a-f]+>", repr(with_block)) or sends.extension
    assert repr(device.create_event(name="loaded")) == f"<event loaded of device {number}, not recorded>"
    notify = device.create_notify()
    assert repr(notify) == f"<notify {notify.notify_id} of device {number}>"
    batch = stream.batch()
    batch.fill(buffer, 1)
    assert repr(batch) == f"<Batch of 1 task for {of_stream}>"
    with stream.capture() as graph:
        kernel[8](buffer, stream=stream)
    assert repr(graph) == "<Graph 1 node>"
    trace = tracing(runtime=machine)
    assert repr(trace) == "<Tracing not begun>"
    with trace:
        assert repr(trace) == "<Tracing being made>"
        kernel[8](buffer, stream=stream)
        kernel[8](buffer, stream=stream)
        stream.synchronize()
    assert re.fullmatch(rf"<Tracing of {device.chip.soc}: 2 launches, 2 tasks, \d+ streams>", repr(trace))
    assert re.fullmatch(rf"<Trace of {device.chip.soc}: 2 launches, 2 tasks, \d+ streams>", repr(trace.result))


def test_a_launch_that_is_none_keeps_its_name(device: Device, make_kernel: MakeKernel) -> None:
    from runtime.launch.options import LaunchOptions

    launch = make_kernel("add").bind(device.default_stream, 0, LaunchOptions(empty_ok=True))
    assert "add[0]" not in repr(launch), "all such launches are one function"
