"""An addition captured once and executed four times, each on what the host has put in place; the graph is exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from runtime.api import Runtime
from runtime.cli.sample import minimal_kernel
from runtime.feature import graph
from runtime.feature.graph import CaptureMode

COUNT = 8


def add(context: Any) -> None:
    """Add the second array to the first: what the operator of the sample does on the device."""
    total, step = (context.args.array(slot, "f4", COUNT) for slot in (0, 1))
    total += step


def test_capture_and_replay(tmp_path: Path) -> None:
    machine = Runtime("fake://ascend910b1?seed=1")
    device, start = machine.device(0), np.arange(COUNT, dtype="f4") * 2 + np.float32(2.2)
    kernel = device.load(minimal_kernel("add", 2), name="add").only
    device.hal.fake.attach(kernel.code, add, name="add", grid=True)
    stream = device.create_stream()
    source, result = device.alloc_host(4 * COUNT), device.alloc_host(4 * COUNT)
    total, step = device.alloc(4 * COUNT), device.upload(np.full(COUNT, 4.2, "f4"))
    before = graph.exchange_mode(device.context, CaptureMode.RELAXED)
    with stream.capture(CaptureMode.RELAXED) as made:
        stream.copy(total, source)
        kernel[1](total, step, stream=stream)
        stream.copy(result, total)
    graph.exchange_mode(device.context, before)
    exported = tmp_path / "graph.json"
    exported.write_text(made.debug_json(), encoding="utf-8")
    for _ in range(4):
        source.numpy("f4")[:] = start
        made.launch(stream)
        stream.synchronize(30_000)
        assert np.allclose(result.numpy("f4"), [6.4, 8.4, 10.4, 12.4, 14.4, 16.4, 18.4, 20.4])
    assert [event["args"]["Task Type"] for event in json.loads(exported.read_text(encoding="utf-8"))] == [
        "MEMCPY_ASYNC", "KERNEL_AIVEC", "MEMCPY_ASYNC",
    ]
    made.close()
    machine.close()
