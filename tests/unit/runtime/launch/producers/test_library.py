"""`device.load_library(path)[name].launch(blocks, ...)`: hidden members, arguments by their types, TileLang's order."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Stream
from runtime.launch.producers.library import Library, LibraryKernel
from tests.tools.corpus import corpus
from tests.tools.elf_writer import ElfWriter, tlv
from tests.tools.host_library import ascendc_library, launch_library

FLAGS = {"ascend910b1": 0x940000, "ascend950pr_9599": 0x990000}
AIV, MIX = 1, 0


@pytest.fixture
def elf(chip: str) -> Callable[..., bytes]:
    """Return a function that makes a device ELF of the chip."""

    def made(*names: str, meta: bytes = b"") -> bytes:
        writer = ElfWriter(flags=FLAGS[chip])
        for name in names:
            writer.kernel(name, size=64)
        return (writer.section(".ascend.meta", meta) if meta else writer).build()

    return made


@pytest.fixture
def library(device: Device, elf: Callable[..., bytes]) -> Library:
    """An `ascendc_library` with two vector kernels."""
    return device.load_library(ascendc_library({"ascendx": [(AIV, elf("add_custom_0", "scale_1"))]}))


def watch(kernel: LibraryKernel, size: int) -> list[bytes]:
    """Return the blocks that a kernel gets."""
    seen: list[bytes] = []
    fake = kernel.kernel.program.device.hal.fake
    fake.attach(kernel.kernel.code, lambda context: seen.append(context.args.bytes(0, size)), grid=True)
    return seen


class Tiling(ctypes.Structure):
    """A structure that kernels take by value."""

    _fields_ = (("rows", ctypes.c_uint32), ("columns", ctypes.c_uint32), ("scale", ctypes.c_float))


def test_a_library_is_its_kernels_by_name(library: Library, tmp_path: Path, device: Device) -> None:
    assert (list(library), len(library)) == (["add_custom", "scale"], 2)
    assert "add_custom_0" in library
    assert library["add_custom"] is library["add_custom"]
    assert library["add_custom_0"].kernel is library["add_custom"].kernel
    with pytest.raises(errors.InvalidArgument, match="did you mean 'scale'"):
        library["scales"]
    path = tmp_path / "libk.so"
    path.write_bytes(b"\x7fELF")
    for wrong in (path, tmp_path / "none.so", b"text", tmp_path):
        with pytest.raises(errors.RuntimeFault):
            device.load_library(wrong)


def test_parameters_of_their_own_size_and_the_overflow_status_last(library: Library, device: Device,
                                                                   stream: Stream) -> None:
    kernel = library["add_custom"]
    seen = watch(kernel, 56)
    x, y = device.alloc(64), device.upload(np.zeros(4, "f4"))
    for _ in range(2):
        kernel.launch(8, x, y, None, ctypes.c_int8(-1), np.int16(-2), np.float32(0.5), Tiling(1, 2, 3.0), stream=stream)
    stream.synchronize()
    values = x.address, y.address, 0, -1, -2, 0.5, 1, 2, 3.0, device.context.overflow_address
    assert seen == [struct.pack("<QQQb3xh2xfIIfQ", *values)] * 2


def test_mix_kernels_get_the_synchronisation_registers_where_the_chip_has_them(
    device: Device, stream: Stream, elf: Callable[..., bytes]
) -> None:
    found = device.load_library(ascendc_library({"x": [(MIX, elf("mm_0_mix_aic", "mm_0_mix_aiv"))]}))
    kernel = found["mm"]
    seen = watch(kernel, 24)
    kernel.launch(2, np.uint64(5), stream=stream)
    stream.synchronize()
    words = struct.unpack("<3Q", seen[0])
    has = device.chip.has("TASK_FFTS_PLUS")
    assert words[: 2 + has] == (*([device.core_sync_address] if has else []), 5, device.context.overflow_address)


def test_structures_by_value_keep_their_alignment(library: Library, stream: Stream) -> None:
    record = np.dtype([("n", "i4"), ("x", "f8")], align=True)
    value = np.array((3, 0.5), record)
    kernel = library["scale"]
    seen = watch(kernel, 40)
    kernel.launch(1, np.int8(1), value[()], (ctypes.c_int16 * 3)(1, 2, 3), stream=stream)
    stream.synchronize()
    assert struct.unpack("<b7xi4xd3h2x", seen[0][:32]) == (1, 3, 0.5, 1, 2, 3)  # NumPy leaves anything in the gaps


def test_a_library_that_prints_wants_a_buffer(device: Device, stream: Stream, elf: Callable[..., bytes]) -> None:
    meta = tlv(0, struct.pack("<I", 1)) + tlv(1, struct.pack("<II", 1 << 20, 1))
    kernel = device.load_library(ascendc_library({"x": [(AIV, elf("loud_0", meta=meta))]}))["loud"]
    seen = watch(kernel, 16)
    with pytest.raises(errors.InvalidArgument, match=r"(?s)printf.*dump=device.alloc"):
        kernel.launch(1, None, stream=stream)
    buffer = device.alloc(1 << 20)
    kernel.launch(1, np.uint64(7), stream=stream, dump=buffer)
    kernel.launch(1, np.uint64(7), stream=stream, dump=False)
    stream.synchronize()
    assert struct.unpack("<2Q", seen[0]) == (buffer.address, 7)
    assert struct.unpack("<2Q", seen[1]) == (7, device.context.overflow_address)


def test_launch_builds_pass_the_parameters_alone(device: Device, stream: Stream, elf: Callable[..., bytes]) -> None:
    found = device.load_library(launch_library(linked=elf("_Z3addPhS_i"), relocatable=elf("_Z3addPhS_i")))
    assert (list(found), len(found.programs)) == (["add"], 1)
    kernel = found["_Z3addPhS_i"]
    seen = watch(kernel, 24)
    kernel.launch(1, np.uint64(1), np.uint64(2), np.int32(5), stream=stream)
    kernel.launch(1, stream=stream)
    stream.synchronize()
    assert seen[0] == struct.pack("<QQi4x", 1, 2, 5)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, r"(?s)Python number.*ctypes.c_int32"), (2.5, "Python number"), (True, "Python number"),
        (b"1234", "how they are aligned"), (np.zeros(3), r"(?s)argument 0.*device.upload"),
        ("x", "argument 0.*pointer"),
    ],
    ids=str,
)  # fmt: skip
def test_arguments_without_a_size_are_refused(library: Library, stream: Stream, value: Any, message: str) -> None:
    seen = watch(library["scale"], 8)
    with pytest.raises(errors.InvalidArgument, match=message):
        library["scale"].launch(1, value, stream=stream)
    library["scale"].launch(1, stream=stream)
    stream.synchronize()
    assert len(seen) == 1


def test_wrong_launches(library: Library, stream: Stream, device: Device) -> None:
    for blocks in (0, 65536, "8"):
        with pytest.raises(errors.InvalidArgument, match="blocks"):
            library["scale"].launch(blocks, stream=stream)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidArgument, match="cannot reach"):
        library["scale"].launch(1, device.alloc_host(8), stream=stream)
    library.close()
    with pytest.raises(errors.InvalidHandle, match="unloaded"):
        library["scale"].launch(1, stream=stream)


# -- TileLang ------------------------------------------------------------------------------------------------------

TEXT = 'extern "C" __global__ __aicore__ void add_kernel(GM_ADDR a, float s, int32_t k, int64_t M, uint64_t fftsAddr);'


@pytest.fixture
def tilelang(device: Device, elf: Callable[..., bytes], tmp_path: Path) -> LibraryKernel:
    """A kernel of TileLang's cache."""
    (tmp_path / "kernel.cu").write_text(TEXT)
    path = tmp_path / "kernel_lib.so"
    path.write_bytes(launch_library(linked=elf("add_kernel")))
    return device.load_library(path)["add_kernel"]


