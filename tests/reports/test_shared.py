"""What users met where several processes use one card: sharing that a link forbids, and what others hold."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from runtime import errors
from runtime.api import Graph, Runtime
from tests.tools.processes import Line, processes, shared_name
from tests.unit.runtime.machines import V100

MiB = 1 << 20


def hold(line: Line, url: str, what: str, count: int) -> None:
    """Make things on the first card until told to end."""
    with closing(Runtime(url)) as machine:
        device = machine.device(0)
        made: list[Any] = []
        if what == "memory":
            made.append(device.alloc(count))
        else:
            made += [getattr(device, f"create_{what}")() for _ in range(count)]
        line.send("holds")
        line.hear()
        for each in made:
            each.close()


def exhaust(make: Callable[[], Any]) -> tuple[list[Any], errors.ResourceExhausted]:
    """Make things until there is no room for another; returns them, and the fault."""
    made: list[Any] = []
    for _ in range(100):
        try:
            made.append(make())
        except errors.ResourceExhausted as fault:
            return made, fault
    raise AssertionError("nothing ran out")


# -- what others hold ----------------------------------------------------------------------------------------------


def test_streams_that_run_out_are_counted_for_this_process_and_for_the_others() -> None:
    url = f"fake://{V100}?sqs=24&shared={shared_name('streams')}"
    with processes((hold, url, "stream", 10)) as [other], closing(Runtime(url)) as machine:
        assert other.hear() == "holds"
        device = machine.device(0)
        made, fault = exhaust(device.create_stream)
        text = str(fault)
        assert fault.code == 207005
        assert fault.message_id == "EE1023"
        own = len(device.streams())
        assert f"this process holds {own} queues" in text
        assert f"device 0 has 24, 24 are used, {24 - own} of them by other owners" in text
        assert not {"disk", "storage", "memory"} & set(text.lower().split())
        other.send("end")
        other.end()
        made.append(device.create_stream())  # what the other one had is free again


def test_a_capture_that_finds_no_stream_left_says_who_holds_them() -> None:
    url = f"fake://{V100}?sqs=16&swsq=0&shared={shared_name('capture')}"
    with processes((hold, url, "stream", 6)) as [other], closing(Runtime(url)) as machine:
        assert other.hear() == "holds"
        device = machine.device(0)
        target, stream = device.alloc(64), device.create_stream()

        def capture() -> Graph:
            with stream.capture() as made:
                stream.fill(target, 1)
            made.execute(stream)
            stream.synchronize()
            return made

        graphs, fault = exhaust(capture)
        assert fault.code in (207005, 207008)
        assert "device 0 has 16, 16 are used" in str(fault)
        assert "other processes" in str(fault)
        graphs.pop().close()
        graphs.append(capture())


@pytest.mark.parametrize(("what", "limits", "code"), [("event", "events=40", 207007), ("notify", "notifys=40", 207009)])
def test_events_and_notifies_that_run_out_are_counted_for_all(what: str, limits: str, code: int) -> None:
    url = f"fake://{V100}?{limits}&shared={shared_name(what)}"
    with processes((hold, url, what, 20)) as [other], closing(Runtime(url)) as machine:
        assert other.hear() == "holds"
        device = machine.device(0)
        stream, usage = device.create_stream(), device.ids.usage(what.upper())

        def record() -> Any:
            made = getattr(device, f"create_{what}")()
            made.record(stream)
            return made

        made, fault = exhaust(record)
        assert fault.code == code
        assert f"device 0 has 40, 40 are used, {usage[1]} of them by other owners" in str(fault)
        made.pop(0).close()
        stream.synchronize()
        record()


def test_a_killed_neighbour_gives_its_memory_back() -> None:
    url = f"fake://{V100}?hbm=256m&shared={shared_name('memory')}"
    with processes((hold, url, "memory", 80 * MiB)) as [other], closing(Runtime(url)) as machine:
        device = machine.device(0)
        assert other.hear() == "holds"
        with pytest.raises(errors.OutOfMemory) as caught:
            device.alloc(80 * MiB)
        assert caught.value.code == 207001
        told = re.search(r"process holds none; the runtime, .* other processes hold (\d+) bytes", str(caught.value))
        free, total = device.memory_info()
        assert told is not None
        assert int(told[1]) == total - free > 80 * MiB
        other.kill()
        device.alloc(80 * MiB).close()


# -- links that carry no keys --------------------------------------------------------------------------------------


def export_both(line: Line, url: str) -> None:
    """Share memory of the first card by key and by number."""
    with closing(Runtime(url)) as machine:
        device = machine.device(0)
        with device.share(device.alloc(2 * MiB), None) as exported, device.create_physical(2 * MiB) as physical:
            line.send(exported.key, physical.export(None))
            line.hear()


@pytest.mark.parametrize("topology", ["pcie", "hccs"])
def test_a_key_does_not_cross_pcie_and_a_shareable_number_does(topology: str) -> None:
    url = f"fake://ascend910b2c?devices=2&topology={topology}&shared={shared_name('link')}"
    with processes((export_both, url)) as [giver], closing(Runtime(url)) as machine:
        key, number = giver.hear()
        device = machine.device(1)
        if topology == "pcie":
            with pytest.raises(errors.RuntimeFault, match="joined by PHB") as caught:
                device.open_shared(key)
            assert caught.value.code == 507899
            assert "PhysicalMemory.export" in caught.value.hint
        else:
            device.open_shared(key).close()
        device.import_physical(number, 2 * MiB).close()
        giver.send("end")
        giver.end()


# -- forks ---------------------------------------------------------------------------------------------------------


def test_a_child_of_fork_beside_other_processes_is_told_and_harms_nobody() -> None:
    url = f"fake://{V100}?notifys=40&shared={shared_name('fork')}"
    with processes((hold, url, "notify", 5)) as [other], closing(Runtime(url)) as machine:
        assert other.hear() == "holds"
        device = machine.device(0)
        mine = [device.create_notify() for _ in range(5)]
        before, began = device.ids.usage("NOTIFY"), time.monotonic()
        if (pid := os.fork()) == 0:
            try:
                device.alloc(64)
            except errors.RuntimeFault as fault:
                os._exit(0 if f"forked from {os.getppid()}" in str(fault) else 1)
            finally:
                os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        assert time.monotonic() - began < 20
        assert device.ids.usage("NOTIFY") == before
        mine.append(device.create_notify())
        other.send("end")
        other.end()
        assert device.ids.usage("NOTIFY")[1] == before[1] - 4
