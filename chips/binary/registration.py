"""Registration of a device ELF: from the bytes of the file to kernels, keys and globals.

The steps and their order are the runtime's (core_spec 12.2 to 12.4): container and sections, load range, symbols,
meta data, then the side file, then the kernels. A Registration keeps how far it came, so that a tool can show a file
that was refused; `read_program` is for everybody else.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from chips.binary import elf
from chips.binary.cores import core_of
from chips.binary.elf import NAME_LIMIT, Budget, ElfFile, Section, StringTable, Symbol
from chips.binary.errors import BadLoadOption, BinaryError, MalformedElf
from chips.binary.kernels import Kernel, KernelAttribute, KernelSymbol, Magic, has_separate_cores, merge
from chips.binary.meta import DEFAULT_STACK_LIMIT, KernelMeta, no_meta, read_kernel_meta
from chips.binary.notes import Notes
from chips.binary.side_file import SideFile, read_side_file
from chips.binary.tlv import MetaFlag, meta_flags, stack_record
from npuhal.records import dataclass, field
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.chip import Chip

__all__ = ["Global", "Registration", "Stage", "register"]

EM_AARCH64: Final = 183
_META: Final = ".ascend.meta"
_META_PREFIX: Final = ".ascend.meta."
_STACK_RECORD: Final = ".ascend.stack.size.record"
_DATA: Final = ".data"
_STACK_MARK: Final = 0x5A5A
_STACK_TYPES: Final = {1: 16384, 2: 32768}
_EMPTY: Final = memoryview(b"")
_U32: Final = 0xFFFFFFFF
_U64: Final = 0xFFFFFFFFFFFFFFFF
# Memory in bytes: what a kernel takes here besides its name, and what a file may take per byte and at least.
_KERNEL_COST: Final = 450
_COST_PER_BYTE: Final = 10
_FREE_COST: Final = 1 << 20


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
    program. ``records`` and ``binary_record`` are the sections with meta data. ``symbol_count`` counts kernel symbols
    (two for a mix pair), ``function_count`` every function.
    """

    text_offset: int = 0
    load_size: int = 0
    read_only: bool = True
    elf_stack: int = 0
    program_stack: int = 0
    meta_flags: int = 0
    machine: int = 0
    symbol_count: int = 0
    function_count: int = 0
    default: KernelAttribute = KernelAttribute.AICORE
    intercore_sync: bool = False
    globals: dict[str, Global] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()
    table: tuple[Kernel, ...] = ()
    file: ElfFile | None = None
    image: memoryview = _EMPTY
    records: dict[str, int] = field(default_factory=dict)
    binary_record: int | None = None
    notes: Notes = field(default_factory=Notes)
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
    result.file = file
    for oddity in file.oddities:
        result.notes.add(oddity)
    core = core_of(file.header.flags)
    if core is not None and not core.runs_on(chip):
        result.notes.add(f"the file was compiled for {core}, which {chip.soc} has not")
    rule = f"together they are larger than the file, {len(file.view)} bytes"
    records = Budget(len(file.view), "the meta data", rule)
    _read_sections(file, chip, result, records)
    _load_range(file, result)
    symbols = _read_symbols(file, chip, result, records, stack_limit)
    # Only a file that was read to the end tells about its machine; until then the vendor's runtime keeps zeros.
    result.machine = file.header.machine
    if chip.has("KERNEL_ELF_16K_STACK"):
        result.program_stack = result.elf_stack
    if chip.has("KERNEL_ELF_AICPU_MACHINE"):
        result.default = KernelAttribute.AICPU if result.machine == EM_AARCH64 else KernelAttribute.AICORE
    return symbols


def _read_sections(file: ElfFile, chip: Chip, result: Registration, records: Budget) -> None:
    names = file.section_names()
    has_data = False
    if names is None:
        result.notes.add(f"e_shstrndx is {file.header.names_index}: no section name is known, no meta data read")
    for index, section in enumerate(file.sections if names is not None else ()):
        if names is None or section.type not in (elf.SHT_PROGBITS, elf.SHT_NOTE):
            continue
        name = names.text(section.name, f"section {index}")
        if name is None:
            continue
        if name == _DATA:
            has_data = True
        elif name == _META:
            record = file.content(index)
            records.spend(len(record))
            result.binary_record = index
            result.meta_flags |= meta_flags(record, file.order, result.notes)
        elif _META_PREFIX in name:
            result.records[name[len(_META_PREFIX) :]] = index
        elif _STACK_RECORD in name:
            record = file.content(index)
            records.spend(len(record))
            result.elf_stack = stack_record(record, file.order, result.notes)
    result.read_only = not has_data and not chip.has("KERNEL_DATA_READ_ONLY")
    mark = file.header.version >> 16 == _STACK_MARK
    if mark and not result.elf_stack and chip.has("KERNEL_ELF_INCLUDE_STACK_SIZE"):
        result.elf_stack = _STACK_TYPES.get(file.header.version >> 8 & 0xFF, 0)


