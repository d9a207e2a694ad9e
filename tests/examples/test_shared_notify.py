"""A notify that a process waits for on one device and another process records from a second device."""

from __future__ import annotations

from contextlib import closing

import pytest

from runtime.api import Runtime
from tests.tools.processes import Line, processes, shared_name

CHIPS = ("ascend910b3", "ascend910_9391")
ANSWER = 123


def wait(line: Line, url: str, listed: bool) -> int:
    """Wait for the notify on a stream, then read what the other process has written before."""
    with closing(Runtime(url)) as machine:
        device = machine.device(0)
        buffer = device.alloc(4096)
        with device.create_notify() as notify, device.create_stream() as stream, device.share(buffer, None) as exported:
            line.send(notify.export(everyone=not listed), exported.key)
            if listed:
                notify.allow([line.hear()])
                line.send("allowed")
            notify.wait(stream)
            line.send(stream.query())
            stream.synchronize(30_000)
            written = int(device.download(buffer.view(0, 8), "u8")[0])
            line.hear()  # the other process has closed the memory: as long as it has not, the driver keeps it
            return written


def record(line: Line, url: str) -> None:
    """Write into the other process's memory, then record its notify."""
    with closing(Runtime(url)) as machine:
        device, owner = machine.device(1), machine.device(0)
        device.enable_peer_access(owner)
        line.send(device.bare_pid())
        name, key = line.hear()
        with device.open_notify(name) as notify, device.open_shared(key) as buffer, device.create_stream() as stream:
            stream.write_value(buffer, ANSWER)
            notify.record(stream)
            stream.synchronize(10_000)


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "open"])
def test_shared_notify(soc: str, listed: bool) -> None:
    url = f"fake://{soc}?devices=2&shared={shared_name('notify')}"
    with processes((wait, url, listed), (record, url)) as (waiter, recorder):
        names, pid = waiter.hear(), recorder.hear()
        if listed:
            waiter.send(pid)
            assert waiter.hear() == "allowed"
        assert waiter.hear() is False  # the stream stands and waits
        recorder.send(names)
        recorder.end()
        waiter.send("closed")
        assert waiter.end() == ANSWER
