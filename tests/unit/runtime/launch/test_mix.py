"""Mix kernels take the fast path, however they are launched; what arrives is what the slow path brings."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chips.blocks import blocks
from chips.env import TaskIds
from chips.tasks import MixKernel
from npuhal.records import replace
from runtime.api import Device, Kernel, Stream
from runtime.launch.block import HostBlock
from tests.tools.elf_writer import ElfWriter, dfx, dfx_item, tlv, u32
from tests.unit.runtime.machines import V100, V200, OpenMachine

MACHINES = (f"{V100}?seed=1", f"{V100}?args=bar&seed=1", f"{V200}?seed=1",
            f"{V200}?args=ub&seed=1")  # fmt: skip
_FFTS_ADDRESS, _OVERFLOW, _INPUT, _OUTPUT = 11, 10, 2, 3
_FORM = struct.Struct("<4Q")

Words = tuple[int, ...]


def mix_kernel(device: Device) -> Kernel:
    """Return a mix kernel with two arguments, between the words of the runtime."""
    listed = dfx(*(dfx_item(0x10000 | kind, (1 << 64) - 1) for kind in (_FFTS_ADDRESS, _INPUT, _OUTPUT, _OVERFLOW)))
    meta = u32(1, 4) + tlv(3, struct.pack("<HH", 1, 2)) + listed
    file = ElfWriter().kernel("k_mix_aic", meta, size=64).kernel("k_mix_aiv", meta, size=64).build()
    return device.load(file, name="k").only


@pytest.fixture(params=MACHINES)
def device(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Device:
    """A device of each generation and each way of arguments."""
    return open_machine(f"fake://{request.param}").device(0)


@pytest.fixture
def kernel(device: Device, seen: list[Words]) -> Kernel:
    """The kernel; what it was given is noted."""
    kernel = mix_kernel(device)
    assert isinstance(kernel.task(1), MixKernel)

    def note(context: Any) -> None:
        before, first, second, behind = _FORM.unpack(context.args.bytes(0, _FORM.size))
        assert (before, behind) == (device.core_sync_address, device.context.overflow_address)
        seen.append((first, second))

    device.hal.fake.attach(kernel.code, note, grid=True)
    return kernel


@pytest.fixture
def seen() -> list[Words]:
    """What the kernel was given, in order."""
    return []


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[MixKernel]:
    """What takes the slow path."""
    taken: list[MixKernel] = []
    submit = Stream.submit

    def watched(stream: Stream, task: Any, **options: Any) -> TaskIds:
        taken.extend([task] if isinstance(task, MixKernel) else [])
        return submit(stream, task, **options)

    monkeypatch.setattr(Stream, "submit", watched)
    return taken


def through_subscript(kernel: Kernel, stream: Stream, rows: list[Words]) -> None:
    for row in rows:
        kernel[2](*row, stream=stream)


def through_block(kernel: Kernel, stream: Stream, rows: list[Words]) -> None:
    (before,), (behind,) = kernel.hidden_words()
    for row in rows:
        kernel.launch_block(stream, 2, HostBlock(_FORM.pack(before, *row, behind)))


def through_address(kernel: Kernel, stream: Stream, rows: list[Words]) -> None:
    (before,), (behind,) = kernel.hidden_words()
    launch = kernel.bind_device_arguments(stream, 2)
    for row in rows:
        launch(stream.device.upload(_FORM.pack(before, *row, behind)).address)


def through_rows(kernel: Kernel, stream: Stream, rows: list[Words]) -> None:
    stream.launch_many(kernel, 2, np.array(rows, np.uint64))


def through_batch(kernel: Kernel, stream: Stream, rows: list[Words]) -> None:
    middle = len(rows) // 2
    with stream.batch() as batch:
        for row in rows[:middle]:
            batch.launch(kernel, 2, *row)
        batch.launch_many(kernel, 2, np.array(rows[middle:], np.uint64))


def through_capture(kernel: Kernel, stream: Stream, rows: list[Words]) -> None:
    with stream.capture() as graph:
        through_subscript(kernel, stream, rows)
    graph.launch(stream)
    stream.synchronize()


@pytest.mark.parametrize("launch", [
    through_subscript, through_block, through_address, through_rows, through_batch, through_capture,
])  # fmt: skip
def test_every_way_is_the_fast_one(
    device: Device, kernel: Kernel, seen: list[Words], slow: list[MixKernel],
    launch: Callable[[Kernel, Stream, list[Words]], None],
) -> None:
    rows = [(number, number << 40) for number in range(300)]
    before = [pool.unused for pool in device.arguments.pools]
    for _ in range(2):
        with device.create_stream() as stream:
            launch(kernel, stream, rows)
            stream.synchronize()
    assert seen == rows * 2
    assert slow == []
    assert [pool.unused for pool in device.arguments.pools] == before


def test_the_context_is_what_the_builder_makes(device: Device, kernel: Kernel) -> None:
    stream = device.create_stream()
    kernel[5](7, 9, stream=stream)
    entry = stream.plugin.decode(bytes(stream.senders[1].buffer)).fields
    task = kernel.task(5)
    assert isinstance(task, MixKernel)
    if "contexts" in entry:
        at = entry["contexts"]
        described = replace(task, context=at, args=at + 128, args_size=_FORM.size)
        (block,) = blocks(described, stream.env, TaskIds(0))
        assert bytes(device.memory.read(at, len(block.data))) == block.data
    else:
        described = replace(task, args=entry["aic_param"], args_size=_FORM.size)
        assert entry["aic_param"] == entry["aiv_param"]
    expected = stream.plugin.decode(stream.plugin.encode(described, stream.env, TaskIds(0, 0, 0, 1))).fields
    assert {**expected, "task_sn": 0, "task_id": 0} == {**entry, "task_sn": 0, "task_id": 0}
    stream.synchronize()


def test_nodes_of_captured_launches_can_be_changed(device: Device, kernel: Kernel, seen: list[Words]) -> None:
    stream = device.create_stream()
    with stream.capture() as graph:
        kernel[2](1, 2, stream=stream)
        kernel[3](3, 4, stream=stream)
    first, second = graph.kernels
    assert (first.blocks, second.blocks) == (2, 3)
    assert isinstance(first.task, MixKernel)
    graph.launch(stream)
    stream.synchronize()
    graph.update(second, args=(5, 6))
    graph.launch(stream)
    stream.synchronize()
    assert seen == [(1, 2), (3, 4), (1, 2), (5, 6)]
