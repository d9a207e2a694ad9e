"""Names that a program writes down for reports."""

from __future__ import annotations

from pathlib import Path

from fakes.machine.blocks import Allocation, Kind
from fakes.shim.naming import ProgramNames


def test_names_are_read_when_they_are_there(tmp_path: Path) -> None:
    file = tmp_path / "names"
    names = ProgramNames(file)
    block = Allocation(0x1000, 0x1000, 0x1000, Kind.DEVICE, 0, 0)
    assert names.stream(3, 0) == "stream 3 of device 0"
    file.write_text("stream 3 the prefetch stream\nrange 0x1800 64 weights\nrange nonsense\nstre")
    assert names.stream(3, 0) == "stream 3 'the prefetch stream' of device 0"
    assert names.block(block).endswith("with 'weights' at 0x1800+64")
    file.write_text("".join(f"range {0x1000 + 16 * number:#x} 16 part{number}\n" for number in range(5)))
    assert names.block(block).endswith("'part2' at 0x1020+16 and 3 more")
