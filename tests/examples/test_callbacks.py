"""Functions on the host: reports to a thread of one's own, host functions in stream order, a hook for failed tasks."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fakes.kernels import Fail
from runtime import errors
from runtime.api import Device, Stream
from runtime.core.callbacks.exceptions import ExceptionInfo
from tests.examples.conftest import StandIn

USER_DATA = 520


def test_callbacks_in_a_thread_of_ones_own(device: Device, stand_in: StandIn) -> None:
    """Five callbacks with their user data in the thread that subscribed, a host function in one of the runtime's."""
    calls, seen, threads = device.runtime.callbacks, [], []
    started, subscribed, done = threading.Event(), threading.Event(), threading.Event()

    def report() -> None:
        threads.append(threading.get_ident())
        started.set()
        subscribed.wait(60)
        while not done.is_set():
            with contextlib.suppress(errors.Timeout):
                calls.process(threading.get_ident(), 100)

    def called(data: int) -> None:
        seen.append((threading.get_ident(), data))

    thread = threading.Thread(target=report)
    thread.start()
    assert started.wait(60)
    kernel = stand_in(lambda _context: None)
    with device.create_stream() as stream, device.create_stream() as other:
        calls.subscribe(threads[0], stream)
        subscribed.set()
        for _ in range(5):
            kernel[1](0, stream=stream)
            calls.launch(stream, called, USER_DATA, block=True)
        stream.synchronize(10_000)
        hosted: list[int] = []
        other.host_function(lambda: hosted.append(threading.get_ident()))
        other.synchronize(10_000)
        done.set()
        thread.join()
        calls.unsubscribe(threads[0], stream)
    assert seen == [(threads[0], USER_DATA)] * 5
    assert len(hosted) == 1
    assert hosted[0] not in (threads[0], threading.get_ident())


def test_a_host_function_holds_later_work(device: Device, stream: Stream, stand_in: StandIn) -> None:
    order: list[str] = []
    kernel = stand_in(lambda _context: order.append("kernel"))
    stream.host_function(order.append, "host function")
    kernel[1](0, stream=stream)
    stream.synchronize(10_000)
    assert order == ["host function", "kernel"]


def test_buffers_saved_when_a_task_fails(
    device: Device, stream: Stream, stand_in: StandIn, tmp_path: Path
) -> None:
    """The hook writes down what the kernel had to work with, and who it was."""
    source, target = device.upload(np.arange(8, dtype="f4")), device.alloc(32)

    def halfway(context: Any) -> None:
        context.args.array(1, "f4", 8)[:4] = 5
        raise Fail("a bad number")

    def save(info: ExceptionInfo) -> None:
        assert info.kernel is not None
        folder = tmp_path / f"device {info.device_id}" / f"{info.kernel.name}, task {info.task_id}"
        folder.mkdir(parents=True)
        for name, buffer in (("input", source), ("output", target)):
            np.save(folder / name, device.download(buffer, "f4"))

    device.runtime.exceptions.add(save)
    device.fill(target, 0)
    stand_in(halfway, 2)[1](source, target, stream=stream)
    with pytest.raises(errors.KernelFault):
        stream.synchronize()
    (folder,) = (tmp_path / "device 0").iterdir()
    assert folder.name.startswith("halfway")
    assert np.load(folder / "input.npy").tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert np.load(folder / "output.npy").tolist() == [5, 5, 5, 5, 0, 0, 0, 0]


def test_hook_for_failed_tasks(device: Device, stream: Stream, stand_in: StandIn) -> None:
    """The hook gets five ids and the kernel; the wait raises; the program goes on."""
    told: list[ExceptionInfo] = []

    def out_of_range(_context: Any) -> None:
        raise Fail("reads out of range")

    kernel = stand_in(out_of_range)
    device.runtime.exceptions.add(told.append)
    kernel[1](0, stream=stream)
    with pytest.raises(errors.KernelFault) as caught:
        stream.synchronize()
    (info,) = told
    assert (info.device_id, info.stream_id, info.error_code) == (0, stream.stream_id, caught.value.code)
    assert info.kernel is kernel
    assert info.thread_id
    assert info.arguments[0]
    stream.synchronize()
