"""What ``npuhal elf`` says of files that hold no kernels for AI cores themselves: bundles, and libraries for CPUs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

from npuhal.records import dataclass

if TYPE_CHECKING:
    from chips.binary.elf import ElfFile
    from chips.binary.producers.pypto import Bundle, BundleEntry
    from runtime.cli.output import Output

_MACHINES: Final = {183: "AArch64", 62: "x86-64"}
_AICPU_MACHINE: Final = 183
_SHARED_OBJECT: Final = 3
_FUNCTION, _GLOBAL = 2, 1
_SOME: Final = 5


class Listing(Protocol):
    """What is said of a file instead of how it is registered."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""

    def show(self, name: str, out: Output) -> None:
        """Write it for people."""


@dataclass(frozen=True, slots=True)
class LibraryListing:
    """A shared object for a CPU: of AArch64, most likely the library of AICPU kernels."""

    machine: int
    functions: tuple[str, ...]

    @property
    def kind(self) -> str:
        """What it is."""
        return "AICPU library" if self.machine == _AICPU_MACHINE else "host library"

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"library": self.kind, "machine": self.machine, "functions": list(self.functions)}

    def show(self, name: str, out: Output) -> None:
        """Write it for people."""
        from runtime.cli.elf import printable

        machine = _MACHINES.get(self.machine, f"machine {self.machine}")
        out.line(f"{name}: {self.kind} ({machine}), no device binary inside", style="bold")
        some = ", ".join(printable(each) for each in self.functions[:_SOME])
        more = f" and {len(self.functions) - _SOME} more" if len(self.functions) > _SOME else ""
        out.line(f"  {len(self.functions)} functions: {some or '-'}{more}")
        if self.machine == _AICPU_MACHINE:
            out.line("  AICPU kernels are those of them that an op's JSON names; none runs on AI cores")


@dataclass(frozen=True, slots=True)
class BundleListing:
    """A bundle of PyPTO."""

    bundle: Bundle

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"bundle": "PyPTO", "version": self.bundle.version, "entries": [
            {"kind": each.label, "flags": each.flags, "offset": each.offset, "bytes": len(each.value)}
            for each in self.bundle.entries
        ]}  # fmt: skip

    def show(self, name: str, out: Output) -> None:
        """Write it for people."""
        out.line(f"{name}: PyPTO kernel bundle, version {self.bundle.version}", style="bold")
        rows = [[each.label, str(each.offset), str(len(each.value))] for each in self.bundle.entries]
        out.table(["entry", "offset", "bytes"], rows)
        out.line("  its scheduler runs on the AICPU: the kernel cannot be launched by itself")


def bundle_parts(bundle: Bundle) -> Iterator[tuple[BundleEntry, Listing | None]]:
    """Iterate over the parts of a bundle that are looked into: device ELFs, and libraries with what is said of them."""
    from chips.binary.producers.pypto import EntryKind

    for entry in bundle.entries:
        listing = listing_of(entry.value) if entry.kind is EntryKind.AICPU_LIBRARY else None
        if listing is not None or entry.kind is EntryKind.AI_CORE_ELF:
            yield entry, listing


def listing_of(data: memoryview) -> Listing | None:
    """Return what is to be said of a file instead of its kernels; None for a device binary.

    Raises BinaryError for a bundle that is damaged.
    """
    from chips.binary.errors import BinaryError
    from chips.binary.producers.pypto import is_bundle, read_bundle

    if is_bundle(data):
        return BundleListing(read_bundle(data))
    with contextlib.suppress(BinaryError):  # registration says what is wrong with it
        return _library(data)
    return None


def _library(data: memoryview) -> LibraryListing | None:
    from chips.binary.elf import ElfFile

    file = ElfFile(data)
    if file.header.type != _SHARED_OBJECT or file.header.machine not in _MACHINES:
        return None
    return LibraryListing(file.header.machine, tuple(_functions(file)))


def _functions(file: ElfFile) -> Iterator[str]:
    """Iterate over the functions that a shared object exports."""
    from chips.binary.elf import SHT_DYNSYM, SHT_SYMTAB

    tables = {section.type: index for index, section in enumerate(file.sections)}
    table = tables.get(SHT_DYNSYM, tables.get(SHT_SYMTAB))
    if table is None:
        return
    names = file.names(file.sections[table].link, "a symbol table")
    for symbol in file.symbols(table):
        if symbol.type == _FUNCTION and symbol.binding == _GLOBAL and symbol.section:
            yield names.text(symbol.name, "a function") or "?"
