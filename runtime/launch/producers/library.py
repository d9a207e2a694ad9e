"""Host libraries with kernels inside: `device.load_library("libx.so")["add"].launch(8, x, y, ctypes.c_int32(3))`.

The library is read, not opened: no code of it runs. No file says the types of parameters, so the caller does: buffers
are addresses, NumPy scalars and ctypes objects have their own size, structures go by value. Of TileLang's libraries the
C++ text beside them has the types.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chips.binary import BinaryError
from chips.binary.errors import near_names
from chips.binary.producers.ascendc import (
    ByValue,
    Convention,
    chosen_binaries,
    convention_of,
    host_names,
    library_layout,
    prints,
)
from chips.binary.producers.packing import POINTER
from chips.binary.producers.tilelang import TEXTS, Prototype, read_prototypes
from chips.binary.program import Program as Content
from chips.binary.program import read_program
from chips.binary.source import read_binary
from npuhal.files import read_bytes
from runtime import errors
from runtime.errors.arguments import check_instance
from runtime.launch.block import HostBlock
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.launch.producers.values import REACHED, address_of, fits, misfit, pointer, unfit
from runtime.launch.program import Program
from runtime.launch.source import fault_of

if TYPE_CHECKING:
    from chips.binary.fat import DeviceBinary
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel

_ADDRESS: Final = ByValue(POINTER, 8)
_TYPED: Final = "wrap numbers: ctypes.c_int32(3), numpy.float32(2)"


class LibraryKernel:
    """A kernel in a host library. Made by `library[name]`."""

    __slots__ = ("_convention", "_prints", "kernel", "name", "prototype")

    def __init__(self, kernel: Kernel, name: str, convention: Convention, may_print: bool,
                 prototype: Prototype | None) -> None:
        self.kernel, self.name, self.prototype = kernel, name, prototype
        self._convention, self._prints = convention, may_print

    def launch(
        self, blocks: int, *arguments: Any, stream: Stream | None = None, dump: Any = None,
        options: LaunchOptions = PLAIN,
    ) -> None:
        """Launch once.

        Args:
            blocks: number of blocks, 1 to 65535.
            arguments: buffers, None for a null pointer, objects with `data_ptr()`; NumPy scalars and ctypes objects of
                the parameter's type; ctypes structures and NumPy records (`align=True`) by value. Python numbers only
                where the library's text says the types.
            stream: where to queue it; None is the device's default stream.
            dump: buffer for what the kernel prints, of libraries built with it: 1 MiB for each of 75 cores (950: 108).
                False: pass none, for a kernel that does not print in a library that does.

        Raises:
            InvalidArgument 107000: an argument without a size of its own, one that does not fit its parameter, or a
                wrong number of blocks.
        """
        kernel, device = self.kernel, self.kernel.program.device
        target = device.context.default_stream if stream is None else stream
        kernel.check_launch(target, blocks)
        kernel.launch_block(target, blocks, HostBlock(self._block(arguments, dump)), options)

    def _block(self, arguments: Sequence[Any], dump: Any) -> bytes:
        device = self.kernel.program.device
        library = self._convention is Convention.LIBRARY
        if self.prototype is not None:
            rows = self._by_prototype(self.prototype, arguments)
        else:
            rows = [self._by_value(self._what(number), value) for number, value in enumerate(arguments)]
        hidden: list[int] = []
        if library and self._prints and dump is None:
            raise unfit(
                f"kernel {self.name}: dump", dump, "the library was built with printf, assert or time stamps, whose "
                "text goes to a buffer", "pass dump=device.alloc(75 << 20), or dump=False if this kernel has none",
            )
        dumps = library and dump is not None and dump is not False
        if dumps:
            hidden.append(address_of(pointer(f"kernel {self.name}: dump", dump, device)))
        mixes = library and self.kernel.binary.ffts_arg
        if mixes:
            hidden.append(device.core_sync_address)
        layout = library_layout((packing for packing, _ in rows), dump=dumps, sync=mixes, overflow=library)
        behind = [device.context.overflow_address] if library else []
        data = layout.pack([*hidden, *(value for _, value in rows), *behind])
        return data or bytes(8)

    def _what(self, number: int) -> str:
        return f"kernel {self.name}: argument {number}"

    def _by_prototype(self, prototype: Prototype, arguments: Sequence[Any]) -> list[tuple[ByValue, Any]]:
        """Return arguments as the library's text types them, and what comes behind them."""
        listed = prototype.parameters
        device = self.kernel.program.device
        if len(arguments) != len(listed):
            rule = f"it takes {len(listed)}: {', '.join(map(str, listed)) or 'none'}"
            raise unfit(f"kernel {self.name}: the number of arguments", len(arguments), rule,
                        "the last one, fftsAddr, is filled in" if prototype.sync_last else "pass them all")
        rows: list[tuple[ByValue, Any]] = []
        for number, (parameter, value) in enumerate(zip(listed, arguments, strict=True)):
            what = f"{self._what(number)} ({parameter})"
            if parameter.pointer:
                rows.append((parameter.packing, address_of(pointer(what, value, device))))
                continue
            number_of = getattr(value, "value", value) if isinstance(value, ctypes._SimpleCData) else value
            if not fits(parameter.packing.code, number_of):
                raise misfit(what, parameter.type, parameter.packing.code, number_of)
            rows.append((parameter.packing, number_of))
        if prototype.sync_last:
            rows.append((_ADDRESS, device.core_sync_address))
        return rows

    def _by_value(self, what: str, value: Any) -> tuple[ByValue, Any]:
        """Return how an argument lies in the block by its own type, and what is packed there."""
        if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)):
            data = bytes(value)
            return ByValue(f"{len(data)}s", ctypes.alignment(value)), data
        dtype = getattr(value, "dtype", None)
        if dtype is not None and not isinstance(value, REACHED) and getattr(value, "ndim", 1) == 0:
            data = value.tobytes()
            return ByValue(f"{len(data)}s", dtype.alignment), data
        if isinstance(value, (bool, int, float)):
            rule = "a Python number does not say how many bytes the parameter has"
            raise unfit(what, value, rule, f"{_TYPED}; an address: numpy.uint64(address)")
        if isinstance(value, (bytes, bytearray, memoryview)):
            raise unfit(what, value, "bytes do not say how they are aligned", "pass a ctypes structure, by value")
        return _ADDRESS, address_of(pointer(what, value, self.kernel.program.device))

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.kernel.program.name}>"