def test_tilelang_has_types_and_the_registers_last(tilelang: LibraryKernel, device: Device, stream: Stream) -> None:
    seen = watch(tilelang, 32)
    buffer = device.alloc(64)
    tilelang.launch(4, buffer, 0.5, 7, 1 << 40, stream=stream)
    tilelang.launch(4, buffer.address, np.float32(0.5), ctypes.c_int32(7), np.int64(1 << 40), stream=stream)
    stream.synchronize()
    assert seen == [struct.pack("<QfiqQ", buffer.address, 0.5, 7, 1 << 40, device.core_sync_address)] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0.5, 7), r"(?s)number of arguments is 3: it takes 4: a: GM_ADDR.*fftsAddr, is filled in"),
        ((1, 0.5, 7, 8, 9), "it takes 4"),
        ((1.5, 0.5, 7, 8), r"argument 0 \(a: GM_ADDR\)"),
        ((1, "x", 7, 8), r"argument 1 \(s: float\) is 'x'"),
        ((1, 0.5, 7.5, 8), r"argument 2 \(k: int32_t\) is 7.5.*whole number"),
        ((1, 0.5, 1 << 31, 8), r"argument 2 .*-2147483648 to 2147483647"),
        ((1, 0.5, 7, None), r"argument 3 \(M: int64_t\)"),
    ],
    ids=str,
)
def test_tilelang_arguments_that_do_not_fit(
    tilelang: LibraryKernel, stream: Stream, arguments: Any, message: str
) -> None:
    with pytest.raises(errors.InvalidArgument, match=message):
        tilelang.launch(4, *arguments, stream=stream)


def test_real_libraries_load(device: Device, chip: str) -> None:
    path = corpus("elfs/fat/vllm_ascend__libvllm_ascend_kernels.so")
    if not chip.startswith("ascend910b"):
        with pytest.raises(errors.NotSupported, match="ascend910b1"):
            device.load_library(path)
        return
    found = device.load_library(path)
    assert len(found) == 11
    assert found["bgmv_expand_half"].kernel.name == "bgmv_expand_half_1"
    assert found["mla_preprocess"].kernel.binary.ffts_arg
