"""The form of a call of an operator, as objects.c writes it: which operator, with what kinds, shapes and types.

Equal calls have equal forms, so one is read once: it says where in the values of a call the addresses and numbers are.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Sequence
from typing import Any

from npuhal.records import dataclass
from runtime import errors
from runtime.capi.shim.torch import operators

NOTHING, TENSOR, SCALAR, INTS, FLOATS, BOOLS, TENSORS, SCALARS, NUMBER, REAL, TEXT = range(11)
"""Tags, as in objects.c."""

DTYPES = {
    0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16", 8: "uint32", 9: "int64",
    10: "uint64", 11: "float64", 12: "bool", 16: "complex64", 17: "complex128", 27: "bfloat16",
}  # fmt: skip
"""Names of torch's types by aclDataType."""
SIZES = {0: 4, 1: 2, 2: 1, 3: 4, 4: 1, 6: 2, 7: 2, 8: 4, 9: 8, 10: 8, 11: 8, 12: 1, 16: 8, 17: 16, 27: 2}
_FORMATS = {-1: "undefined", 29: "FRACTAL_NZ", 3: "NC1HWC0", 4: "FRACTAL_Z", 32: "NDC1HWC0", 33: "FRACTAL_Z_3D"}
_PRIVATE = frozenset((29, 3, 4, 32, 33))
"""Layouts of storage that only operators of the device know."""

UNDEFINED = 0xFFFFFFFF
"""aclDataType of an input that is not given, as objects.c has it."""

Reader = Callable[[Sequence[int], Sequence[Any]], Any]
"""Makes an argument of the values of a call and of its tensors."""