class Library(Mapping[str, LibraryKernel]):
    """The kernels of a host library on one device. Made by `device.load_library(path)`."""

    def __init__(self, device: Any, source: str | Path | bytes) -> None:
        """Read the library; nothing goes to the device yet.

        Raises:
            InvalidArgument 107000: the file is missing or damaged, or a binary in it is refused.
            NotSupported 207000: it has nothing for the device's chip.
        """
        device.check_open()
        check_instance("load_library", "source", source, (str, Path, bytes, bytearray, memoryview),
                       "pass the path of a host library, or its bytes")
        path = Path(source) if isinstance(source, (str, Path)) else None
        self.name = path.name if path is not None else "host library"
        try:
            data = read_binary(path.expanduser()) if path is not None else source
            found = chosen_binaries(data, device.chip)  # type: ignore[arg-type]
            contents = [(each, read_program(each.data, device.chip, magic=each.magic)) for each in found]
            prototypes = {} if path is None else _prototypes(path)
        except BinaryError as error:
            raise fault_of(error, self.name) from error
        self._rows = _rows(contents)
        self._prototypes = prototypes
        self.programs = tuple(Program(device, content, name=_part_name(self.name, each)) for each, content in contents)
        self._may_print = tuple(prints(content) for _, content in contents)
        self._made: dict[str, LibraryKernel] = {}

    def __getitem__(self, name: str) -> LibraryKernel:
        """Return a kernel by its name in the source, or by its symbol; loads its program on first use.

        Raises:
            InvalidArgument 107000: no kernel of that name; close names are suggested.
        """
        if (made := self._made.get(name)) is not None:
            return made
        row = self._rows.get(name)
        if row is None:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{self.name}: there is no kernel {name!r}", ee="EE1001", layer="launch",
                hint=near_names(name, self),
            )
        part, symbol, convention = row
        prototype = self._prototypes.get(name)
        kernel = self.programs[part].kernel(symbol)
        made = self._made[name] = LibraryKernel(kernel, name, convention, self._may_print[part], prototype)
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        """Iterate over the kernels' names in the source."""
        seen: set[tuple[int, str]] = set()
        for name, (part, symbol, _) in self._rows.items():
            if (part, symbol) not in seen:
                seen.add((part, symbol))
                yield name

    def __len__(self) -> int:
        return len({(part, symbol) for part, symbol, _ in self._rows.values()})

    def close(self) -> None:
        """Unload all of it; launches that are queued still run."""
        for program in self.programs:
            program.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<library {self.name}: {len(self)} kernels>"


_Row = tuple[int, str, Convention]
"""Which device binary a kernel is in, its symbol, and how it is called."""


def _rows(contents: Sequence[tuple[DeviceBinary, Content]]) -> dict[str, _Row]:
    """Return all kernels by name: those of the source first, symbols that two kernels share none of."""
    rows: dict[str, _Row] = {}
    taken: dict[str, int] = {}
    listed = [
        (name, index, (part, kernel.name, convention_of(binary)))
        for part, (binary, content) in enumerate(contents)
        for kernel in content
        for index, name in enumerate(host_names(kernel.name, convention_of(binary)))
    ]
    for name, _, _ in listed:
        taken[name] = taken.get(name, 0) + 1
    for name, _, row in sorted(listed, key=lambda each: each[1]):
        if taken[name] == 1 or name == row[1]:
            rows.setdefault(name, row)
    return rows


def _part_name(library: str, binary: DeviceBinary) -> str:
    return f"{library}:{binary.part or binary.name or hex(binary.offset)}"


def _prototypes(path: Path) -> dict[str, Prototype]:
    """Return what TileLang's text beside a library says of its kernels."""
    for name in TEXTS:
        try:
            text = read_bytes(path.with_name(name)).decode("utf-8", "replace")
        except OSError:
            continue
        return read_prototypes(text)
    return {}
