"""Copies between host and device and inside a device, now and in a stream; every one brings 123 across."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api import Device, Stream
from tests.examples.conftest import StandIn

VALUE = 123


def test_host_to_host(device: Device) -> None:
    source, target = device.alloc_host(4), device.alloc_host(4)
    source.numpy("i4")[0] = VALUE
    device.copy(target, source)
    assert target.numpy("i4")[0] == VALUE


@pytest.mark.parametrize("queued", [False, True], ids=["now", "queued"])
def test_host_to_device(device: Device, stream: Stream, stand_in: StandIn, queued: bool) -> None:
    seen = []

    def show(context: Any) -> None:
        seen.append(int(context.args.array(0, "i4", 1)[0]))

    source, target = device.alloc_host(4), device.alloc(4)
    source.numpy("i4")[0] = VALUE
    (stream.copy if queued else device.copy)(target, source)
    stand_in(show)[1](target, stream=stream)
    stream.synchronize()
    assert seen == [VALUE]


@pytest.mark.parametrize("queued", [False, True], ids=["now", "queued"])
def test_device_to_host(device: Device, stream: Stream, stand_in: StandIn, queued: bool) -> None:
    source, target = device.alloc(4), device.alloc_host(4)

    def write(context: Any) -> None:
        context.args.array(0, "i4", 1)[0] = VALUE

    stand_in(write)[1](source, stream=stream)
    if not queued:
        stream.synchronize()
    (stream.copy if queued else device.copy)(target, source)
    stream.synchronize()
    assert target.numpy("i4")[0] == VALUE


@pytest.mark.parametrize("queued", [False, True], ids=["now", "queued"])
def test_inside_a_device(device: Device, stream: Stream, queued: bool) -> None:
    source, target = device.upload(VALUE.to_bytes(4, "little")), device.alloc(4)
    (stream.copy if queued else device.copy)(target, source)
    stream.synchronize()
    assert device.download(target, "i4") == VALUE
