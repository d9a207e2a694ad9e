"""Compares recorded SQE vectors with what the builders make of their inputs.

Three things can be wrong with a vector: its kind has no description here (not covered), its SQEs differ, or the blocks
its SQEs point to differ.  Calls whose inputs were not recorded are checked by what their bytes say: every SQE must be
one of a known task, and encode back to itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from chips.blocks import DeviceBlock, blocks
from chips.layout import SQE_BYTES, FieldOverflow, UnknownField
from chips.programs import CondError
from chips.programs.isa import isa
from chips.programs.program import decode as decode_program
from chips.registry import Plugin, UnsupportedTask, plugin
from chips.tasks import LabelSwitchByIndex
from chips.verify.vectors import Sent, Vector
from npuhal.records import dataclass

_EMPTY_ROWS = frozenset({bytes(SQE_BYTES), b"\0\x40" + bytes(SQE_BYTES - 2)})
"""Slots the vendor leaves empty for a type without builder; over UB its post-processing still sets one header bit."""

_LENGTH_FIELD = "sqe_length"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found: ``covered`` is False where nothing could be compared; ``lines`` say what is wrong."""

    name: str
    task: str
    covered: bool
    lines: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything compared is equal."""
        return self.covered and not self.lines


def check(item: Vector | Sent) -> Verdict:
    """Check one recorded item."""
    return _check_sent(item) if isinstance(item, Sent) else _check_vector(item)


def field_diff(made: Plugin, expected: bytes, got: bytes) -> Iterator[str]:
    """Say field by field how two SQEs differ: name, both values."""
    left, right = made.decode(expected), made.decode(got)
    if left.layout != right.layout:
        yield f"layout: expected {left.layout}, got {right.layout}"
    names = [*left.fields, *(name for name in right.fields if name not in left.fields)]
    for name in names:
        if left.fields.get(name) != right.fields.get(name):
            yield f"{name}: expected {_number(left.fields.get(name))}, got {_number(right.fields.get(name))}"
    if left.fields == right.fields:
        yield f"reserved bits: expected {expected.hex()}, got {got.hex()}"


def _number(value: int | None) -> str:
    return "no such field" if value is None else hex(value)


def _check_vector(vector: Vector) -> Verdict:
    if vector.task is None:
        return Verdict(vector.name, vector.task_name, covered=False, lines=(vector.reason,) if vector.reason else ())
    made = plugin(vector.chip)
    lines: list[str] = []
    try:
        entry = made.ops(vector.task)
        if entry.type != vector.task_type:
            lines.append(f"task type: expected {vector.task_type}, got {int(entry.type)}")
        lines += _compare_rows(made, vector.expected, made.encode(vector.task, vector.env, vector.ids))
        lines += _compare_blocks(vector)
    except UnsupportedTask as unsupported:
        if not _EMPTY_ROWS.issuperset(vector.expected):
            lines.append(str(unsupported))
    except (FieldOverflow, UnknownField, CondError, ValueError) as wrong:
        lines.append(f"{type(wrong).__name__}: {wrong}")
    return Verdict(vector.name, vector.task_name, covered=True, lines=tuple(lines))


def _compare_rows(made: Plugin, expected: tuple[bytes, ...], got: bytes) -> Iterator[str]:
    rows = [got[start : start + SQE_BYTES] for start in range(0, len(got), SQE_BYTES)]
    if len(rows) != len(expected):
        yield f"SQEs: expected {len(expected)}, got {len(rows)}"
        return
    for number, (left, right) in enumerate(zip(expected, rows, strict=True)):
        if left != right:
            prefix = f"SQE {number}: " if len(rows) > 1 else ""
            if len(left) != SQE_BYTES:
                yield f"{prefix}the vector has {len(left)} bytes, an SQE {SQE_BYTES}"
                continue
            for line in field_diff(made, left, right):
                yield prefix + line


def _compare_blocks(vector: Vector) -> Iterator[str]:
    if vector.task is None or not vector.blocks:
        return
    written = blocks(vector.task, vector.env, vector.ids)
    for recorded in vector.blocks:
        got = _memory(written, recorded.address, len(recorded.data))
        expected = recorded.data
        if isinstance(vector.task, LabelSwitchByIndex) and len(got) == len(expected):
            # the vendor leaves the reserved bits of this program uninitialised
            mask = meaningful_bits(got, vector.chip.overlay or vector.chip.generation)
            expected = bytes(byte & kept for byte, kept in zip(expected, mask, strict=True))
        if got != expected:
            at = next((n for n, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), len(got))
            yield f"block {recorded.name}: first difference at byte {at}"


def _memory(written: tuple[DeviceBlock, ...], address: int, size: int) -> bytes:
    """What ``size`` bytes at ``address`` hold after the blocks are written in order."""
    image = bytearray(size)
    for block in written:
        start, end = max(block.address, address), min(block.address + len(block.data), address + size)
        if start < end:
            image[start - address : end - address] = block.data[start - block.address : end - block.address]
    return bytes(image)


def meaningful_bits(code: bytes, generation: str) -> bytes:
    """Mask of the bits of a condition program that its instructions define; the rest are reserved."""
    table = isa(generation)
    mask = bytearray()
    for _, instruction in decode_program(code, generation):
        opcode = table.opcode(instruction.name)
        mask += (opcode.mask | opcode.operand_bits).to_bytes(4 * opcode.words, "little")
    return bytes(mask)


def _check_sent(sent: Sent) -> Verdict:
    made = plugin(sent.chip)
    lines: list[str] = []
    task, payload = "", 0
    for number, row in enumerate(sent.rows):
        if payload:
            payload -= 1  # words that belong to the SQE before
            continue
        found = made.decode(row)
        if found.type is None:
            lines.append(f"SQE {number}: belongs to no known task ({found.layout})")
            continue
        task = task or found.type.name
        back = made.layouts[found.layout].encode(**found.fields)
        if back != row:
            lines += [f"SQE {number}: {line}" for line in field_diff(made, row, back)]
        payload = found.fields.get(_LENGTH_FIELD, 0)
    return Verdict(sent.name, task or "unknown", covered=True, lines=tuple(lines))
