"""Kernels of an op library: what their side file says of a launch, and the order of what is passed.

In order, 8 bytes each: address of the synchronisation registers, contexts of a communication, inputs, outputs, buffer
for shapes that the device finds, workspace, tiling data, overflow status. Where the compiler has listed the arguments
in the ELF, the list decides; it agrees with `__CCE_KernelArgSize`. Source: compile_op.py of asc-devkit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from chips.binary.arguments import ArgumentKind, PointerKind
from chips.binary.producers.errors import BadMetadata
from chips.binary.producers.kinds import JsonKind, json_kind
from chips.binary.side_file import load_json
from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.binary.kernels import Kernel
    from chips.chip import Chip

__all__ = [
    "InitialValue",
    "OperatorFile",
    "Slot",
    "TensorEntry",
    "read_operator",
    "slots_of",
    "tensor_list",
    "workspace_reserve",
]

_RESERVED_IN_TILING: Final = 8
_WORKSPACE: Final = 16 << 20
_WORKSPACE_OF_HWTS: Final = 2 << 20
_HWTS: Final = "hwts"
_ELEMENTS: Final = {
    "float32": "fp32", "float": "fp32", "float16": "fp16", "bfloat16": "bf16", "double": "fp64", "float64": "fp64",
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
}  # fmt: skip
"""The side file's names of element types, as launches compare them."""


class TensorEntry(NamedTuple):
    """An input or output: `dtype` is the side file's name, `form` required, optional or dynamic (a list of tensors)."""

    name: str
    dtype: str
    form: str

    @property
    def element(self) -> str:
        """The type of its elements; "" where launches do not know it."""
        return _ELEMENTS.get(self.dtype, "")


class InitialValue(NamedTuple):
    """What a tensor is filled with before the launch."""

    dtype: str
    value: float