def _load_range(file: ElfFile, result: Registration) -> None:
    loaded = [section for section in file.sections if section.flags & elf.SHF_ALLOC and section.size]
    if not loaded:
        result.notes.add("no section is to be loaded; the program cannot be launched")
        return
    start, end = loaded[0].offset, loaded[-1].offset + loaded[-1].size
    zeros = max(0, end - len(file.view))
    if start > end or start > len(file.view) or (zeros and loaded[-1].type != elf.SHT_NOBITS):
        rule = f"the load range starts at {start} and the file has {len(file.view)} bytes"
        raise MalformedElf("the end of the last loaded section", end, rule, "get the file again")
    result.text_offset, result.load_size = start, end - start
    result.image = file.view[start:end]
    if zeros:
        result.notes.add(f"the load range ends {zeros} bytes after the file; they are zero on the device")
    for section in loaded:
        if section.offset + section.size > end:
            result.notes.add(f"a loaded section ends at {section.offset + section.size:#x}, past the load range")
    _note_misplaced(file, loaded, result)


def _note_misplaced(file: ElfFile, loaded: list[Section], result: Registration) -> None:
    # The image is one flat copy: a section whose distance in the file differs from that of its address is found at
    # the wrong address by the kernel's own address arithmetic. Relocatable files have no addresses yet.
    for section in loaded[1:]:
        shift = (section.address - loaded[0].address) - (section.offset - loaded[0].offset)
        if shift and section.address:
            result.notes.add(
                f"the section at file offset {section.offset:#x} is linked for {section.address:#x} but is loaded "
                f"{abs(shift):#x} {'below' if shift > 0 else 'above'} its address"
            )


def _read_symbols(
    file: ElfFile, chip: Chip, result: Registration, records: Budget, stack_limit: int
) -> list[KernelSymbol]:
    table = file.symbol_table()
    if table is None:
        raise MalformedElf("the symbol table", None, "kernels are found through it", "do not strip the binary")
    names = file.names(file.sections[table].link, "the symbol table")
    rule = f"they would take more than {_COST_PER_BYTE} times the memory of the file"
    memory = Budget(_COST_PER_BYTE * len(file.view) + _FREE_COST, "the symbol names", rule)
    result.function_count = _count_functions(file, table, names, memory, result)
    if not result.function_count:
        raise MalformedElf("the number of functions", 0, "a device binary has at least one", "give a kernel file")
    symbols = _kernel_symbols(file, table, names, memory, no_meta(chip), result)
    result.symbol_count = len(symbols)
    for position, symbol in enumerate(symbols):
        if symbol.name in result.records:
            record = file.content(result.records[symbol.name])
            records.spend(len(record))
            part = f"the meta data of {symbol.name}"
            meta = read_kernel_meta(record, file.order, chip, part, result.notes, stack_limit)
            symbols[position] = symbol._replace(meta=meta)
    return symbols


def _count_functions(file: ElfFile, table: int, names: StringTable, memory: Budget, result: Registration) -> int:
    """Count the function symbols and collect the globals on the way."""
    functions = 0
    listening = True
    sections = len(file.sections)
    for index, symbol in enumerate(file.symbols(table)):
        if symbol.type == elf.STT_FUNC:
            functions += 1
        elif symbol.type == elf.STT_OBJECT and listening:
            if symbol.section >= sections:
                listening = False
                result.notes.add(f"variable symbol {index} lies in no section; registration ignores it and the rest")
            elif symbol.binding == elf.STB_GLOBAL and symbol.section:
                name = names.text(symbol.name, f"variable symbol {index}")
                if name is not None:
                    memory.spend(_KERNEL_COST + len(name))
                    _add_global(file.sections[symbol.section], symbol, name, result)
    return functions


def _add_global(section: Section, symbol: Symbol, name: str, result: Registration) -> None:
    offset = (section.offset - result.text_offset + symbol.value - section.address) & _U64
    if offset >= result.load_size:
        result.notes.add(f"global {name!r} lies outside the load range; it is not there on the device")
    elif offset + symbol.size > result.load_size:
        result.notes.add(f"global {name!r} has {symbol.size} bytes and reaches past the load range")
    result.globals[name] = Global(offset, symbol.size)


def _kernel_symbols(
    file: ElfFile, table: int, names: StringTable, memory: Budget, meta: KernelMeta, result: Registration
) -> list[KernelSymbol]:
    found = []
    for symbol in file.symbols(table):
        if symbol.type != elf.STT_FUNC or symbol.binding != elf.STB_GLOBAL or not symbol.name:
            continue
        if symbol.visibility == elf.STV_HIDDEN:
            continue
        name = names.text(symbol.name, "a kernel symbol")
        if name is None:
            result.notes.add(f"a kernel symbol has a name of {NAME_LIMIT} bytes or more and is skipped")
            continue
        memory.spend(_KERNEL_COST + len(name))
        if symbol.value + symbol.size > result.load_size:
            result.notes.add(f"kernel symbol {name!r} reaches past the load range")
        found.append(KernelSymbol(name, symbol.value & _U32, symbol.size & _U32, meta))
    return found
