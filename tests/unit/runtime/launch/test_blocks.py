"""Argument blocks, launches over UB, hidden slots, time limits, names on the device."""

from __future__ import annotations

import gc
import logging
import struct
import weakref
from pathlib import Path
from typing import Any

import pytest

from chips.tasks.kernel import NEVER_TIMEOUT_US
from runtime import errors
from runtime.api import Device, LaunchOptions, Runtime, Stream
from runtime.core.device.device_tables import NamePool
from runtime.launch.block import HostBlock
from runtime.launch.program import Program
from runtime.memory.kernel_pool import KernelPool
from tests.tools.elf_writer import ElfWriter, dfx, dfx_item, tlv, u32
from tests.unit.runtime.machines import V100, V200, MakeKernel, OpenMachine, holdings


def test_pointers_are_written_for_the_place(device: Device) -> None:
    block = HostBlock(bytes(32), ((8, 24), (16, 31)))
    assert struct.unpack("<4Q", block.check("launch").placed(0x1000)) == (0, 0x1018, 0x101F, 0)
    assert block.data == bytes(32)
    assert HostBlock(b"abc").placed(0x1000) == b"abc"


@pytest.mark.parametrize(("size", "place", "message"), [
    (0, None, "EE1003"), (8, (0, 8), "EE1017"), (8, (1, 0), "EE1017"), (8, (-1, 0), "EE1017"), (8, (0, -1), "EE1017"),
])  # fmt: skip
def test_blocks_that_no_launch_takes(size: int, place: tuple[int, int] | None, message: str) -> None:
    with pytest.raises(errors.InvalidArgument) as caught:
        HostBlock(bytes(size), () if place is None else (place,)).check("launch")
    assert (caught.value.code, caught.value.message_id) == (107000, message)


# -- over UB -------------------------------------------------------------------------------------------------------


def test_templates_and_builders_write_the_same_over_ub(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V200}?args=ub&seed=1&kernels=noop").device(0)
    kernel = device.load(ElfWriter().kernel("k", u32(1, 3), size=64).build(), name="k").only
    stream = device.create_stream()
    device.hal.fake.device(0).hold()
    sender, ring = stream.senders[1], stream.ring
    rows = []
    for _ in range(130):
        kernel.launch_at(stream, 2, 0x1000, 8)
        rows.append(bytes(sender.buffer)[:64])
    asked = [number for number, row in enumerate(rows) if row[1] & 0x40]
    before = ring.allocations - len(rows)
    assert asked == [number for number in range(130) if not (before + number + 1) % 64]
    device.hal.fake.device(0).release()
    stream.synchronize()


def test_arguments_arrive_over_ub(open_machine: OpenMachine) -> None:
    device = open_machine(f"fake://{V200}?args=ub&seed=1").device(0)
    kernel = device.load(ElfWriter().kernel("k", u32(1, 3) + dfx(dfx_item(1, 8)), size=64).build(), name="k").only
    seen: list[int] = []
    device.hal.fake.attach(kernel.code, lambda context: seen.append(context.args[0]), grid=True)
    stream = device.create_stream()
    for value in range(200):
        kernel[1](value, stream=stream)
    stream.synchronize()
    assert seen == list(range(200))


# -- hidden slots --------------------------------------------------------------------------------------------------


def mixed(*kinds: int) -> bytes:
    """Return a mix kernel whose compiler listed arguments of these kinds."""
    listed = dfx(*(dfx_item(0x10000 | kind, (1 << 64) - 1) for kind in kinds))
    meta = u32(1, 4) + tlv(3, struct.pack("<HH", 1, 2)) + listed
    return ElfWriter().kernel("k_mix_aic", meta, size=64).kernel("k_mix_aiv", meta, size=64).build()


@pytest.mark.parametrize(("kinds", "takes"), [
    ((2, 3), 2), ((11, 2, 3), 2), ((2, 3, 10), 2), ((11, 2, 3, 10), 2), ((11,), 0),
])  # fmt: skip
def test_slots_of_the_runtime_are_not_counted(
    device: Device, stream: Stream, kinds: tuple[int, ...], takes: int
) -> None:
    kernel = device.load(mixed(*kinds), name="k").only
    assert kernel.argument_count == takes
    seen: list[tuple[int, ...]] = []
    form = struct.Struct(f"<{len(kinds)}Q")
    device.hal.fake.attach(
        kernel.code, lambda context: seen.append(form.unpack(context.args.bytes(0, form.size))), grid=True
    )
    kernel[2](*range(5, 5 + takes), stream=stream)
    stream.synchronize()
    hidden = {10: device.context.overflow_address, 11: device.core_sync_address}
    given = iter(range(5, 5 + takes))
    assert seen == [tuple(hidden[kind] if kind in hidden else next(given) for kind in kinds)]


def test_a_kernel_without_a_list_takes_any_number(device: Device, stream: Stream) -> None:
    kernel = device.load(ElfWriter().kernel("k", u32(1, 3), size=64).build(), name="k").only
    assert kernel.argument_count is None
    device.hal.fake.attach(kernel.code, lambda context: None, grid=True)
    for count in (0, 1, 7):
        kernel[1](*range(count), stream=stream)
    stream.synchronize()


