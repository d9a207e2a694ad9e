"""Kernel files of another architecture: refused by name, or taken knowingly; on the fake they fail as on a card."""

from __future__ import annotations

import io
import logging
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from chips.binary.writer import KernelText, write_elf
from runtime import errors
from runtime.api import Device, Runtime
from runtime.capi.aclrt import Out
from runtime.cli import main
from runtime.cli.doctor.kernel import kernel_step
from runtime.launch.program import Program
from tests.tools.elf_writer import ElfWriter
from tests.unit.runtime.capi.kernel_calls import Caller
from tests.unit.runtime.machines import OpenMachine

C220, C310, UNKNOWN = 0x93 << 16, 0x99 << 16, 0x81 << 16
META = bytes.fromhex("0100 0400 03000000")  # a vector kernel
OTHER = {"ascend910b3": (C310, "c310", "c220"), "ascend950": (C220, "c220", "c310")}


def image(flags: int, name: str = "alien") -> bytes:
    return write_elf([KernelText(name, bytes(range(64)), META)], flags=flags)


@pytest.fixture(params=OTHER)
def soc(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def machine(soc: str, open_machine: OpenMachine) -> Runtime:
    return open_machine(f"fake://{soc}")


def other(device: Device) -> tuple[bytes, str, str]:
    """Return a file for other cores, their name, and that of the device's own."""
    flags, cores, own = next(row for soc, row in OTHER.items() if soc in device.hal.url)
    return image(flags), cores, own


def test_it_is_refused_at_load_naming_both(device: Device, tmp_path: Path) -> None:
    content, cores, own = other(device)
    path = tmp_path / "alien.o"
    path.write_bytes(content)
    before = len(device.programs)
    for source in (path, str(path), content, bytearray(content)):
        for load in (device.load, lambda source: Program(device, source)):
            with pytest.raises(errors.InvalidArgument) as caught:
                load(source)
            assert (caught.value.code, caught.value.message_id) == (107000, "EE1014")
            for words in (cores, own, device.chip.soc, "allow_foreign=True"):
                assert words in str(caught.value)
    assert len(device.programs) == before
    assert device.load(image(UNKNOWN)).only.name == "alien"  # nobody knows
    assert device.load(image(C220 if own == "c220" else C310)).only.name == "alien"


def test_taken_knowingly_it_fails_like_code_that_the_cores_do_not_know(device: Device) -> None:
    content, cores, _ = other(device)
    kernel, stream = device.load(content, allow_foreign=True).only, device.create_stream()
    for _ in range(2):
        kernel[1](stream=stream)
        with pytest.raises(errors.KernelFault, match=f"its first instruction is one of {cores}") as caught:
            stream.synchronize(30_000)
        assert caught.value.code == 507035
    ran: list[int] = []
    device.hal.fake.attach(kernel.code, lambda _context: ran.append(1), grid=True)
    kernel[1](stream=stream)
    stream.synchronize(30_000)
    assert ran == [1]


def test_memory_of_unloaded_code_may_hold_other_code(device: Device) -> None:
    content, cores, own = other(device)
    program = device.load(content, allow_foreign=True)
    program.load()
    kernels, address = device.hal.fake.kernels, program.address
    assert cores in kernels.foreign_cores(address + 8)
    program.close()
    assert not kernels.foreign_cores(address)
    device.load(image(C220 if own == "c220" else C310)).load()
    assert not kernels.foreign


def test_of_a_host_file_with_several_architectures_the_fitting_ones_are_taken(device: Device) -> None:
    content, cores, own = other(device)
    fitting = image(C220 if own == "c220" else C310, "native")
    whole = _host_file(content, fitting)
    assert [list(program) for program in Program.embedded(device, whole)] == [["native"]]
    assert len(Program.embedded(device, whole, allow_foreign=True)) == 2
    with pytest.raises(errors.InvalidArgument, match=cores):
        Program.embedded(device, _host_file(content))


def _host_file(*parts: bytes) -> bytes:
    """Return a host library with device binaries in its read-only data."""
    return ElfWriter(machine=62).symbol("main").section(".rodata", b"".join(parts)).build()


@pytest.mark.parametrize(("soc", "flags"), [("910B1", C310), ("950", C220)])
def test_the_c_api_takes_it_with_one_warning(soc: str, flags: int, caplog: pytest.LogCaptureFixture) -> None:
    api = Caller(soc)
    with caplog.at_level(logging.WARNING):
        handle = api.load(image(flags))
        api.step("aclrtBinaryGetFunction", 0, binHandle=handle, kernelName="alien", funcHandle=Out())
    told = [record for record in caplog.records if "was compiled for" in record.getMessage()]
    assert len(told) == 1
    assert "each launch of it will fail" in told[0].getMessage()
    api.acl.close()


def test_elf_and_the_probe_say_so_first(tmp_path: Path, soc: str) -> None:
    flags, cores, _ = OTHER[soc]
    path = tmp_path / "alien.o"
    path.write_bytes(image(flags))
    text = io.StringIO()
    with redirect_stdout(text):
        main(["elf", "--chip", soc.removeprefix("ascend"), str(path)])
    assert cores in text.getvalue().splitlines()[1]
    step = kernel_step(f"fake://{soc}", 0, path, None)
    with pytest.raises(errors.InvalidArgument, match=cores):
        step.work()