@dataclass(frozen=True, slots=True)
class TensorForm:
    """One tensor of a call, without its address."""

    argument: str
    index: int
    """Which of the call's values is its address."""
    dtype: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    """Elements from the start of the storage on."""
    storage: tuple[int, ...]
    reads: bool
    writes: bool

    @property
    def span(self) -> int:
        """Bytes from its first element to the end of its last one."""
        if 0 in self.shape:
            return 0
        last = sum((size - 1) * step for size, step in zip(self.shape, self.strides, strict=True))
        return (last + 1) * SIZES[self.dtype]

    @property
    def contiguous(self) -> bool:
        """Whether its elements lie one behind the other."""
        step = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return True

    def __str__(self) -> str:
        strides = "" if self.contiguous else f", strides {list(self.strides)}"
        offset = f", offset {self.offset}" if self.offset else ""
        return f"{self.argument} {DTYPES[self.dtype]}{list(self.shape)}{strides}{offset}"


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A form that was read."""

    number: int
    """Its own, by which launches name it."""
    operator: operators.Operator
    tensors: tuple[TensorForm, ...]
    arguments: dict[str, Reader]
    """How each argument is made, by name."""
    values: int
    """How many values a call of this form has."""
    sized: tuple[int, ...] = ()
    """Which of them say where the shape of an output is written that the data decide, in the order of the outputs."""

    def check(self, values: bytes, absent: Callable[[str, str], errors.RuntimeFault]) -> None:
        """Refuse a call with what its operator is not computed with, by what `absent` makes of that.
        """
        words = struct.unpack(f"<{self.values}q", values[: 8 * self.values])
        for limit in self.operator.limits:
            given = [self.arguments[name](words, self.tensors) for name in limit.arguments]
            if limit.meets(*given):
                pairs = zip(limit.arguments, given, strict=True)
                told = ", ".join(f"{name}={value}" for name, value in pairs if value is not None)
                raise absent(self.operator.name, f"{limit.what} ({told})")

    def describe(self) -> str:
        """Return operator and tensors, for messages."""
        return f"{self.operator.name}({', '.join(map(str, self.tensors))})"


class _Words:
    """A run of words that is read from the front."""

    def __init__(self, data: bytes) -> None:
        self._words: tuple[int, ...] = struct.unpack(f"<{len(data) // 8}q", data)
        self._at = 0

    def take(self, count: int) -> tuple[int, ...]:
        words = self._words[self._at : self._at + count]
        self._at += count
        return words

    def next(self) -> int:
        return self.take(1)[0]

    def seen(self) -> int:
        """Return the next word, which stays."""
        return self._words[self._at]

    def text(self) -> str:
        size = self.next()
        words = self.take(-(-size // 8))
        return struct.pack(f"<{len(words)}q", *words)[:size].decode()


class _Builder:
    """Reads the arguments of one form."""

    def __init__(self, operator: operators.Operator, words: _Words) -> None:
        self.operator, self._words = operator, words
        self.tensors: list[TensorForm] = []
        self.arguments: dict[str, Reader] = {}
        self.values = 0
        self.sized: dict[str, int] = {}

    def argument(self, name: str) -> Reader:
        reader = self._object(name)
        if name in self.operator.sized:
            self.sized[name] = self.values
            self.values += 1
        return reader

    def _object(self, name: str) -> Reader:
        tag = self._words.next()
        if tag == NOTHING:
            return _always(None)
        if tag == TENSOR:
            return self._tensor(name)
        if tag == SCALAR:
            return self._scalar(self._words.next())
        if tag == NUMBER:
            return self._value(lambda words: words[0], 1)
        if tag == REAL:
            return self._value(lambda words: _real(words[0]), 1)
        if tag == TEXT:
            return _always(self._words.text())
        count = self._words.next()
        if tag in (TENSORS, SCALARS):
            return _all_of([self.argument(f"{name}[{at}]") for at in range(count)])
        convert = _CONVERT[tag]
        return self._value(lambda words: [convert(word) for word in words], count)

    def _value(self, convert: Callable[[Sequence[int]], Any], count: int) -> Reader:
        start = self.values
        self.values += count
        return lambda values, tensors: convert(values[start : start + count])

    def _scalar(self, dtype: int) -> Reader:
        _known(self.operator.name, dtype)
        formats = {0: "f", 2: "b", 3: "i", 4: "B", 6: "h", 7: "H", 8: "I", 9: "q", 10: "Q", 11: "d", 12: "?", 1: "e",
                   16: "ff", 17: "dd"}  # fmt: skip

        def read(words: Sequence[int]) -> Any:
            data = struct.pack("<2q", *words)
            if dtype == 27:  # the upper half of a float
                return struct.unpack("<f", b"\0\0" + data[:2])[0]
            numbers = struct.unpack_from("<" + formats[dtype], data)
            return complex(*numbers) if len(numbers) > 1 else numbers[0]

        return self._value(read, 2)

    def _tensor(self, name: str) -> Reader:
        dtype, layout, offset, dims, stored = self._words.take(5)
        _known(self.operator.name, dtype)
        if layout in _PRIVATE:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{self.operator.name}: {name} has the layout "
                f"{_FORMATS[layout]}, which is not computed", hint="torch.npu.config.allow_internal_format = False",
            )
        shape, strides, storage = self._words.take(dims), self._words.take(dims), self._words.take(stored)
        root = name.partition("[")[0]
        at = len(self.tensors)
        self.tensors.append(TensorForm(
            name, self.values, dtype, shape, strides, offset, storage, root in self.operator.reads,
            root in self.operator.outputs,
        ))  # fmt: skip
        self.values += 1
        return lambda values, tensors: tensors[at]

    # -- aclop -----------------------------------------------------------------------------------------------------

    def described(self, names: Sequence[str]) -> None:
        """Read descriptions of inputs or outputs; a name with a star takes all that are left as a list."""
        count = self._words.next()
        readers = []
        for at in range(count):
            self._words.text()  # its name
            host = self._words.next()
            name = (names[at] if at < len(names) else names[-1]).rstrip("*")
            tag = self._words.next()
            assert tag == TENSOR
            reader = self._tensor(name) if self._words.seen() != UNDEFINED else self._missing()
            if host >= 0:
                reader = self._constant(host)
            readers.append(reader)
        for at, name in enumerate(names):
            if name.endswith("*"):
                self.arguments[name[:-1]] = _all_of(readers[at:])
            else:
                self.arguments[name] = readers[at] if at < count else _always(None)

    def _missing(self) -> Reader:
        """Pass over the description of an input that is not given."""
        _, _, _, dims, stored = self._words.take(5)
        self._words.take(2 * dims + stored)
        self.values += 1
        return _always(None)

    def _constant(self, size: int) -> Reader:
        """Take back the tensor that was read last: its content is in host memory, and part of the form."""
        form = self.tensors.pop()
        words = self._words.take(-(-size // 8))
        data = struct.pack(f"<{len(words)}q", *words)[:size]

        def read(values: Sequence[int], tensors: Sequence[Any]) -> Any:
            torch: Any = importlib.import_module("torch")
            made = torch.frombuffer(bytearray(data), dtype=getattr(torch, DTYPES[form.dtype]))
            return made.reshape(form.shape)

        return read

    def attributes(self) -> dict[str, Any]:
        """Read the attributes that were set."""
        found: dict[str, Any] = {}
        for _ in range(self._words.next()):
            name, tag, count = self._words.text(), self._words.next(), self._words.next()
            words = self._words.take(count)
            if tag == TEXT:
                found[name] = struct.pack(f"<{count - 1}q", *words[1:])[: words[0]].decode()
            elif tag in (NUMBER, REAL):
                found[name] = words[0] if tag == NUMBER else _real(words[0])
            else:
                found[name] = [_real(word) if tag == FLOATS else word for word in words]
        return found


def _always(value: Any) -> Reader:
    return lambda values, tensors: value


def _all_of(parts: Sequence[Reader]) -> Reader:
    return lambda values, tensors: [part(values, tensors) for part in parts]


def _real(word: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", word))[0]
    return value


_CONVERT: dict[int, Callable[[int], Any]] = {INTS: int, FLOATS: _real, BOOLS: bool}


def _known(operator: str, dtype: int) -> None:
    if dtype not in SIZES:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{operator}: elements of aclDataType {dtype} are not computed",
            hint="compute in one of " + ", ".join(DTYPES.values()),
        )


def read_form(number: int, data: bytes, absent: Callable[[str], errors.RuntimeFault]) -> Form:
    """Read the form of an aclnn call.

    Raises:
        NotSupported 207000: elements of a type, or a layout, that are not computed; an operator that the table lacks,
            though the library has it (what `absent` makes of its name): another version wrote it.
    """
    words = _Words(data)
    name = words.text()
    operator = operators.named().get(name)
    if operator is None:
        raise absent(name)
    builder = _Builder(operator, words)
    arguments = {name: builder.argument(name) for name in operator.parameters}
    sized = tuple(builder.sized[name] for name in operator.outputs if name in builder.sized)
    return Form(number, operator, tuple(builder.tensors), arguments, builder.values, sized)


def read_described(number: int, data: bytes, absent: Callable[[str], errors.RuntimeFault]) -> Form:
    """Read the form of an aclop call; an operator that no row computes is the fault that `absent` makes of its name."""
    words = _Words(data)
    name = words.text()
    operator = operators.named().get(name)
    if operator is None:
        raise absent(f"aclop {name}")
    builder = _Builder(operator, words)
    kinds = zip(operator.parameters, operator.kinds, strict=True)
    builder.described([each + "*" * (kind == "l") for each, kind in kinds if each in operator.reads])
    builder.described(operator.outputs)
    given = {**operator.attributes, **builder.attributes()}
    for each in operator.attributes:
        builder.arguments[each] = _always(given[each])
    return Form(number, operator, tuple(builder.tensors), builder.arguments, builder.values)