# -- options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("capability", "expected"), [("ff" * 7, NEVER_TIMEOUT_US), ("none", NEVER_TIMEOUT_US - 1)])
@pytest.mark.parametrize("soc", [V100, V200])
def test_no_limit_is_the_longest_where_the_scheduler_knows_none(
    open_machine: OpenMachine, soc: str, capability: str, expected: int
) -> None:
    device = open_machine(f"fake://{soc}?ts_capability={capability}&seed=1").device(0)
    kernel = device.load(ElfWriter().kernel("k", u32(1, 3), size=64).build(), name="k").only
    assert kernel.task(1, LaunchOptions(timeout_us=NEVER_TIMEOUT_US)).timeout_us == expected
    assert kernel.task(1, LaunchOptions(timeout_us=5)).timeout_us == 5
    assert kernel.task(1).timeout_us == 0


def test_more_blocks_than_cores_are_only_logged(stream: Stream, make_kernel: MakeKernel,
                                                caplog: pytest.LogCaptureFixture) -> None:
    kernel = make_kernel("many")
    cores = stream.device.core_counts[1]
    with caplog.at_level(logging.WARNING):
        kernel[cores](0, stream=stream)
        assert not caplog.records
        kernel[cores + 1](0, stream=stream)
    assert "run in turns" in caplog.text
    stream.synchronize()


def test_an_empty_launch_may_be_allowed(stream: Stream, make_kernel: MakeKernel) -> None:
    kernel = make_kernel("none")
    kernel[0](0, stream=stream, options=LaunchOptions(empty_ok=True))
    assert stream.ring.submitted == 0
    with pytest.raises(errors.InvalidArgument, match="0 blocks"):
        kernel[0](0, stream=stream)


# -- programs ------------------------------------------------------------------------------------------------------


def test_closing_a_program_in_use_keeps_its_code(
    device: Device, stream: Stream, make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []
    freed: list[int] = []
    monkeypatch.setattr(KernelPool, "free", lambda _self, address, _size: freed.append(address))
    kernel = make_kernel("used", lambda context: ran.append(context.blocks))
    device.hal.fake.device(0).hold()
    kernel[3](1, stream=stream)
    address = kernel.program.address
    kernel.program.close()
    device.deferred_frees.sweep()
    assert freed == []
    device.hal.fake.device(0).release()
    stream.synchronize()
    assert ran == [3]
    device.deferred_frees.sweep()
    assert freed == [address]


def test_a_closed_program_is_forgotten(device: Device, stream: Stream) -> None:
    program = device.load(ElfWriter().kernel("k", u32(1, 3), size=64).build(), name="k")
    device.hal.fake.attach(program.only.code, lambda context: None, grid=True)
    program.only[1](1, stream=stream)
    stream.synchronize()
    program.close()
    left = weakref.ref(program)
    del program
    stream.ring.owners[:] = [None] * stream.ring.depth  # labels stay until their places are used again
    gc.collect()
    assert left() is None


def test_a_program_of_nothing_cannot_be_loaded(device: Device) -> None:
    image = ElfWriter(text_flags=0).kernel("k", u32(1, 3), size=64).build()
    program = device.load(image, name="unlinked")
    with pytest.raises(errors.RuntimeFault, match="no section of the file is to be loaded"):
        program.kernel("k")


def test_globals_are_buffers(device: Device) -> None:
    image = (
        ElfWriter().section(".data", b"\x05" * 16, flags=2).kernel("k", u32(1, 3), size=64)
        .symbol("setting", type=1, section=2, size=16).build()
    )  # fmt: skip
    program = device.load(image, name="globals")
    setting = program.global_variable("setting")
    assert device.download(setting).tolist() == [5] * 16
    device.copy(setting + 8, b"\x09" * 8)
    assert device.download(setting).tolist() == [5] * 8 + [9] * 8
    with pytest.raises(errors.KernelError, match="setting") as caught:
        program.global_variable("setings")
    assert (caught.value.code, caught.value.message_id) == (107042, "")


def test_host_files_that_hold_nothing_or_are_missing(device: Device, tmp_path: Path) -> None:
    assert Program.embedded(device, b"no host file at all") == ()
    with pytest.raises(errors.InvalidArgument, match=r"host file none\.so") as caught:
        Program.embedded(device, tmp_path / "none.so")
    assert caught.value.message_id == "EE1012"


# -- names ---------------------------------------------------------------------------------------------------------


def test_names_are_kept_once_and_the_pool_grows(
    machine: Runtime, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = holdings(machine)["memory"]
    monkeypatch.setattr(NamePool, "SIZE", 256)
    pool = NamePool(device.memory)
    addresses = {f"function number {number}": pool.address_of(f"function number {number}") for number in range(20)}
    assert len(set(addresses.values())) == 20
    for name, address in addresses.items():
        assert pool.address_of(name) == address
        assert device.memory.read(address, len(name) + 1) == name.encode() + b"\0"
    assert pool.address_of("") == 0
    for bad in ("x" * 256, "a\0b"):
        with pytest.raises(errors.InvalidArgument, match="cannot be kept on the device"):
            pool.address_of(bad)
    pool.close()
    assert holdings(machine)["memory"] == before


def test_listeners_of_other_programs_are_not_told(device: Device, stream: Stream, make_kernel: MakeKernel) -> None:
    told: list[Any] = []

    def fail(_context: Any) -> None:
        from fakes.kernels import Fail

        raise Fail

    kernel = make_kernel("fails", fail)
    device.runtime.exceptions.add(told.append)
    kernel[1](7, stream=stream)
    with pytest.raises(errors.KernelFault):
        stream.synchronize()
    (info,) = told
    assert info.kernel is kernel
    assert device.memory.read(info.arguments[0], 8) == struct.pack("<Q", 7)
