"""Finding a kernel's files in Triton's cache: a folder, one of the files, or a whole cache.

Folders of other hashes hold what launchers are built from, and no kernel. The absolute paths in `__grp__*.json` go
stale when a folder is moved, so files are looked for beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from chips.binary.errors import near_names
from chips.binary.producers.errors import IncompleteFolder
from chips.binary.side_file import load_json
from npuhal.files import read_bytes
from npuhal.records import dataclass

__all__ = ["CacheEntry", "find_entry", "read_entry"]

BINARY, META, IR, ADAPTER = ".npubin", ".json", ".ttir", ".ttadapter"
_GROUP: Final = "__grp__"
_SOME: Final = 6


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """What was found of one kernel: bytes of the ELF and of the metadata, texts of the IR where there are any."""

    stem: str
    folder: Path
    binary: bytes
    metadata: bytes
    ir: str | None = None
    adapter: str | None = None


def find_entry(path: str | Path, name: str | None = None) -> Path:
    """Return the path of the device ELF that a path means.

    Args:
        path: a folder with kernels, a whole cache, or one of a kernel's files.
        name: which kernel, where there are several.

    Raises:
        IncompleteFolder: there is none, several, or something is missing.
    """
    folder = Path(path).expanduser()
    if folder.is_dir():
        return _of_folder(folder, name)
    if not folder.exists():
        raise IncompleteFolder("the path", str(folder), "there is no such file or folder", "check the path")
    stem = folder.name.removeprefix(_GROUP).partition(".")[0] if folder.suffix in _SUFFIXES else ""
    if not stem:
        rule = f"a kernel is given by its folder, or a file {', '.join(_SUFFIXES)}"
        raise IncompleteFolder("the path", str(folder), rule, "other kernel files: device.load(path)")
    return _existing(folder.with_name(stem + BINARY))


_SUFFIXES: Final = (BINARY, META, IR, ADAPTER)


def _of_folder(folder: Path, name: str | None) -> Path:
    found = sorted(folder.glob("*" + BINARY)) or sorted(folder.glob("*/*" + BINARY))
    chosen = [each for each in found if name is None or each.stem == name]
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        stale = sorted(folder.glob(_GROUP + "*" + META)) + sorted(folder.glob("*" + META))
        if stale:
            return _existing(stale[0].with_name(stale[0].stem.removeprefix(_GROUP) + BINARY))
        cure = "give the folder of one kernel; $TRITON_CACHE_DIR, or ~/.triton/cache, holds them"
        raise IncompleteFolder("the folder", str(folder), f"it holds no {BINARY}", cure)
    if not chosen:
        names = sorted({each.stem for each in found})
        raise IncompleteFolder("the kernel", name, f"{folder} has none of that name", near_names(str(name), names))
    listed = _listed(chosen)
    cure = "name one: name=..." if name is None else "give the folder of one of them"
    raise IncompleteFolder("the folder", str(folder), f"it holds {len(chosen)} kernels: {listed}", cure)


def _listed(paths: Iterable[Path]) -> str:
    names = [f"{each.parent.name}/{each.stem}" for each in paths]
    return ", ".join(names[:_SOME]) + (f" and {len(names) - _SOME} more" if len(names) > _SOME else "")


def _existing(binary: Path) -> Path:
    if binary.is_file():
        return binary
    rule = f"{binary.name} is missing: the folder is incomplete"
    cure = "compile the kernel again"
    try:
        paths = load_json(read_bytes(binary.with_name(f"{_GROUP}{binary.stem}{META}")))["child_paths"]
        if (was := paths[binary.name]) != str(binary):
            cure = f"its list of files, which may be stale, says that it was {was}; or compile the kernel again"
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise IncompleteFolder("the folder", str(binary.parent), rule, cure)


def read_entry(binary: Path) -> CacheEntry:
    """Read the files of a kernel by the path of its ELF; raises IncompleteFolder where one is missing or unreadable."""
    try:
        data = read_bytes(binary)
        metadata = read_bytes(binary.with_suffix(META))
    except OSError as problem:
        rule = f"it cannot be read ({problem.strerror})"
        cure = "without its JSON file a kernel cannot be launched: compile it again"
        raise IncompleteFolder("the file", str(problem.filename), rule, cure) from None
    return CacheEntry(binary.stem, binary.parent, data, metadata, _text(binary, IR), _text(binary, ADAPTER))


def _text(binary: Path, suffix: str) -> str | None:
    try:
        return read_bytes(binary.with_suffix(suffix)).decode("utf-8", "replace")
    except OSError:
        return None
