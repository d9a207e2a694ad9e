"""Registration of a device ELF: from the bytes of the file to kernels, keys and globals.

The steps and their order are the runtime's (core_spec 12.2 to 12.4): container and sections, load range, symbols,
meta data, then the side file, then the kernels. A Registration keeps how far it came, so that a tool can show a file
that was refused; `read_program` is for everybody else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from chips.binary import elf
from chips.binary.elf import ElfFile, Section, Symbol
from chips.binary.errors import BadLoadOption, BinaryError, MalformedElf
from chips.binary.kernels import Kernel, KernelAttribute, KernelSymbol, Magic, has_separate_cores, merge
from chips.binary.meta import DEFAULT_STACK_LIMIT, no_meta, read_kernel_meta
from chips.binary.side_file import SideFile, read_side_file
from chips.binary.tlv import MetaFlag, meta_flags, stack_record

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = ["Global", "Registration", "Stage", "register"]

EM_AARCH64: Final = 183
NAME_LIMIT: Final = 4096
"""Symbol names of this many bytes or more are skipped."""

_META: Final = ".ascend.meta"
_META_PREFIX: Final = ".ascend.meta."
_STACK_RECORD: Final = ".ascend.stack.size.record"
_DATA: Final = ".data"
_STACK_MARK: Final = 0x5A5A
_STACK_TYPES: Final = {1: 16384, 2: 32768}
_EMPTY: Final = memoryview(b"")
_U32: Final = 0xFFFFFFFF
_U64: Final = 0xFFFFFFFFFFFFFFFF
# A name costs memory of its own, and a damaged table can make thousands of names out of the same bytes.
_NAMES_PER_FILE: Final = 4


class Stage(Enum):
    """The step of registration that refused a file."""

    PARSE = "parse"
    SIDE_FILE = "json"
    REGISTER = "register"


class Global(NamedTuple):
    """A global variable: ``offset`` in bytes from the start of the load image, ``size`` in bytes as the symbol says."""

    offset: int
    size: int


@dataclass(slots=True)
class Registration:
    """What became of a file; fields behind the step that failed keep their first value.

    Sizes and offsets in bytes. ``elf_stack`` is what the file asks for, ``program_stack`` what the chip gives the
    program. ``symbol_count`` counts kernel symbols (two for a mix pair), ``function_count`` every function.
    """

    text_offset: int = 0
    load_size: int = 0
    read_only: bool = True
    elf_stack: int = 0
    program_stack: int = 0
    meta_flags: int = 0
    machine: int = 0
    elf_flags: int = 0
    symbol_count: int = 0
    function_count: int = 0
    default: KernelAttribute = KernelAttribute.AICORE
    intercore_sync: bool = False
    globals: dict[str, Global] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()
    table: tuple[Kernel, ...] = ()
    image: memoryview = _EMPTY
    records: dict[str, memoryview] = field(default_factory=dict)
    binary_record: memoryview = _EMPTY
    order: str = "<"
    notes: list[str] = field(default_factory=list)
    error: BinaryError | None = None
    failed: Stage | None = None


def register(
    data: bytes | bytearray | memoryview,
    chip: Chip,
    *,
    magic: Magic | int | None = None,
    side_json: bytes | str | None = None,
    stack_limit: int = DEFAULT_STACK_LIMIT,
) -> Registration:
    """Register a device ELF for a chip and return how that went, also when it was refused.

    ``magic`` is the loader option of that name, ``side_json`` the content of the JSON file beside the ELF, which has
    the last word on the default kind; ``stack_limit`` is the core stack the process configured, in bytes.

    Raises BadLoadOption for a magic that no device ELF has.
    """
    result = Registration(default=_default(chip, magic))
    stage = Stage.PARSE
    try:
        symbols = _parse(data, chip, result, stack_limit)
        stage = Stage.SIDE_FILE
        _apply_side_file(read_side_file(side_json, result.notes), chip, result)
        stage = Stage.REGISTER
        result.kernels, result.table = merge(
            symbols,
            chip,
            result.default,
            result.notes,
            intercore_sync=result.intercore_sync,
            brings_ffts_address=bool(result.meta_flags >> MetaFlag.FFTS_ADDRESS & 1),
        )
    except BinaryError as problem:
        result.error = problem
        result.failed = stage
    return result


def _default(chip: Chip, magic: Magic | int | None) -> KernelAttribute:
    if magic is None:
        return KernelAttribute.CUBE if has_separate_cores(chip) else KernelAttribute.AICORE
    try:
        return Magic(magic).attribute(chip)
    except ValueError:
        rule = "a device ELF has one of " + ", ".join(f"{m.name} {m.value:#x}" for m in Magic)
        raise BadLoadOption("the binary magic", magic, rule, "leave it out to let the file decide") from None


def _apply_side_file(side: SideFile, chip: Chip, result: Registration) -> None:
    result.intercore_sync = side.intercore_sync
    if side.magic is not None:
        result.default = side.magic.attribute(chip)


def _parse(
    data: bytes | bytearray | memoryview, chip: Chip, result: Registration, stack_limit: int
) -> list[KernelSymbol]:
    file = ElfFile(data)
    result.notes += file.oddities
    result.order = file.order
    result.elf_flags = file.header.flags
    _read_sections(file, chip, result)
    _load_range(file, result)
    symbols = _read_symbols(file, chip, result, stack_limit)
    # Only a file that was read to the end tells about its machine; until then the vendor's runtime keeps zeros.
    result.machine = file.header.machine
    if chip.has("KERNEL_ELF_16K_STACK"):
        result.program_stack = result.elf_stack
    if chip.has("KERNEL_ELF_AICPU_MACHINE"):
        result.default = KernelAttribute.AICPU if result.machine == EM_AARCH64 else KernelAttribute.AICORE
    return symbols


def _read_sections(file: ElfFile, chip: Chip, result: Registration) -> None:
    names = file.section_names()
    has_data = False
    if names is None:
        result.notes.append(f"e_shstrndx is {file.header.names_index}: no section name is known, no meta data read")
    else:
        for index, section in enumerate(file.sections):
            if section.type not in (elf.SHT_PROGBITS, elf.SHT_NOTE):
                continue
            name = file.text(names, section.name, f"section {index}")
            if name == _DATA:
                has_data = True
            elif name == _META:
                result.binary_record = file.content(index)
                result.meta_flags |= meta_flags(result.binary_record, file.order, result.notes)
            elif _META_PREFIX in name:
                result.records[name[len(_META_PREFIX) :]] = file.content(index)
            elif _STACK_RECORD in name:
                result.elf_stack = stack_record(file.content(index), file.order, result.notes)
    result.read_only = not has_data and not chip.has("KERNEL_DATA_READ_ONLY")
    mark = file.header.version >> 16 == _STACK_MARK
    if mark and not result.elf_stack and chip.has("KERNEL_ELF_INCLUDE_STACK_SIZE"):
        result.elf_stack = _STACK_TYPES.get(file.header.version >> 8 & 0xFF, 0)


def _load_range(file: ElfFile, result: Registration) -> None:
    loaded = [section for section in file.sections if section.flags & elf.SHF_ALLOC and section.size]
    if not loaded:
        result.notes.append("no section is to be loaded; the program cannot be launched")
        return
    start, end = loaded[0].offset, loaded[-1].offset + loaded[-1].size
    zeros = max(0, end - len(file.view))
    if start > end or start > len(file.view) or (zeros and loaded[-1].type != elf.SHT_NOBITS):
        rule = f"the load range starts at {start} and the file has {len(file.view)} bytes"
        raise MalformedElf("the end of the last loaded section", end, rule, "get the file again")
    result.text_offset, result.load_size = start, end - start
    result.image = file.view[start:end]
    if zeros:
        result.notes.append(f"the load range ends {zeros} bytes after the file; they are zero on the device")
    for section in loaded:
        if section.offset + section.size > end:
            result.notes.append(f"a loaded section ends at {section.offset + section.size:#x}, past the load range")
    _note_misplaced(file, loaded, result)


def _note_misplaced(file: ElfFile, loaded: list[Section], result: Registration) -> None:
    # The image is one flat copy: a section whose distance in the file differs from that of its address is found at
    # the wrong place by the kernel's own address arithmetic. Relocatable files have no addresses yet.
    for section in loaded[1:]:
        shift = (section.address - loaded[0].address) - (section.offset - loaded[0].offset)
        if shift and section.address:
            result.notes.append(
                f"the section at file offset {section.offset:#x} is linked for {section.address:#x} but is loaded "
                f"{abs(shift):#x} {'below' if shift > 0 else 'above'} its place"
            )


def _read_symbols(file: ElfFile, chip: Chip, result: Registration, stack_limit: int) -> list[KernelSymbol]:
    table = file.symbol_table()
    if table is None:
        raise MalformedElf("the symbol table", None, "kernels are found through it", "do not strip the binary")
    strings = file.names(file.sections[table].link, "the symbol table")
    functions = _read_objects(file, table, strings, result)
    if not functions:
        raise MalformedElf("the number of functions", 0, "a device binary has at least one", "give a kernel file")
    result.function_count = len(functions)
    found = _kernel_symbols(file, functions, strings, result)
    result.symbol_count = len(found)
    without_record = no_meta(chip)
    symbols = []
    for name, symbol in found:
        record = result.records.get(name)
        meta = without_record
        if record is not None:
            part = f"the meta data of {name}"
            meta = read_kernel_meta(record, file.order, chip, part, result.notes, stack_limit)
        if symbol.value + symbol.size > result.load_size:
            result.notes.append(f"kernel symbol {name!r} reaches past the load range")
        symbols.append(KernelSymbol(name, symbol.value & _U32, symbol.size & _U32, meta))
    return symbols


def _read_objects(file: ElfFile, table: int, strings: memoryview, result: Registration) -> list[Symbol]:
    """Collect the globals and return the function symbols."""
    functions = []
    listening = True
    for index, symbol in enumerate(file.symbols(table)):
        if symbol.type == elf.STT_FUNC:
            functions.append(symbol)
        elif symbol.type == elf.STT_OBJECT and listening:
            if symbol.section >= len(file.sections):
                listening = False
                result.notes.append(f"variable symbol {index} lies in no section; registration ignores it and the rest")
            elif symbol.binding == elf.STB_GLOBAL and symbol.section:
                _add_global(file, symbol, file.text(strings, symbol.name, f"variable symbol {index}"), result)
    return functions


def _add_global(file: ElfFile, symbol: Symbol, name: str, result: Registration) -> None:
    section = file.sections[symbol.section]
    offset = (section.offset - result.text_offset + symbol.value - section.address) & _U64
    if offset >= result.load_size:
        result.notes.append(f"global {name!r} lies outside the load range; it is not there on the device")
    elif offset + symbol.size > result.load_size:
        result.notes.append(f"global {name!r} has {symbol.size} bytes and reaches past the load range")
    result.globals[name] = Global(offset, symbol.size)


def _kernel_symbols(
    file: ElfFile, functions: list[Symbol], strings: memoryview, result: Registration
) -> list[tuple[str, Symbol]]:
    found = []
    budget = _NAMES_PER_FILE * len(file.view)
    for symbol in functions:
        if symbol.binding != elf.STB_GLOBAL or symbol.visibility == elf.STV_HIDDEN or not symbol.name:
            continue
        name = file.text(strings, symbol.name, "a kernel symbol")
        if len(name.encode("utf-8", "surrogateescape")) >= NAME_LIMIT:
            result.notes.append(f"kernel symbol {name[:40]!r}... has {NAME_LIMIT} bytes or more and is skipped")
            continue
        budget -= len(name)
        if budget < 0:
            rule = f"together they have more than {_NAMES_PER_FILE} times the bytes of the file"
            raise MalformedElf("the names of the kernel symbols", "overlapping", rule, "get the file again")
        found.append((name, symbol))
    return found
