"""Launching kernels of an op library: inputs and outputs in order, workspace, tiling data behind the block.

>>> program = device.load("AddCustom_0123.o")                       # its .json lies beside it
>>> program.operator(key=0).launch(inputs=[x, y], outputs=[z], tiling=data, blocks=8, stream=stream)

Tiling data, key, blocks and workspace come from the operator's tiling code, which is closed: the user gives them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chips.binary import BinaryError
from chips.binary.arguments import ArgumentKind
from chips.binary.producers.operators import (
    InitialValue,
    OperatorFile,
    Slot,
    TensorEntry,
    read_operator,
    slots_of,
    tensor_list,
    workspace_reserve,
)
from npuhal.files import read_bytes
from npuhal.tuples import NamedTuple
from runtime import errors
from runtime.errors.arguments import several
from runtime.launch.args import SLOT_BYTES
from runtime.launch.block import HostBlock
from runtime.launch.copy.fill import queue_fill
from runtime.launch.options import LaunchOptions
from runtime.launch.producers.values import REACHED, address_of, pointer, unfit
from runtime.launch.source import fault_of
from runtime.memory.array import DeviceArray
from runtime.memory.device import DeviceBuffer

if TYPE_CHECKING:
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel

_DATA_ALIGN: Final = 32
"""What kernels may expect of the data that slots point to: device memory is read in units of so many bytes."""
_FILLS: Final = {
    "float32": "f", "float": "f", "float16": "e", "int8": "b", "uint8": "B", "bool": "B", "int16": "h", "uint16": "H",
    "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q", "double": "d", "float64": "d",
}  # fmt: skip
_WORD: Final = 4


class _Row(NamedTuple):
    """A tensor of a launch: how messages call it, what was given, and what the side file says of it."""

    name: str
    value: Any
    entry: TensorEntry


class _Rows(NamedTuple):
    """All that a launch was given for slots of the block."""

    inputs: list[_Row]
    outputs: list[_Row]
    contexts: list[_Row]
    shapes: list[_Row]

    def by_kind(self) -> dict[ArgumentKind, list[_Row]]:
        """Return them by the kind of slot."""
        return dict(zip(_PLURALS, (self.inputs, self.outputs, self.contexts, self.shapes), strict=True))


_PLURALS: Final = {
    ArgumentKind.INPUT: "inputs", ArgumentKind.OUTPUT: "outputs", ArgumentKind.MC2_CONTEXT: "contexts",
    ArgumentKind.SHAPE: "shape buffers",
}  # fmt: skip
_UNKNOWN: Final = TensorEntry("", "", "required")
"""What is known of a tensor that no side file lists."""


class TensorList:
    """A list of tensors that an operator takes as one argument (`dynamicParamMode: folded_with_desc`)."""

    __slots__ = ("tensors",)

    def __init__(self, tensors: Sequence[Any]) -> None:
        """Take device arrays, or pairs of a buffer and a shape."""
        self.tensors = several("TensorList", "tensors", tensors, object, "pass a list of arrays or (buffer, shape)")

    def block(self, what: str, device: Any, element: str, strict: bool) -> bytes:
        """Return the description that a kernel reads."""
        rows = []
        for number, each in enumerate(self.tensors):
            part = f"{what}[{number}]"
            if isinstance(each, DeviceArray):
                held, shape = each, each.shape
            elif isinstance(each, tuple) and len(each) == 2:
                held, shape = each
            else:
                raise unfit(part, each, "its shape is not known", "pass an array, or (buffer, shape)")
            rows.append((address_of(pointer(part, held, device, element, strict=strict)), tuple(map(int, shape))))
        return tensor_list(rows)


class Operator:
    """A kernel of an op library. Made by `program.operator(key)`."""

    __slots__ = ("file", "kernel")

    def __init__(self, kernel: Kernel, file: OperatorFile) -> None:
        self.kernel, self.file = kernel, file

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.name

    @property
    def inputs(self) -> tuple[TensorEntry, ...] | None:
        """Names, types and forms of the inputs; None where the side file does not say them."""
        return self.file.inputs

    @property
    def outputs(self) -> tuple[TensorEntry, ...] | None:
        """The same of the outputs."""
        return self.file.outputs

    @property
    def tiling_limit(self) -> int | None:
        """Most bytes of tiling data; None for a kernel of fixed shape, which takes none."""
        return self.file.tiling_limit

    @property
    def workspace_reserve(self) -> int:
        """Bytes in front of the workspace that the kernel may use for itself; a launch adds them."""
        return workspace_reserve(self.kernel.program.device.chip)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of the argument block, in order, with all inputs and outputs there."""
        return self._slots(self.inputs or (), self.outputs or ())

    def _slots(self, inputs: Sequence[TensorEntry], outputs: Sequence[TensorEntry], *, contexts: int = 0,
               shapes: int = 0) -> tuple[Slot, ...]:
        return slots_of(
            self.kernel.binary, self.kernel.program.device.chip, self.file, [each.form for each in inputs],
            [each.form for each in outputs], contexts=contexts, shapes=shapes,
        )

    def launch(
        self, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (), *, blocks: int, tiling: Any = None,
        workspace: int | DeviceBuffer = 0, shapes: Any = None, contexts: Sequence[Any] = (),
        stream: Stream | None = None, options: LaunchOptions | None = None, strict: bool = False,
    ) -> None:
        """Launch once.

        Args:
            inputs: buffers, addresses, None for an optional one that is absent, or `TensorList`, in the op's order.
            outputs: the same.
            blocks: number of blocks, as the tiling code says.
            tiling: tiling data: bytes, a ctypes structure or an array on the host; or a buffer that has it already.
            workspace: bytes beyond the system's own, as the tiling code says; or a buffer for both.
            shapes: buffer for output shapes, of operators that find them on the device.
            contexts: contexts of a communication, of operators that communicate.
            stream: where to queue it; None is the device's default stream.
            options: by default batch schedule where the cores of the kernel wait for each other.
            strict: refuse arrays of other elements than the op's, instead of warning.

        Raises:
            InvalidArgument 107000: another number of tensors than the op has, a required one that is None, too much
                tiling data, none where it is needed, or an argument that the kernel does not take.
        """
        kernel, device = self.kernel, self.kernel.program.device
        target = device.context.default_stream if stream is None else stream
        kernel.check_launch(target, blocks)
        call, listed = f"launch of operator {self.name}", "pass a list of buffers"
        inputs = several(call, "inputs", inputs, object, listed)
        outputs = several(call, "outputs", outputs, object, listed)
        contexts = several(call, "contexts", contexts, object, listed)
        with ExitStack() as held:
            try:
                given_in = self._tensors("input", inputs, self.inputs, self.file.optional_inputs_keep_slots)
                given_out = self._tensors("output", outputs, self.outputs, self.file.optional_outputs_keep_slots)
                fills = self._fills([*given_in, *given_out])
                extra = self._tensors("shape buffer", () if shapes is None else (shapes,), None, True)
                further = self._tensors("context", contexts, None, True)
                rows = _Rows(given_in, given_out, further, extra)
                block = self._block(target, held, rows, tiling, workspace, strict)
            except BinaryError as error:
                raise fault_of(error, f"operator {self.name}") from error
            if options is None:
                options = LaunchOptions(schedule=1 if self.file.batch_schedule else None)
            for tensor, word in fills:
                queue_fill(target, tensor.address, tensor.size, word, tensor.size, f"fill for {self.name}", tensor)
            kernel.launch_block(target, blocks, block, options)

    def _tensors(
        self, what: str, given: Sequence[Any], entries: Sequence[TensorEntry] | None, keep: bool
    ) -> list[_Row]:
        """Return the tensors that have slots: absent ones at the end may be left out; `keep`: they have slots too."""
        values = list(given)
        if entries is not None and len(values) < len(entries):
            if any(each.form != "optional" for each in entries[len(values) :]):
                raise self._wrong_number(f"{what}s", len(values), len(entries))
            values += [None] * (len(entries) - len(values))
        rows = []
        for number, value in enumerate(values):
            entry = entries[number] if entries is not None and number < len(entries) else _UNKNOWN
            name = f"operator {self.name}: {what} {number}" + (f" ({entry.name})" if entry.name else "")
            if value is None and entry.form != "optional":
                raise unfit(name, value, f"the op's {what} is {entry.form}", "only optional ones may be absent")
            if value is not None or keep:
                rows.append(_Row(name, value, entry))
        return rows

    def _wrong_number(self, what: str, given: int, wanted: int) -> errors.RuntimeFault:
        return unfit(f"operator {self.name}: the number of {what}", given, f"it takes {wanted}",
                     "pass None for an optional one that is absent")

    def _block(
        self, stream: Stream, held: ExitStack, rows: _Rows, tiling: Any, workspace: int | DeviceBuffer, strict: bool
    ) -> HostBlock:
        """Lay out the block; what is only for this launch is given back when `held` ends."""
        device = stream.device
        slots = self._slots(
            [each.entry for each in rows.inputs], [each.entry for each in rows.outputs], contexts=len(rows.contexts),
            shapes=len(rows.shapes),
        )
        kinds = [slot.kind for slot in slots]
        tensors = rows.by_kind()
        for kind, found in tensors.items():
            if len(found) != (wanted := kinds.count(kind)):
                raise self._wrong_number(_PLURALS[kind], len(found), wanted)
        data = self._tiling(tiling, ArgumentKind.TILING in kinds)
        if ArgumentKind.WORKSPACE not in kinds and workspace:
            raise unfit(f"operator {self.name}: workspace", workspace, "the kernel takes none", "leave it out")
        words, behind = [0] * len(slots), _Behind(len(slots) * SLOT_BYTES)
        queues = {kind: iter(found) for kind, found in tensors.items()}
        for number, slot in enumerate(slots):
            if isinstance(slot.kind, ArgumentKind) and slot.kind in queues:
                self._tensor(number, slot, next(queues[slot.kind]), words, behind, strict)
            elif slot.kind is ArgumentKind.FFTS_ADDRESS:
                words[number] = device.core_sync_address
            elif slot.kind is ArgumentKind.OVERFLOW:
                words[number] = device.context.overflow_address
            elif slot.kind is ArgumentKind.WORKSPACE:
                words[number] = self._workspace(stream, held, workspace)
            elif slot.kind is ArgumentKind.TILING and isinstance(data, int):
                words[number] = data
            elif slot.kind is ArgumentKind.TILING and isinstance(data, bytes):
                behind.point(number, data)
            else:
                raise unfit(f"operator {self.name}: slot {number}", slot.name, "nothing is known to be passed in it",
                            "launch it with kernel.launch and all slots written out")
        return behind.block(words)

    def _tensor(self, number: int, slot: Slot, row: _Row, words: list[int], behind: _Behind, strict: bool) -> None:
        """Put a tensor, or a list of tensors, into its slot."""
        device, element = self.kernel.program.device, row.entry.element
        if isinstance(row.value, TensorList) != slot.folded and row.value is not None:
            rule, cure = ("it is a list of tensors", "pass TensorList([...])") if slot.folded else (
                "the op takes one tensor here", "pass the tensor itself")  # fmt: skip
            raise unfit(row.name, row.value, rule, cure)
        if isinstance(row.value, TensorList):
            behind.point(number, row.value.block(row.name, device, element, strict))
        else:
            words[number] = address_of(pointer(row.name, row.value, device, element, strict=strict))

    def _tiling(self, tiling: Any, wanted: bool) -> bytes | int | None:
        """Return tiling data as bytes for behind the block, or the address where they are."""
        what, limit = f"operator {self.name}: tiling", self.file.tiling_limit
        if not wanted:
            if tiling is not None:
                raise unfit(what, tiling, "the kernel has a fixed shape and takes none", "leave it out")
            return None
        if tiling is None:
            raise unfit(what, tiling, "the kernel reads its shapes from tiling data", "pass what the tiling code says")
        if isinstance(tiling, REACHED):
            return address_of(pointer(what, tiling, self.kernel.program.device))
        try:
            data = bytes(memoryview(tiling).cast("B"))
        except TypeError:
            raise unfit(what, tiling, "it is no data", "pass bytes, a ctypes structure, an array or a buffer") from None
        if limit is not None and len(data) > limit:
            raise unfit(f"{what}, bytes", len(data), f"the op was compiled for at most {limit}",
                        "check that the tiling code is of this op and version")
        # Zeros up to what the op was compiled for, which is what its code copies at most.
        return data.ljust(limit if limit is not None else 0, b"\0")

    def _workspace(self, stream: Stream, held: ExitStack, workspace: int | DeviceBuffer) -> int:
        what, reserve = f"operator {self.name}: workspace", self.workspace_reserve
        if isinstance(workspace, DeviceBuffer):
            if workspace.size < reserve:
                raise unfit(what, workspace, f"the system's own part has {reserve} bytes", "make it larger")
            return address_of(pointer(what, workspace, stream.device))
        if isinstance(workspace, bool) or not isinstance(workspace, int) or workspace < 0:
            raise unfit(what, workspace, "it is a number of bytes, or a buffer", "pass what the tiling code says")
        known = max((each for each in self.file.workspaces if each > 0), default=0)
        pool: Any = self.kernel.program.device.pool
        buffer = pool.alloc(reserve + max(workspace, known), stream)
        held.callback(buffer.close)
        return address_of(buffer)

    def _fills(self, rows: Sequence[_Row]) -> list[tuple[DeviceBuffer, int]]:
        """Return the tensors that the op wants to have a value before it starts, and what they are filled with."""
        found = []
        for row, initial in zip(rows, self.file.initial, strict=False):
            if initial is None or row.value is None:
                continue
            if not isinstance(row.value, DeviceBuffer):
                raise unfit(row.name, row.value, "the op wants it filled before the launch",
                            "pass a buffer, whose size is known")
            row.value.check_open()
            found.append((row.value, self._word(initial)))
        return found

    def _word(self, initial: InitialValue) -> int:
        """Return an initial value as a 32-bit pattern."""
        what, code = f"operator {self.name}: the initial value of a tensor", _FILLS.get(initial.dtype)
        if code is None:
            raise unfit(what, initial.dtype, "filling with this type is not known", "fill it, and edit the side file")
        whole = code not in "efd"
        data = struct.pack("<" + code, int(initial.value) if whole else initial.value)
        data *= max(_WORD // len(data), 1)
        if data[:_WORD] != data[-_WORD:]:
            raise unfit(what, initial.value, "memory is filled with 32-bit words", "fill it, and edit the side file")
        return int.from_bytes(data[:_WORD], "little")

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


class _Behind:
    """Data behind the slots of a block, and which slots point to it."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._data = bytearray()
        self._pointers: list[tuple[int, int]] = []

    def point(self, slot: int, data: bytes) -> None:
        """Let a slot point to data."""
        self._data += bytes(-(self._start + len(self._data)) % _DATA_ALIGN)
        self._pointers.append((slot * SLOT_BYTES, self._start + len(self._data)))
        self._data += data or b"\0"

    def block(self, words: Sequence[int]) -> HostBlock:
        """Return the whole block."""
        return HostBlock(struct.pack(f"<{len(words)}Q", *words) + bytes(self._data), tuple(self._pointers))


def operator_of(kernel: Kernel, path: Path | None, description: Any = None) -> Operator:
    """Return the operator that a kernel is.

    Args:
        path: the side file.
        description: its content or fields, where it is no file.

    Raises:
        InvalidArgument 107000: there is no side file, or it is malformed.
    """
    content: Any = description
    if content is None:
        try:
            content = None if path is None else read_bytes(path)
        except OSError as problem:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"operator {kernel.name}: {path} cannot be read ({problem.strerror})",
                ee="EE1012", hint="keep the op's JSON file beside its .o, or pass description=", layer="launch",
            ) from None
        if content is None:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"operator {kernel.name}: its program was loaded from bytes, without a "
                "side file", hint="load the file, or pass description=, the content of its JSON", layer="launch",
            )
    try:
        return Operator(kernel, read_operator(content))
    except BinaryError as error:
        raise fault_of(error, f"operator {kernel.name}") from error
