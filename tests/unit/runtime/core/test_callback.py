"""The thread that runs host functions, when the queue that it listens to goes away."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from runtime.api import Device
from runtime.driver.callbacks import CallbackDriver

LIMIT_S = 60


def test_the_thread_of_host_functions_outlives_the_queue_that_it_listens_to(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    listens, gone = threading.Event(), threading.Event()
    receive = CallbackDriver.receive

    def late(driver: CallbackDriver, cq_id: int, timeout_ms: int) -> Any:
        listens.set()
        assert gone.wait(LIMIT_S)
        return receive(driver, cq_id, timeout_ms)

    stream = device.create_stream()
    with monkeypatch.context() as patched:
        patched.setattr(CallbackDriver, "receive", late)
        stream.host_function(lambda: None)
        assert listens.wait(LIMIT_S)
        stream.close(force=True)
        gone.set()
    ran: list[str] = []
    with device.create_stream() as other:
        other.host_function(ran.append, "still there")
        other.synchronize()
    assert ran == ["still there"]
