"""Models that are put together task by task: a jump by index to a label, a switch to another stream by a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chips.programs.stream import Condition
from runtime.api import Device, Kernel
from runtime.core.stream.stream import Stream, StreamFlag
from runtime.core.sync.label import Label, LabelList
from runtime.feature.graph import Model
from runtime.feature.graph.model.links import activate, switch, switch_label
from tests.examples.conftest import StandIn


@pytest.fixture
def add(stand_in: StandIn) -> Kernel:
    """A kernel that adds a number to every element."""

    def add_number(context: Any) -> None:
        context.args.array(0, "f4", 1)[:] += context.args.scalar(8, "f4")

    return stand_in(add_number, 2)


def build(device: Device, streams: int) -> tuple[Model, list[Stream]]:
    """Return a model and its streams, of which the first starts with it."""
    model, made = Model(device.context), list[Stream]()
    for number in range(streams):
        made.append(device.create_stream(flags=StreamFlag.PERSISTENT))
        model.bind(made[-1], head=not number)
    return model, made


@pytest.mark.parametrize(("branch", "result"), [(0, 6.0), (1, 4.0)])
def test_jump_to_a_label(device: Device, add: Kernel, branch: int, result: float) -> None:
    """Branch 0 adds 2 and falls through to branch 1, which adds 4."""
    model, (stream,) = build(device, 1)
    labels = [Label(device, device.runtime.label_ids) for _ in range(2)]
    index, total = device.upload(np.array([branch], "u8")), device.upload(np.zeros(1, "f4"))
    listed = LabelList(device, labels)
    switch_label(stream, index.address, len(labels), listed)
    for number, label in enumerate(labels):
        label.set(stream)
        add[1](total, np.float32(2 * (number + 1)), stream=stream)
    model.end(stream)
    model.load()
    model.execute_now(5000)
    assert device.download(total, "f4") == result
    model.close()
    listed.close()


@pytest.mark.parametrize(("value", "results"), [(5, [3.4, 0.0, 5.4]), (4, [3.4, 4.4, 0.0])])
def test_switch_of_streams(device: Device, add: Kernel, value: int, results: list[float]) -> None:
    """Equal values lead to one stream, others to the stream that is started behind the switch; both end in the last."""
    words = device.upload(np.array([value, 5], "i8"))
    targets = [device.upload(np.zeros(1, "f4")) for _ in range(3)]
    model, (first, other, equal, last) = build(device, 4)
    add[1](targets[0], np.float32(3.4), stream=first)
    switch(first, words.address, Condition.EQUAL, words.address + 8, equal, wide=True)
    activate(first, other)
    for stream, target, number in ((other, targets[1], 4.4), (equal, targets[2], 5.4)):
        add[1](target, np.float32(number), stream=stream)
        activate(stream, last)
    model.end(last)
    model.load()
    model.execute_now(5000)
    assert [float(device.download(target, "f4")[0]) for target in targets] == pytest.approx(results)
    model.close()
