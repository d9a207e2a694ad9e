"""What notebooks, dir() and logs show of the objects that users hold."""

from __future__ import annotations

import logging
from xml.etree import ElementTree

import pytest

import runtime
from chips.catalog import find_chip
from chips.env import EncodeEnv, TaskIds
from chips.registry import plugin
from chips.show import Sqe
from chips.tasks import NotifyRecord
from runtime.api import Device, Runtime
from runtime.cli.sample import minimal_kernel
from runtime.errors import public
from tests.tools import reference


def well_formed(html: str) -> str:
    """Return the text of a piece of HTML whose tags fit each other."""
    return "".join(ElementTree.fromstring(f"<div>{html.replace('<br>', '')}</div>").itertext())


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950", "ascend310p3"])
def test_an_entry_is_shown_by_bytes_and_fields(soc: str) -> None:
    chip = find_chip(soc)
    row = plugin(chip).encode(NotifyRecord(notify_id=0x5A), EncodeEnv(chip=chip, stream_id=33), TaskIds(7))
    shown = Sqe(row, soc)
    text = well_formed(shown._repr_html_())
    assert "NOTIFY_RECORD" in text
    assert "notify_id0x5a" in text
    assert shown._repr_html_().count("<td style") == 64
    assert "notify_id=0x5a" in str(shown)


def test_objects_are_shown_open_and_closed(device: Device) -> None:
    kernel = device.load(minimal_kernel("k<1>", 1)).only
    device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    with device.create_stream(name="a&b") as stream, device.create_stream() as other:
        with stream.capture() as graph:
            kernel[1](1, stream=stream)
            event = stream.record(device.create_event())
            other.wait(event)
            kernel[1](2, stream=other)
            stream.wait(other.record(device.create_event()))
        kernel[1](3, stream=stream)
        assert "1 of " in well_formed(stream._repr_html_())
        assert repr(graph) == f"<Graph {len(graph.nodes)} nodes>"
        drawn = graph._repr_html_()
        assert drawn.count("<rect") == len(graph.nodes)
        assert "stroke-dasharray" in drawn
        well_formed(drawn)
        stream.synchronize()
        assert "a&b" in well_formed(device._repr_html_())
        assert "memory pool" in device.memory_summary()
        graph.close()
        assert graph._repr_html_() == repr(graph) == "<Graph closed>"
    assert "closed" in stream._repr_html_()
    device.close()
    assert "closed" in device._repr_html_()


def test_dir_lists_what_is_public_and_what_the_reference_shows(machine: Runtime, device: Device) -> None:
    stream = device.default_stream
    kernel = device.load(minimal_kernel("kernel", 1)).only
    device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    with device.create_stream() as captured, captured.capture() as graph:
        kernel[1](1, stream=captured)
    held = {
        "Device": device, "Stream": stream, "Event": stream.record(device.create_event(timing=True)),
        "Notify": device.create_notify(), "Program": kernel.program, "Kernel": kernel, "Graph": graph,
        "DeviceBuffer": device.alloc(64),
        "HostBuffer": device.alloc_host(64), "Pool": device.pool, "Runtime": machine,
        "KeptLaunch": kernel.keep(stream, 1, 1), "PooledBuffer": device.pool.alloc(64, stream),
    }
    stream.synchronize()
    for name, thing in held.items():
        listed = [name for name in dir(thing) if not name.startswith("_")]
        assert listed == sorted(public.NAMES[name])
        assert len(listed) < 50
        assert [name for name in dir(thing) if not hasattr(thing, name)] == []
        if name in reference.classes():
            assert {name for name, _ in reference.members(name) if not name.startswith("_")} <= set(listed)

    class Own(runtime.DeviceBuffer):
        """Has the names of its nearest base."""

    assert public.listed(Own) == public.listed(runtime.DeviceBuffer)
    assert {"Any", "importlib", "annotations"} & set(dir(runtime)) == set()
    assert not hasattr(runtime, "Any")


def test_plain_logging_shows_what_happens(
    machine: Runtime, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_MODULE_LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    with caplog.at_level(logging.DEBUG):
        another = Runtime(f"{machine.url}{'&' if '?' in machine.url else '?'}kernels=noop")
        with another.device(0) as device, device.create_stream(name="work") as stream:
            device.load(minimal_kernel("step", 1)).only[1](1, stream=stream)
            stream.synchronize()
        another.close()
    for said in ("device 0 opened", "created: priority 0", "load program", "kernel step on device 0", "0 closed"):
        assert said in caplog.text, said
    assert not another.logs.wanted
