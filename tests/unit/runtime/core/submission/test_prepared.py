"""Prepared sends: their text is what debuggers show, and they send what the slow path sends."""

from __future__ import annotations

import ctypes
import inspect
import traceback
from typing import Any

import pytest

from runtime.api import Kernel, Stream
from runtime.cli.sample import minimal_kernel
from runtime.core.submission import prepared
from runtime.driver.queues import Sender
from runtime.feature.graph.recording import capture
from tests.unit.runtime.machines import V100, V200, MakeKernel, OpenMachine

LAUNCHES = 200
_PASSING = frozenset({"stream_id", "rt_stream_id", "task_sn"})
MACHINES = (f"{V100}?swsq=0&seed=1", f"{V100}?swsq=1&seed=1", f"{V200}?swsq=0&seed=1", f"{V200}?swsq=1&seed=1",
            f"{V200}?swsq=0&args=ub&seed=1", f"{V200}?swsq=1&args=ub&seed=1")  # fmt: skip


@pytest.mark.usefixtures("python_sends")
def test_tracebacks_and_debuggers_show_the_text(
    stream: Stream, make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> int:
        raise KeyError("broken")

    monkeypatch.setattr(stream.senders[1], "send", broken)
    launch = make_kernel("shown").bind_device_arguments(stream, 1)
    assert "if rc := send(device_id, reference):" in inspect.getsource(launch)
    with pytest.raises(KeyError) as raised:
        launch(0)
    shown = "".join(traceback.format_exception(raised.value))
    assert "if rc := send(device_id, reference):" in shown
    assert f'File "{launch.__code__.co_filename}"' in shown
    assert launch.__code__.co_filename.startswith("<runtime/core/submission/prepared.py: ")


@pytest.mark.usefixtures("python_sends")
def test_a_shape_is_compiled_once(stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("once")
    first, second = (kernel.bind_device_arguments(stream, blocks) for blocks in (1, 2))
    assert first is not second
    assert first.__code__ is second.__code__


def captured(kernel: Kernel, monkeypatch: pytest.MonkeyPatch, address: int, *, slow: bool) -> list[dict[str, int]]:
    """Return the entries of a graph of launches: what went to its queue, or what the host keeps of it.

    Without the numbers of the stream and of the device, which the next graph does not get again.
    """
    device = kernel.program.device
    sent: list[bytes] = []
    send = device.hal.raw("halSqTaskSend")

    def watched(device_id: int, reference: Any) -> int:
        info = reference._obj
        sent.append(ctypes.string_at(info.sqe_addr, 64 * info.sqe_num))
        return int(send(device_id, reference))

    stream = device.create_stream()
    monkeypatch.setattr(Sender, "send", property(lambda _: watched, lambda *_: None), raising=False)
    if slow:
        monkeypatch.setattr(prepared, "Shape", None)  # whoever prepares a send fails
    graph = capture.begin(stream)
    graph.sites = slow
    launch = kernel.bind_device_arguments(stream, 1)
    for number in range(LAUNCHES):
        launch(address + 8 * number)
    target = graph.recording.origin.stream
    image = b"".join(sent[-LAUNCHES:]) if target.has_queue else bytes(target.own_sink.image[: 64 * LAUNCHES])
    assert len(image) == 64 * LAUNCHES
    graph.abandon("enough was seen")
    entries = [stream.plugin.decode(image[at : at + 64]).fields for at in range(0, len(image), 64)]
    return [{name: value for name, value in fields.items() if name not in _PASSING} for fields in entries]


@pytest.mark.parametrize("name", MACHINES)
def test_captured_launches_are_those_of_the_slow_path(
    name: str, open_machine: OpenMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = open_machine(f"null://{name}").device(0)
    kernel, address = device.load(minimal_kernel("kept", 1)).only, device.alloc(4096).address
    graphs = []
    for slow in (False, True):
        with monkeypatch.context() as watching:
            graphs.append(captured(kernel, watching, address, slow=slow))
    assert graphs[0] == graphs[1]
    assert len(graphs[0]) == LAUNCHES
