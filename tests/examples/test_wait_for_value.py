"""One stream waits for a value in device memory that another thread's stream writes."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from runtime.api import Runtime

FLAG = 123


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950pr_9599"])
def test_wait_for_value(soc: str) -> None:
    order: list[str] = []
    with closing(Runtime(f"fake://{soc}?free_run=1")) as machine:
        device = machine.device(0)
        flag, result = device.alloc(64), device.alloc(64)
        device.fill(flag, 0)
        waiting = threading.Event()

        def wait() -> None:
            with device.create_stream() as stream:
                stream.wait_value(flag, FLAG)
                stream.copy(result, flag)
                order.append("open" if stream.query() else "held")
                waiting.set()
                stream.synchronize(30_000)
                order.append("waited")

        waiter = threading.Thread(target=wait)
        waiter.start()
        assert waiting.wait(30)
        with device.create_stream() as stream:
            order.append("write")
            stream.write_value(flag, FLAG)
            stream.synchronize(10_000)
        waiter.join(30)
        assert order == ["held", "write", "waited"]
        assert device.download(result.view(0, 8), "u8") == FLAG
