"""Large files: time and copies."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from chips import find_chip
from chips.binary import AicpuProgram, LoadOptions, load_data, load_file, read_program
from tests.tools.elf_writer import ElfWriter, dfx, dfx_item, entry, u32
from tests.tools.pace import slowness

A2 = find_chip("Ascend910B1")
LIBRARY_SIZE = 40 << 20


def thousand_kernels() -> bytes:
    writer = ElfWriter().stack(32768)
    record = u32(1, 3) + dfx(*[dfx_item(0x10002, 2**64 - 1)] * 8)
    for key in range(1000):
        writer.kernel(f"Op_0123456789abcdef0123456789abcdef_{key}", record + entry(0, key), size=64)
    return writer.build()


def test_a_thousand_kernels_in_a_second() -> None:
    data = thousand_kernels()
    start = time.process_time()
    program = read_program(data, A2)
    assert time.process_time() - start <= 1.0 * slowness()
    assert len(program) == 1000
    assert all(program.kernel_by_key(key).name.endswith(f"_{key}") for key in range(1000))
    assert sum(len(kernel.described_by.arguments) for kernel in program) == 8000


@pytest.mark.parametrize("from_file", [True, False])
def test_a_large_library_is_in_memory_once(tmp_path: Path, from_file: bool) -> None:
    path = tmp_path / "lib.so"
    with path.open("wb") as file:
        file.truncate(LIBRARY_SIZE)
    path.with_suffix(".json").write_text("{}")
    data = b"" if from_file else path.read_bytes()
    tracemalloc.start()
    try:
        if from_file:
            program = load_file(path, A2, LoadOptions(cpu_kernel_mode=1))
        else:
            program = load_data(data, A2, LoadOptions(cpu_kernel_mode=2))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(program, AicpuProgram)
    assert program.library is not None
    assert len(program.library) == LIBRARY_SIZE
    assert peak < (LIBRARY_SIZE if from_file else 0) + (1 << 20)


def test_a_kernel_file_is_in_memory_once() -> None:
    data = ElfWriter().kernel("k_1").section(".data", bytes(8 << 20), flags=2).build()
    tracemalloc.start()
    try:
        program = read_program(data, A2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert program.load_size > 8 << 20
    assert peak < 1 << 20
