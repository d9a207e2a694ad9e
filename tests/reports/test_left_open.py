"""What a program has not closed when it closes its device, or resets it: each named with the line that has made it."""

from __future__ import annotations

import gc
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fakes.checkers import CheckFailed
from runtime.api import Device, Runtime
from tests.reports.calls import Caller

MiB = 1 << 20


def _registered(device: Device) -> Any:
    return device.register_host(np.frombuffer(mmap.mmap(-1, 8192), np.uint8))


def _shared(device: Device) -> Any:
    buffer = device.alloc(2 * MiB)
    return buffer, device.share(buffer)


def _opened(device: Device) -> Any:
    buffer, key = _shared(device)
    key.allow(device.bare_pid())
    return buffer, key, device.open_shared(key.key)


def _busy(device: Device) -> Any:
    stream = device.create_stream()
    device.hal.fake.device(device.device_id).hold(stream.stream_id)
    stream.fill(device.alloc(64), 1)
    device.hal.fake.device(device.device_id).release(stream.stream_id)
    return stream


def _graph(device: Device) -> Any:
    with device.create_stream() as stream, stream.capture() as graph:
        stream.fill(device.alloc(64), 1)
    return graph


MADE: dict[str, tuple[Callable[[Device], Any], str]] = {
    "device memory": (lambda device: device.alloc(4096), "device memory"),
    "an array": (lambda device: device.empty(16, "f4"), "device memory"),
    "a pool's block": (lambda device: device.pool.alloc(4096), "pool memory"),
    "pinned memory": (lambda device: device.alloc_host(4096), "pinned memory"),
    "an event": (lambda device: device.create_event(), "events and notifies"),
    "a notify": (lambda device: device.create_notify(), "events and notifies"),
    "registered memory": (_registered, "registered memory"),
    "a key": (_shared, "keys of shared memory"),
    "memory opened by its key": (_opened, "opened keys"),
    "a graph": (_graph, "graphs"),
    "physical memory": (lambda device: device.create_physical(2 * MiB), "physical memory"),
    "addresses": (lambda device: device.reserve(2 * MiB), "reserved ranges"),
}


@pytest.fixture(params=["fake://ascend910b3?check=leak", "fake://ascend950?check=leak"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("what", MADE)
def test_a_close_names_what_is_left_and_where_it_was_made(url: str, what: str, dropped: bool) -> None:
    make, kind = MADE[what]
    machine = Runtime(url)
    made = make(machine.device(0))
    if dropped:
        del made
    with pytest.raises(CheckFailed, match=f"closed with {kind} in use: .*{__file__}:"):
        machine.close()


def test_a_stream_is_named_while_it_is_held(url: str) -> None:
    for make in (lambda device: device.create_stream(), _busy):
        machine = Runtime(url)
        stream = make(machine.device(0))
        with pytest.raises(CheckFailed, match=f"streams in use: <Stream .*{__file__}:"):
            machine.close()
        assert stream.closed
    machine = Runtime(url)
    machine.device(0).create_stream()
    gc.collect()
    with pytest.raises(CheckFailed, match=f"streams in use: <Stream .*{__file__}:"):
        machine.close()


def test_what_was_closed_or_given_back_is_not_named(url: str) -> None:
    machine = Runtime(url)
    device = machine.device(0)
    for make, _kind in MADE.values():
        made = make(device)
        for one in reversed(made if isinstance(made, tuple) else (made,)):
            one.close()
    device.create_stream()  # dropped with nothing to do: it is given back
    device.create_event()  # given back when the next one is made
    gc.collect()
    device.create_event().close()
    device.synchronize()
    machine.close()


def test_managed_memory_is_named_where_a_chip_has_it() -> None:
    for dropped in (False, True):
        machine = Runtime("fake://ascend910b3?check=leak")
        made = [machine.device(0).alloc_managed(4096)]
        if dropped:
            made.clear()
        with pytest.raises(CheckFailed, match=f"closed with managed memory in use: 4096 bytes .*{__file__}:"):
            machine.close()
        assert not made or made[0].closed


def test_memory_that_another_device_has_open_is_given_back_too(url: str) -> None:
    machine = Runtime(f"{url}&devices=2")
    buffer, key = _shared(machine.device(0))
    key.allow(machine.device(0).bare_pid())
    opened = machine.device(1).open_shared(key.key)
    with pytest.raises(CheckFailed, match=f"device 1 is closed with opened keys in use: .*{__file__}:"):
        machine.close()
    for one in (opened, key, buffer):
        one.close()


def test_who_closes_by_force_wants_it_all_taken_back(url: str) -> None:
    machine = Runtime(url)
    kept = [make(machine.device(0)) for make, _kind in MADE.values()]
    machine.close(force=True)
    assert kept
    machine = Runtime(url)
    with machine.device(0) as device:
        kept = [make(device) for make, _kind in MADE.values()]
    machine.close()


def test_the_last_reset_of_a_device_tells_too(url: str) -> None:
    api = Caller(url)
    for _ in range(2):
        assert api.aclrtSetDevice(deviceId=0) == 0
    api.make("aclrtCreateStream", "stream")
    api.make("aclrtCreateEvent", "event")
    api.make("aclrtMalloc", "devPtr", size=64, policy=0)
    assert api.aclrtResetDevice(deviceId=0) == 0
    reports = api.acl.runtime.hal.fake.reports
    assert not reports.take()
    assert api.aclrtResetDevice(deviceId=0) == 0
    found = reports.take()
    assert {report.check for report in found} == {"leak"}
    text = "\n".join(report.message for report in found)
    for kind in ("streams", "events and notifies", "memory"):
        assert f"closed with {kind} in use" in text
    assert text.count("calls.py:") == len(found) == 3
    api.acl.runtime.close()
