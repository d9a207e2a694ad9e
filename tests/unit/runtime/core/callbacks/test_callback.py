"""The thread that runs host functions, when the queue that it listens to goes away."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from runtime.api import Device
from runtime.core.callbacks.callback import Group

LIMIT_S = 60


def test_the_thread_of_host_functions_outlives_the_queue_that_it_listens_to(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    about_to, gone = threading.Event(), threading.Event()
    receive = Group.receive

    def late(group: Group, timeout_ms: int) -> Any:
        about_to.set()
        assert gone.wait(LIMIT_S)
        return receive(group, timeout_ms)

    stream = device.create_stream()
    with monkeypatch.context() as patched:
        patched.setattr(Group, "receive", late)
        stream.host_function(lambda: None)
        assert about_to.wait(LIMIT_S)
        stream.close(force=True)
        gone.set()
    ran: list[str] = []
    with device.create_stream() as other:
        other.host_function(ran.append, "still there")
        other.synchronize()
    assert ran == ["still there"]
