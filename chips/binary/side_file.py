"""The JSON file beside a kernel: what registration takes from it.

A missing or broken file is no error: the chip's default stands (core_spec 12.6). Field names: the compiler's op JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NoReturn

from chips.binary.errors import BinaryError, UnsupportedBinary
from chips.binary.kernels import Magic
from chips.binary.notes import Notes
from chips.binary.producers.kinds import JsonKind, json_kind
from npuhal import files
from npuhal.records import dataclass

__all__ = ["BadSideFile", "OtherProducer", "SideFile", "load_json", "read_side_file", "side_file_of"]

_MAGICS: Final = {
    "RT_DEV_BINARY_MAGIC_ELF": Magic.ELF,
    "RT_DEV_BINARY_MAGIC_ELF_AICUBE": Magic.ELF_AICUBE,
    "RT_DEV_BINARY_MAGIC_ELF_AIVEC": Magic.ELF_AIVEC,
    # Both halves of a mix op mean vector, the cube one too; the kernels' own meta data corrects it.
    "FFTS_BINARY_MAGIC_ELF_MIX_AIC": Magic.ELF_AIVEC,
    "FFTS_BINARY_MAGIC_ELF_MIX_AIV": Magic.ELF_AIVEC,
}


class BadSideFile(BinaryError):
    """The JSON file beside a kernel is well-formed, but a field in it has the wrong type."""


class OtherProducer(BinaryError):
    """The JSON file beside a kernel is another compiler's, whose kernels are loaded in another way."""


_OTHERS: Final = {
    JsonKind.TRITON: "load it with device.load_triton(path)",
    JsonKind.TRITON_GROUP: "load the folder with device.load_triton(path)",
    JsonKind.TILELANG: "load it with device.load_triton(path, signature=...)",
}


@dataclass(frozen=True, slots=True)
class SideFile:
    """The default kind of the kernels (None: the file does not say), and whether they take an FFTS address."""

    magic: Magic | None = None
    intercore_sync: bool = False


def side_file_of(path: Path) -> Path:
    """Return where the JSON file of a kernel file lies: the same path up to its last dot, then ``.json``."""
    stem, dot, _ = path.name.rpartition(".")
    return path.with_name((stem if dot else path.name) + ".json")


def read_side_file(content: bytes | str | None, notes: Notes) -> SideFile:
    """Read the side file's ``content`` (None: there is no file).

    Raises BadSideFile, UnsupportedBinary, and OtherProducer for the JSON of a compiler whose kernels are launched in
    another way: taken for an op library's it would make a vector kernel a cube one.
    """
    if content is None:
        return SideFile()
    try:
        fields = load_json(content)
    except ValueError as problem:
        notes.add(f"the JSON file is not JSON and is ignored: {problem}")
        return SideFile()
    if not isinstance(fields, dict):
        return SideFile()
    if (kind := json_kind(fields)) in _OTHERS:
        rule = "only the side file of an op library says how a file is registered"
        raise OtherProducer("the kind of the JSON file beside the kernel", kind.value, rule, _OTHERS[kind])
    _refuse_printf(fields)
    magic = fields.get("magic")
    known = _MAGICS.get(magic) if isinstance(magic, str) else None
    if "magic" in fields and known is None:
        notes.add(f"the JSON file's magic {magic!r} is not known and is ignored")
    sync = fields.get("intercoreSync")
    # JSON true is no number, though Python counts it as 1.
    return SideFile(known, not isinstance(sync, bool) and sync == 1)


def load_json(content: bytes | str) -> Any:
    """Parse strict JSON (a byte order mark is allowed); anything else raises ValueError."""
    return files.load_json(content, _refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _refuse_printf(fields: dict[str, Any]) -> None:
    if "debugOptions" not in fields:
        return
    options = fields["debugOptions"]
    if not isinstance(options, str):
        raise BadSideFile("debugOptions in the JSON file", options, "it must be a string")
    if "printf" in options:
        rule = "kernels built with printf need a print buffer, which this way of loading does not set up"
        raise UnsupportedBinary("debugOptions in the JSON file", options, rule, "build the kernel without printf")
