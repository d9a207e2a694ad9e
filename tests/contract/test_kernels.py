"""Programs, kernels and launches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fakes import kernels as ready
from runtime import errors
from runtime.api import Device, Kernel, LaunchOptions
from runtime.cli.sample import minimal_kernel
from tests.contract.holdings import tasks_sent

COMMANDS = True

MakeKernel = Callable[..., Kernel]
DATA = Path(__file__).resolve().parents[1] / "data" / "kernels"


def test_launch_computes(device: Device, make_kernel: MakeKernel) -> None:
    add = make_kernel("add", ready.add())
    x, y = np.arange(1000, dtype=np.float32), np.full(1000, 0.5, np.float32)
    z = device.alloc(x.nbytes)
    with device.create_stream() as stream:
        add[8](device.upload(x), device.upload(y), z, stream=stream)
        stream.synchronize()
    assert np.array_equal(device.download(z, "f4"), x + y)


def test_launch_in_the_default_stream(device: Device, make_kernel: MakeKernel) -> None:
    fill = make_kernel("fill", ready.fill(3.0), 1)
    buffer = device.alloc(256)
    fill[2](buffer)
    device.default_stream.synchronize()
    assert device.download(buffer, "f4").tolist() == [3.0] * 64


def test_execution_is_later_than_the_call(device: Device, make_kernel: MakeKernel) -> None:
    ran: list[int] = []
    note = make_kernel("note", lambda context: ran.append(context.blocks), 1, grid=True)
    with device.create_stream() as stream:
        device.hal.fake.device(0).hold()
        note[5](device.alloc(8), stream=stream)
        assert not ran
        assert not stream.query()
        device.hal.fake.device(0).release()
        stream.synchronize()
    assert ran == [5]


def test_scalars_bytes_and_negative_ints_arrive_in_slots(device: Device, make_kernel: MakeKernel) -> None:
    seen: list[bytes] = []
    look = make_kernel("look", lambda context: seen.append(context.args.bytes(0, 48)), 5, grid=True)
    buffer = device.alloc(8)
    with device.create_stream() as stream:
        look[1](buffer, np.float32(1.5), -1, np.int16(-2), b"0123456789", stream=stream)
        stream.synchronize()
    block = seen[0]
    assert int.from_bytes(block[:8], "little") == buffer.address
    assert np.frombuffer(block[8:12], "f4")[0] == 1.5
    assert block[16:24] == b"\xff" * 8
    assert np.frombuffer(block[24:26], "i2")[0] == -2
    assert block[32:42] == b"0123456789"


def test_arguments_larger_than_any_pool_block(device: Device, make_kernel: MakeKernel) -> None:
    payload = np.random.default_rng(3).bytes(64_000)
    seen: list[bytes] = []
    look = make_kernel("large", lambda context: seen.append(context.args.bytes(0, len(payload))), 1, grid=True)
    with device.create_stream() as stream:
        look[1](payload, stream=stream)
        stream.synchronize()
    assert seen == [payload]


def test_bound_launcher_and_device_arguments(device: Device, make_kernel: MakeKernel) -> None:
    copy = make_kernel("copy", ready.copy(), 2)
    source, first, second = device.upload(bytes(range(200))), device.alloc(200), device.alloc(200)
    with device.create_stream() as stream:
        copy.bind(stream, 4)(source, first)
        block = device.upload(np.array([first.address, second.address], np.uint64))
        copy.bind_device_arguments(stream, 4)(block.address)
        stream.synchronize()
    assert device.download(second).tobytes() == bytes(range(200))


def test_many_launches_wrap_ring_and_pools(device: Device, make_kernel: MakeKernel) -> None:
    def count(context: ready.Context) -> None:
        context.args.array(0, "u8", 1)[0] += 1

    bump = make_kernel("bump", count, 1, grid=True)
    counter = device.upload(bytes(8))
    total = device.chip.limits.rtsq_depth + 17
    with device.create_stream() as stream:
        launch = bump.bind(stream, 1)
        for _ in range(total):
            launch(counter)
        stream.synchronize()
    assert device.download(counter, "u8")[0] == total


@pytest.mark.parametrize("chip", ["ascend910b", "ascend950"])
def test_real_kernel_files_load_and_launch(device: Device, chip: str) -> None:
    if not device.chip.family.startswith(chip) and not (chip == "ascend910b" and "910_93" in device.chip.family):
        pytest.skip("a kernel of another chip")
    path = next((DATA / chip).glob("*.o"))
    program = device.load(path)
    ran: list[str] = []
    with device.create_stream() as stream:
        for name in program:
            kernel = program.kernel(name)
            assert program.kernel(kernel.tiling_key) is kernel
            device.hal.fake.attach(kernel.code, lambda _context, name=name: ran.append(name), name=name, grid=True)
            buffers = [device.alloc(4096) for _ in range(kernel.argument_count)]
            stream.launch(kernel, 8, *buffers)
            stream.synchronize()
    # Two entries with the same code cannot be told apart by it; each launch must have run one of them.
    assert len(ran) == len(program)


def test_argument_count_and_types_are_checked(device: Device, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("two", lambda context: None, 2)
    buffer = device.alloc(8)
    with device.create_stream() as stream:
        for arguments, text in (
            ((buffer,), "takes 2 arguments, 1 was given"),
            ((buffer, 1.5), r"wrap it: numpy.float32"),
            ((buffer, "x"), "a str cannot be a kernel argument"),
            ((buffer, None), "a NoneType cannot be"),
            ((buffer, np.zeros(3)), r"device.upload"),
            ((buffer, 1 << 70), "does not fit 64 bits"),
        ):
            with pytest.raises(errors.InvalidArgument, match=text):
                kernel[1](*arguments, stream=stream)
        assert tasks_sent(stream) == 0


@pytest.mark.parametrize("blocks", [0, -1, 65536, 1.0, "8"])
def test_block_count_is_checked(device: Device, make_kernel: MakeKernel, blocks: object) -> None:
    kernel = make_kernel("one", lambda context: None, 1)
    with pytest.raises(errors.InvalidArgument, match=r"allowed are 1 to 65535") as caught:
        kernel[blocks](device.alloc(8))
    assert caught.value.code == 107000


def test_options_are_checked() -> None:
    with pytest.raises(errors.InvalidArgument, match=r"LaunchOptions\.schedule is 2"):
        LaunchOptions(schedule=2)


def test_freed_buffer_as_argument(device: Device, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("free", lambda context: None, 1)
    buffer = device.alloc(8)
    buffer.close()
    with pytest.raises(errors.InvalidArgument, match="was freed"):
        kernel[1](buffer)


def test_unknown_kernel_suggests_near_names(device: Device) -> None:
    program = device.load(minimal_kernel("add_custom", 3), name="adds.o")
    with pytest.raises(errors.InvalidArgument, match="add_custom") as caught:
        program.kernel("add_costum")
    assert "add_custom" in caught.value.hint or "add_custom" in str(caught.value)
    with pytest.raises(errors.InvalidArgument, match="77"):
        program.kernel(77)


@pytest.mark.hardware_safe
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "no such file"),
        (b"", "it is empty"),
        (b"MZ" + bytes(100), "ELF"),
        (minimal_kernel("cut", 1)[:200], "section"),
    ],
    ids=["missing", "empty", "foreign", "truncated"],
)
def test_bad_kernel_files_are_refused(device: Device, tmp_path: Path, content: bytes | None, text: str) -> None:
    path = tmp_path / "kernel.o"
    if content is not None:
        path.write_bytes(content)
    before = len(device.programs)
    with pytest.raises(errors.InvalidArgument, match=text) as caught:
        device.load(path)
    assert "kernel.o" in str(caught.value)
    assert len(device.programs) == before


def test_unloaded_program_is_refused(device: Device, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("gone", lambda context: None, 1)
    kernel.program.close()
    with pytest.raises(errors.InvalidHandle, match="was unloaded"):
        kernel[1](device.alloc(8))


def test_unattached_kernel_shows_how_to_attach(device: Device) -> None:
    kernel = device.load(minimal_kernel("nobody", 1)).only
    with device.create_stream() as stream:
        kernel[1](device.alloc(8), stream=stream)
        with pytest.raises(errors.KernelFault, match="kernel nobody failed"):
            stream.synchronize()
    assert any("attach" in problem for problem in device.hal.fake.problems)
