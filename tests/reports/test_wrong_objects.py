"""Something else where a stream, an event, a buffer, a file or a function belongs: a typed error with its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakes import FakeError
from runtime import errors
from runtime.api import Device, Runtime
from runtime.cli.sample import minimal_kernel

CALLS: list[tuple[str, Callable[[Device, Any], Any], str]] = [
    ("record", lambda device, thing: device.create_stream().record(thing), "event"),
    ("wait", lambda device, thing: device.create_stream().wait(thing), "event"),
    ("fill", lambda device, thing: device.create_stream().fill(thing, 1), "target"),
    ("write_value", lambda device, thing: device.create_stream().write_value(thing, 1), "target"),
    ("wait_value", lambda device, thing: device.create_stream().wait_value(thing, 1), "target"),
    ("host_function", lambda device, thing: device.create_stream().host_function(thing), "function"),
    ("download", lambda device, thing: device.download(thing), "buffer"),
    ("load", lambda device, thing: device.load(thing).only, "source"),
    ("subscript", lambda device, thing: kernel(device)[1](device.alloc(64), stream=thing), "stream"),
    ("launch", lambda device, thing: kernel(device).launch(thing, 1, device.alloc(64)), "stream"),
    ("bind", lambda device, thing: kernel(device).bind(thing, 1), "stream"),
]


def kernel(device: Device) -> Any:
    return device.load(minimal_kernel("k", arguments=1)).only


@pytest.fixture(scope="module", params=["fake://ascend910b3", "fake://ascend950"])
def opened(request: pytest.FixtureRequest):
    machine = Runtime(request.param)
    yield machine.device(0)
    machine.close(force=True)


@pytest.mark.parametrize("thing", [3, 1.5, ["x"]], ids=["int", "float", "list"])
@pytest.mark.parametrize(("call", "name"), [pytest.param(call, name, id=which) for which, call, name in CALLS])
def test_it_is_named(opened: Device, call: Callable[[Device, Any], Any], name: str, thing: object) -> None:
    for _ in range(2):
        told = rf"{name} is .*, an? {type(thing).__name__}; it must be an? "
        with pytest.raises(errors.InvalidArgument, match=told) as caught:
            call(opened, thing)
        assert (caught.value.code, bool(caught.value.hint)) == (107000, True)
    opened.synchronize(10_000)


@pytest.mark.parametrize("thing", ["x", None])
def test_an_event_is_no_name_and_not_nothing(opened: Device, thing: object) -> None:
    stream = opened.create_stream()
    for call in (stream.record, stream.wait):
        with pytest.raises(errors.InvalidArgument, match="event is"):
            call(thing)  # type: ignore[arg-type]


def test_what_is_attached_is_code_and_a_function(opened: Device) -> None:
    attach, found = opened.hal.fake.attach, kernel(opened)
    with pytest.raises(FakeError, match=r"code is <vector kernel k .*kernel\.code"):
        attach(found, print)
    with pytest.raises(FakeError, match="function is None"):
        attach(found.code, None)
