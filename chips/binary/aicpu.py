"""AICPU programs: kernels that run on the device's CPU cores, listed in a JSON file beside a shared library.

The library is not parsed: it goes to the device whole and is opened there by name (core_spec 12.6 and 12.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from chips.binary.errors import BinaryError, UnknownKernel, near_names
from chips.binary.meta import DEFAULT_USER_ARGS
from chips.binary.notes import Notes
from chips.binary.side_file import load_json
from npuhal.records import dataclass

__all__ = ["AicpuKernel", "AicpuKind", "AicpuProgram", "MalformedOpList", "library_name", "read_aicpu_program"]

HASHED_BYTES: Final = 1024
"""How much of a library given as data goes into its name, unless that name is taken."""


class MalformedOpList(BinaryError):
    """The JSON file of an AICPU program is no JSON object."""


class AicpuKind(Enum):
    """Which device-side framework runs a kernel, as the op list's ``opKernelLib`` says."""

    AICPU = "AICPUKernel"
    CUSTOM = "CUSTAICPUKernel"
    FRAMEWORK = "TFKernel"
    KFC = "KFCKernel"
    CUSTOM_KFC = "CUSTKFCKernel"
    RESERVED = ""


@dataclass(frozen=True, slots=True)
class AicpuKernel:
    """One op of an AICPU program: ``name`` is its op type, called as ``function_name`` of the library ``so_name``."""

    name: str
    function_name: str
    so_name: str
    kind: AicpuKind
    user_args: int = DEFAULT_USER_ARGS


@dataclass(frozen=True, slots=True, eq=False)
class AicpuProgram:
    """An AICPU binary: ``library`` is a view of the shared object, None where the device has it already."""

    kernels: Mapping[str, AicpuKernel]
    library: memoryview | None
    library_name: str
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.kernels)

    def __iter__(self) -> Iterator[AicpuKernel]:
        return iter(self.kernels.values())

    def kernel(self, name: str) -> AicpuKernel:
        """Return the kernel of an op type; UnknownKernel suggests near names."""
        try:
            return self.kernels[name]
        except KeyError:
            pass
        rule = "the program has no op of that type"
        raise UnknownKernel("the kernel name", name, rule, near_names(name, self.kernels))


def read_aicpu_program(
    op_list: bytes | str | None, library: bytes | bytearray | memoryview | None = None, name: str = ""
) -> AicpuProgram:
    """Read an AICPU program from its op list (JSON), its library, or both; ``name`` is the library's file name.

    Entries without ``opInfo`` are no ops; an op with a field that is no text is left out with a warning. Raises
    MalformedOpList when the list is no JSON object.
    """
    notes = Notes()
    kernels = {} if op_list is None else _read_ops(op_list, notes)
    view = None if library is None else memoryview(library).cast("B").toreadonly()
    return AicpuProgram(MappingProxyType(kernels), view, name, notes.texts())


def library_name(library: bytes | bytearray | memoryview, taken: frozenset[str] = frozenset()) -> str:
    """Return ``<hash>_<size>.so``, the name on the device of a library that was given as data.

    The hash is over the first 1,024 bytes, or over all of them when that name is among those ``taken``.
    """
    import hashlib  # pulls in a large library that programs for AI cores never need

    view = memoryview(library).cast("B")
    for hashed in (view[:HASHED_BYTES], view):
        name = f"{hashlib.sha256(hashed).hexdigest()[:16]}_{len(view)}.so"
        if name not in taken:
            break
    return name


def _read_ops(op_list: bytes | str, notes: Notes) -> dict[str, AicpuKernel]:
    try:
        ops = load_json(op_list)
    except ValueError as problem:
        raise MalformedOpList("the op list", "not JSON", str(problem), "give the JSON file of the library") from problem
    if not isinstance(ops, dict):
        raise MalformedOpList("the op list", type(ops).__name__, "it is a JSON object of ops", "give another file")
    kernels = {}
    for name, entry in ops.items():
        info = entry.get("opInfo") if isinstance(entry, dict) else None
        if not isinstance(info, dict):
            continue
        wrong = next((key for key in _FIELDS if not isinstance(info.get(key, ""), str)), None)
        if wrong is None:
            kernels[name] = _kernel(name, info, notes)
        else:
            notes.add(f"op {name!r}: {wrong} is {info[wrong]!r}, no text; the op is left out")
    return kernels


_FIELDS: Final = ("functionName", "kernelSo", "opKernelLib", "userDefined")


def _kernel(name: str, info: dict[str, Any], notes: Notes) -> AicpuKernel:
    stated = info.get("opKernelLib", "")
    try:
        kind = AicpuKind(stated)
    except ValueError:
        kind = AicpuKind.RESERVED
    if kind is AicpuKind.RESERVED:
        notes.add(f"op {name!r}: opKernelLib {stated!r} is not known; the device may refuse the kernel")
    if kind is AicpuKind.AICPU and info.get("userDefined") == "True":
        kind = AicpuKind.CUSTOM
    return AicpuKernel(name, info.get("functionName", ""), info.get("kernelSo", ""), kind)