class Slot(NamedTuple):
    """One 8-byte slot of the block; of a `folded` one the address is that of a list of tensors."""

    kind: ArgumentKind | int
    folded: bool = False

    @property
    def name(self) -> str:
        """What is passed in it."""
        return self.kind.name if isinstance(self.kind, ArgumentKind) else str(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFile:
    """What a side file says of a launch.

    `tiling_limit` is the most bytes of tiling data, None for a kernel of fixed shape. `workspaces` are the sizes that
    the compiler knew, -1 where the tiling code says them. `initial` has an entry for each input, output and workspace.
    """

    name: str
    inputs: tuple[TensorEntry, ...] | None
    outputs: tuple[TensorEntry, ...] | None
    tiling_limit: int | None
    workspaces: tuple[int, ...]
    initial: tuple[InitialValue | None, ...]
    optional_inputs_keep_slots: bool
    optional_outputs_keep_slots: bool
    folded_lists: bool
    batch_schedule: bool


def read_operator(content: bytes | str | Mapping[str, Any]) -> OperatorFile:
    """Read the side file of an op library's kernel.

    Raises:
        BadMetadata: it is no such file, or a field has a value of another type.
    """
    try:
        fields = content if isinstance(content, Mapping) else load_json(content)
    except ValueError as problem:
        raise BadMetadata("the JSON file", str(problem), "it is not JSON", "get the file again") from None
    if (kind := json_kind(fields)) is not JsonKind.OPERATOR:
        raise BadMetadata("the kind of the JSON file", kind.value, f"it is no {JsonKind.OPERATOR.value}")
    info = _mapping(fields, "supportInfo")
    capacity = _number(fields, "opParaSize")
    workspace = _mapping(fields, "workspace")
    return OperatorFile(
        name=str(fields.get("kernelName", "")),
        inputs=_tensors(info, "inputs"), outputs=_tensors(info, "outputs"),
        tiling_limit=max(capacity - _RESERVED_IN_TILING, 0) if capacity else None,
        workspaces=tuple(each for each in workspace.get("size") or () if isinstance(each, int)),
        initial=tuple(map(_initial, fields.get("parameters") or ())),
        optional_inputs_keep_slots=fields.get("optionalInputMode") == "gen_placeholder",
        optional_outputs_keep_slots=fields.get("optionalOutputMode") == "gen_placeholder",
        folded_lists=fields.get("dynamicParamMode") == "folded_with_desc",
        batch_schedule=_number(fields, "intercoreSync") == 1,
    )  # fmt: skip


def _mapping(fields: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = fields.get(key) or {}
    if not isinstance(value, Mapping):
        raise BadMetadata(key, value, "it is an object", "get the file again")
    return value


def _number(fields: Mapping[str, Any], key: str) -> int:
    value = fields.get(key) or 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadMetadata(key, value, "it is a whole number", "get the file again")
    return value


def _tensors(info: Mapping[str, Any], key: str) -> tuple[TensorEntry, ...] | None:
    """Return the tensors that are listed; None where the file has no such list."""
    if key not in info:
        return None
    rows = info[key] or []
    if not isinstance(rows, list):
        raise BadMetadata(f"supportInfo.{key}", rows, "it is a list", "get the file again")
    found = []
    for number, row in enumerate(rows):
        each = row[0] if isinstance(row, list) and row else row  # a list of tensors stands in a list of its own
        if each is None:  # an optional one that this variant was compiled without
            found.append(TensorEntry(f"{key[:-1]} {number}", "", "optional"))
        elif isinstance(each, Mapping):
            form = "dynamic" if isinstance(row, list) else str(each.get("paramType", "required"))
            found.append(TensorEntry(str(each.get("name", number)), str(each.get("dtype", "")), form))
        else:
            raise BadMetadata(f"supportInfo.{key}[{number}]", row, "a tensor is an object", "get the file again")
    return tuple(found)


def _initial(entry: Any) -> InitialValue | None:
    if entry is None:
        return None
    if not isinstance(entry, Mapping) or not isinstance(entry.get("init_value", 0), (int, float)):
        rule = "an entry is null, or has dtype and init_value"
        raise BadMetadata("parameters", entry, rule, "get the file again")
    return InitialValue(str(entry.get("dtype", "")), entry.get("init_value", 0))


# -- the block -----------------------------------------------------------------------------------------------------


def workspace_reserve(chip: Chip) -> int:
    """Return the bytes in front of the workspace that mix kernels use for themselves."""
    return _WORKSPACE_OF_HWTS if chip.generation == _HWTS else _WORKSPACE


def slots_of(
    kernel: Kernel,
    chip: Chip,
    file: OperatorFile,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    contexts: int = 0,
    shapes: int = 0,
) -> tuple[Slot, ...]:
    """Return the slots of a kernel's block: as its compiler listed them, else by the side file.

    Args:
        inputs: forms of the inputs that have slots (`TensorEntry.form`), where the compiler has not listed them.
        outputs: the same of outputs.
        contexts: number of contexts of a communication that the caller gives; the same.
        shapes: number of buffers for shapes; the same.
    """
    listed = kernel.described_by.arguments
    if listed:
        return tuple(Slot(each.kind, each.pointer == PointerKind.TWO_LEVEL_WITH_SHAPE) for each in listed)
    return tuple(_by_file(kernel, chip, file, inputs, outputs, contexts, shapes))


def _by_file(
    kernel: Kernel,
    chip: Chip,
    file: OperatorFile,
    inputs: Sequence[str],
    outputs: Sequence[str],
    contexts: int,
    shapes: int,
) -> Iterator[Slot]:
    if kernel.ffts_arg:
        yield Slot(ArgumentKind.FFTS_ADDRESS)
    yield from [Slot(ArgumentKind.MC2_CONTEXT)] * contexts
    for kind, forms in ((ArgumentKind.INPUT, inputs), (ArgumentKind.OUTPUT, outputs)):
        yield from (Slot(kind, form == "dynamic" and file.folded_lists) for form in forms)
    yield from [Slot(ArgumentKind.SHAPE)] * shapes
    if file.workspaces or file.tiling_limit is not None:
        yield Slot(ArgumentKind.WORKSPACE)
    if file.tiling_limit is not None:
        yield Slot(ArgumentKind.TILING)
    if chip.generation == _HWTS:
        yield Slot(ArgumentKind.OVERFLOW)


def tensor_list(tensors: Sequence[tuple[int, Sequence[int]]]) -> bytes:
    """Return the block that stands for a list of tensors, given as (address, shape).

    It is: u64 offset of the addresses; for each tensor u64 (number of dimensions | index << 32), then its lengths as
    u64; then the addresses. Source: the description of ListTensorDesc in asc-devkit.

    Raises:
        BadMetadata: no tensor, or one without dimensions, for which kernels expect another form.
    """
    if not tensors or not all(shape for _, shape in tensors):
        rule = "it has tensors, of one dimension or more each"
        raise BadMetadata("a list of tensors", len(tensors), rule, "pass them reshaped")
    shapes = b"".join(
        struct.pack(f"<{1 + len(shape)}Q", len(shape) | number << 32, *shape)
        for number, (_, shape) in enumerate(tensors)
    )
    return struct.pack("<Q", 8 + len(shapes)) + shapes + struct.pack(f"<{len(tensors)}Q", *(at for at, _ in tensors))
