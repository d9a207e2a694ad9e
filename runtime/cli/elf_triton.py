"""What ``npuhal elf`` says of kernels of Triton-Ascend, beside what registration makes of their ELF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from npuhal.files import read_bytes
from npuhal.records import asdict, dataclass

if TYPE_CHECKING:
    from chips.binary.kernels import Magic
    from chips.binary.producers.triton import CacheEntry, KernelLayout, Metadata
    from chips.chip import Chip
    from runtime.cli.output import Output

_KINDS: Final = {0: "in", 1: "out", 2: "in and out"}


@dataclass(frozen=True, slots=True)
class TritonFile:
    """A kernel in a cache folder."""

    entry: CacheEntry
    facts: Metadata

    @property
    def name(self) -> str:
        """The file's name."""
        return f"{self.entry.stem}.npubin"

    @property
    def binary(self) -> bytes:
        """The device ELF."""
        return self.entry.binary

    @property
    def magic(self) -> Magic:
        """What it is registered as, which the ELF does not say."""
        return self.facts.magic

    def describe(self, chip: Chip) -> TritonKernelReport:
        """Return its signature and argument block on a chip; raises BinaryError."""
        from chips.binary.producers.argument_size import stated_argument_bytes
        from chips.binary.producers.triton import layout_of, read_signature
        from chips.binary.producers.triton.layout import passes_sync_address

        entry, facts = self.entry, self.facts
        if entry.ir is None and entry.adapter is None:
            return TritonKernelReport(facts, None, None)
        text = entry.ir if entry.ir is not None else entry.adapter
        parameters = read_signature(text or "", facts.kernel, adapter=entry.ir is None)
        layout = layout_of(
            parameters, facts.version, sync_address=passes_sync_address(chip), pure_simt=facts.pure_simt,
            original_grid=facts.original_grid,
        )
        return TritonKernelReport(facts, layout, stated_argument_bytes(entry.binary, facts.kernel))


@dataclass(frozen=True, slots=True)
class TritonKernelReport:
    """What a launch of a kernel passes; `layout` is None where nothing says the signature.

    `stated_bytes` is what the compiler says of the arguments' size, None where it says nothing.
    """

    facts: Metadata
    layout: KernelLayout | None
    stated_bytes: int | None

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        facts, layout = self.facts, self.layout
        return {"triton": {
            "kernel": facts.kernel, "arch": facts.arch, "layout": facts.version.text, "mix_mode": facts.mix_mode,
            "parallel_mode": facts.parallel_mode, "workspace_bytes": facts.workspace_bytes,
            "locks": asdict(facts.locks), "simt_bytes": facts.simt_bytes,
            "signature": None if layout is None else [list(each) for each in layout.parameters],
            "size": None if layout is None else layout.block.size, "stated_bytes": self.stated_bytes,
            "members": None if layout is None else [[m.name, m.offset, m.size] for m in layout.block.members],
        }}  # fmt: skip

    def show(self, out: Output) -> None:
        """Write it for people."""
        from runtime.cli.elf import printable

        facts, layout = self.facts, self.layout
        locks = facts.locks
        held = [f"{count} {kind}" for count, kind in (
            (locks.words, "words"), (locks.ordered, "ordered"), (locks.unordered, "unordered"),
        ) if count]  # fmt: skip
        out.line(
            f"  Triton-Ascend {facts.version.text}, {facts.mix_mode} {facts.parallel_mode} for {printable(facts.arch)}:"
            f" workspace {facts.workspace_bytes} bytes per block, locks: {', '.join(held) or 'none'}"
            + (f", unified buffer {facts.simt_bytes} bytes" if facts.simt_bytes else "")
        )
        if layout is None:
            out.line("  no .ttir lies beside it: pass signature= to device.load_triton", style="yellow")
            return
        kinds = iter(facts.tensor_kinds)
        rows = []
        for member in layout.block.members:
            parameter = layout.parameters[int(member.name[3:])] if member.name.startswith("arg") else None
            use = _KINDS.get(next(kinds, -1), "-") if parameter is not None and parameter.is_pointer else "-"
            shown = "-" if parameter is None else printable(str(parameter))
            rows.append([member.name, str(member.offset), str(member.size), shown, use])
        out.table(["member", "offset", "bytes", "argument", "use"], rows)
        out.line(f"  argument block: {layout.block.size} bytes")
        if self.stated_bytes is not None and self.stated_bytes not in layout.counted_sizes:
            out.line(
                f"  note: the compiler counts {self.stated_bytes} bytes of arguments, this layout has "
                f"{layout.counted_sizes[0]}: is it of another version of Triton-Ascend?", style="yellow",
            )


def triton_files(path: Path) -> list[TritonFile] | None:
    """Return the kernels of Triton-Ascend that a path means; None where it is no folder or file of its cache.

    Raises BinaryError for a folder that holds none, or for metadata that cannot be read.
    """
    from chips.binary.producers.kinds import JsonKind, json_kind
    from chips.binary.producers.triton import find_entry, read_entry, read_metadata
    from chips.binary.side_file import load_json, side_file_of

    if path.is_dir():
        paths = sorted(path.glob("*.npubin")) or [find_entry(path)]
    else:
        try:
            if json_kind(load_json(read_bytes(side_file_of(path)))) is not JsonKind.TRITON:
                return None
        except (OSError, ValueError):
            return None
        paths = [find_entry(path) if path.suffix != ".o" else path]
    entries = [read_entry(each) for each in paths]
    return [TritonFile(entry, read_metadata(entry.metadata)) for entry in entries]
