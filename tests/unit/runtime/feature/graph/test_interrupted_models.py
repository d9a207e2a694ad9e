"""Ctrl-C while a stream is bound to a model: it is in the model or not, and both can be closed."""

from __future__ import annotations

import pytest

from runtime.api import Device
from runtime.core.stream.stream import StreamFlag
from runtime.feature.graph import Model
from tests.tools.interrupts import Interrupter

BINDING = ("model/model.py", "model/model_streams.py", "submission/sink_stack.py")
MOST_PLACES = 60


@pytest.mark.parametrize("flag", [StreamFlag.PERSISTENT, StreamFlag.CPU_SCHEDULE])
def test_a_bind(device: Device, flag: StreamFlag) -> None:
    model, part = Model(device.context), device.create_stream(flags=flag)
    interrupter = Interrupter(*BINDING)

    def check(place: int) -> None:
        nonlocal model, part
        assert (part.bound is not None) is (part in model.streams), interrupter.at
        model.close(force=True)
        assert part.bound is None, interrupter.at
        part.close()
        model, part = Model(device.context), device.create_stream(flags=flag)

    assert interrupter.everywhere(lambda: model.bind(part), check, MOST_PLACES) >= 8
