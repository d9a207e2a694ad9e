"""A registered device program: its kernels by name and by key, its globals, its bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from chips.binary.cores import Core, core_of
from chips.binary.elf import ElfFile
from chips.binary.errors import UnknownEntry, UnknownGlobal, UnknownKernel, near_names
from chips.binary.kernels import Kernel, KernelAttribute, Magic, plain_name
from chips.binary.meta import DEFAULT_STACK_LIMIT
from chips.binary.registration import Global, Registration, register
from chips.binary.tlv import BinaryTlv, FunctionTlv, binary_tlvs, function_tlvs
from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = ["Program", "read_program"]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A device binary after registration.

    ``image`` is the part of the file that goes to the device (a view, no copy), ``text_offset`` where it starts in
    the file; where ``load_size`` is larger the device gets zeros behind it. ``stack_size`` is the core stack in bytes
    that every kernel gets, 0 for the chip's own; ``warnings`` name what the file holds that registration, here as in
    the vendor's runtime, does not honour.
    """

    image: memoryview
    text_offset: int
    load_size: int
    read_only: bool
    stack_size: int
    meta_flags: int
    machine: int
    default: KernelAttribute
    intercore_sync: bool
    kernels: Mapping[str, Kernel]
    globals: Mapping[str, Global]
    warnings: tuple[str, ...]
    _table: tuple[Kernel, ...]
    _keys: tuple[int, ...]
    _file: ElfFile
    _records: Mapping[str, int]
    _binary_record: int | None

    @property
    def core(self) -> Core | None:
        """The core that it was compiled for; None where the file does not say, or an unknown one."""
        return core_of(self._file.header.flags)

    @property
    def keys(self) -> tuple[int, ...]:
        """The keys kernels are found by, ascending."""
        return self._keys

    def __len__(self) -> int:
        return len(self.kernels)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.kernels.values())

    def kernel(self, name: str) -> Kernel:
        """Return a kernel by its name (that of the pair, for a mix kernel); UnknownKernel suggests near names."""
        try:
            return self.kernels[name]
        except KeyError:
            pass
        whole = plain_name(name)[0]
        cure = f"ask for the pair, {whole!r}" if whole in self.kernels else near_names(name, self.kernels)
        raise UnknownKernel("the kernel name", name, "the program has no kernel of that name", cure)

    def kernel_by_key(self, key: int) -> Kernel:
        """Return a kernel by its tiling key (function entry); UnknownEntry names the keys there are."""
        position = bisect_left(self._keys, key)
        if position < len(self._keys) and self._keys[position] == key:
            return self._table[position]
        some = ", ".join(map(str, self._keys[:6])) + (", ..." if len(self._keys) > 6 else "")
        raise UnknownEntry("the function entry", key, "no kernel has that key", f"use one of {some or 'none'}")

    def global_variable(self, name: str) -> Global:
        """Return where a global variable lies in the load image; it may state more bytes than the image has there.

        Raises UnknownGlobal, with near names, also for a variable that is no part of the image.
        """
        found = self.globals.get(name)
        if found is None:
            raise UnknownGlobal("the global", name, "the program has none of that name", near_names(name, self.globals))
        if found.offset >= self.load_size:
            raise UnknownGlobal("the global", name, "it is no part of the load image", "give it an initial value")
        return found

    def function_meta(self, name: str, kind: FunctionTlv) -> tuple[memoryview, ...]:
        """Return the values of one kind in a kernel's meta data.

        The record of the plain name is asked, then those of the cube and the vector half; the last that exists wins.
        """
        candidates = (name, name + "_mix_aic", name + "_mix_aiv")
        index = next((self._records[each] for each in reversed(candidates) if each in self._records), None)
        if index is None:
            cure = near_names(name, self.kernels)
            raise UnknownKernel("the kernel name", name, "the program has no meta data for it", cure)
        units = function_tlvs(self._file.content(index), self._file.order)
        return tuple(value for each, value in units if each == kind)

    def binary_meta(self, kind: BinaryTlv) -> tuple[memoryview, ...]:
        """Return the values of one kind in the binary's own meta data, one for each kernel that states it."""
        if self._binary_record is None:
            return ()
        units = binary_tlvs(self._file.content(self._binary_record), self._file.order)
        return tuple(value for each, value in units if each == kind)


def read_program(
    data: bytes | bytearray | memoryview,
    chip: Chip,
    *,
    magic: Magic | int | None = None,
    side_json: bytes | str | None = None,
    stack_limit: int = DEFAULT_STACK_LIMIT,
) -> Program:
    """Register a device ELF for a chip; see `register` for the parameters. Raises BinaryError.

    The program keeps ``data`` alive and reads from it; change it and the program changes.
    """
    return program_of(register(data, chip, magic=magic, side_json=side_json, stack_limit=stack_limit))


def program_of(result: Registration) -> Program:
    """Return the program of a registration; raises the error of one that was refused."""
    if result.error is not None:
        raise result.error
    assert result.file is not None  # it is set first, and only an error keeps it from being set
    return Program(
        image=result.image,
        text_offset=result.text_offset,
        load_size=result.load_size,
        read_only=result.read_only,
        stack_size=result.program_stack,
        meta_flags=result.meta_flags,
        machine=result.machine,
        default=result.default,
        intercore_sync=result.intercore_sync,
        kernels=MappingProxyType({kernel.name: kernel for kernel in result.kernels}),
        globals=MappingProxyType(result.globals),
        warnings=result.notes.texts(),
        _table=result.table,
        _keys=tuple(kernel.key for kernel in result.table),
        _file=result.file,
        _records=MappingProxyType(result.records),
        _binary_record=result.binary_record,
    )
