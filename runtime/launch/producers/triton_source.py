"""Where a Triton kernel comes from: a path, a compiled kernel of this process, or bytes with metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from chips.binary.producers.errors import BadSignature, IncompleteFolder
from chips.binary.producers.triton import (
    Metadata,
    Parameter,
    find_entry,
    parameters_of,
    read_entry,
    read_signature,
)
from npuhal.files import read_bytes
from npuhal.records import dataclass

__all__ = ["Source", "source_of"]


@dataclass(frozen=True, slots=True)
class Source:
    """The ELF, its metadata (JSON or parsed), and what says the signature: stated types, IR, or adapter."""

    binary: bytes
    metadata: Any
    stated: tuple[Parameter, ...] | None = None
    ir: str | None = None
    adapter: str | None = None
    names: tuple[str, ...] = ()

    def parameters(self, facts: Metadata) -> tuple[Parameter, ...]:
        """Return the arguments of a launch.

        Raises:
            BadSignature: nothing says them, or what was stated does not fit the IR.
        """
        read = self._read(facts.kernel)
        if self.stated is None:
            if read is None and facts.parameters is None:
                cure = "give the types as they were compiled: signature=['*fp32', 'i32']"
                raise BadSignature("the signature", None, "there is no .ttir beside the kernel, which has it", cure)
            return self._named(read if read is not None else facts.parameters or ())
        if read is not None and list(map(_form, read)) != list(map(_form, self.stated)):
            rule = f"the kernel was compiled for ({', '.join(each.type for each in read)})"
            cure = "leave the signature out, or leave constants, arguments that were 1, and None out of it"
            raise BadSignature("the signature", f"({', '.join(each.type for each in self.stated)})", rule, cure)
        return self.stated

    def _read(self, kernel: str) -> tuple[Parameter, ...] | None:
        if self.ir is not None:
            return read_signature(self.ir, kernel)
        return None if self.adapter is None else read_signature(self.adapter, kernel, adapter=True)

    def _named(self, read: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        """Return parameters with the names of the source, where it is known which of them are left."""
        if len(self.names) != len(read):
            return read
        return tuple(Parameter(name, each.type) for name, each in zip(self.names, read, strict=True))


def _form(parameter: Parameter) -> tuple[bool, str]:
    """Return what IR tells of a type: it does not say whether a number has a sign."""
    return parameter.is_pointer, parameter.packing.code.lower()


def source_of(
    source: Any, signature: Mapping[Any, Any] | Iterable[Any] | None, *, name: str | None, metadata: Any
) -> Source:
    """Return what a kernel is loaded from; see `Device.load_triton`. Raises BinaryError."""
    stated = None if signature is None else parameters_of(signature)
    if isinstance(source, (str, Path)):
        if metadata is not None:
            path = Path(source).expanduser()
            ir = path.with_suffix(".ttir")
            text = read_bytes(ir).decode("utf-8", "replace") if ir.is_file() else None
            return Source(_bytes_of(path), _metadata_of(metadata), stated, text)
        entry = read_entry(find_entry(source, name))
        return Source(entry.binary, entry.metadata, stated, entry.ir, entry.adapter)
    if isinstance(source, (bytes, bytearray, memoryview)):
        if metadata is None:
            cure = "pass metadata=, the content of its JSON file"
            raise IncompleteFolder("the metadata", None, "bytes alone do not say how a kernel is launched", cure)
        return Source(bytes(source), _metadata_of(metadata), stated)
    return _compiled(source, stated)


def _bytes_of(path: Path) -> bytes:
    try:
        return read_bytes(path.expanduser())
    except OSError as problem:
        raise IncompleteFolder("the file", str(path), f"it cannot be read ({problem.strerror})") from None


def _metadata_of(given: Any) -> Any:
    """Return metadata as JSON or a mapping: given so, as a path, or as Triton's named tuple."""
    if isinstance(given, Mapping):
        fields: Mapping[str, Any] = given
    elif hasattr(given, "_asdict"):
        fields = given._asdict()
    elif isinstance(given, Path) or (isinstance(given, str) and not given.lstrip().startswith("{")):
        return _bytes_of(Path(given))
    elif hasattr(given, "__dict__"):
        fields = vars(given)
    else:
        return given
    target = fields.get("target")
    if target is not None and not isinstance(target, Mapping):
        fields = {**fields, "target": {key: getattr(target, key, None) for key in ("backend", "arch", "warp_size")}}
    return fields


def _compiled(source: Any, stated: tuple[Parameter, ...] | None) -> Source:
    """Take a `CompiledKernel` of Triton apart, by the attributes that it has in every version."""
    asm, metadata = getattr(source, "asm", None), getattr(source, "metadata", None)
    binary = asm.get("npubin") if isinstance(asm, Mapping) else None
    if not isinstance(binary, (bytes, bytearray)) or metadata is None:
        rule = "it is neither a path, nor bytes, nor a compiled kernel with asm['npubin'] and metadata"
        raise IncompleteFolder("the source of the kernel", type(source).__name__, rule, "give the cache folder")
    assert isinstance(asm, Mapping)
    ir = asm["ttir"] if isinstance(asm.get("ttir"), str) else None
    return Source(bytes(binary), _metadata_of(metadata), stated, ir, None, _names(source))


def _names(source: Any) -> tuple[str, ...]:
    """Return the names of the parameters that a compiled kernel has kept."""
    signature = getattr(getattr(source, "src", None), "signature", None)
    if not isinstance(signature, Mapping):
        return ()
    return tuple(str(name) for name, kind in signature.items() if kind != "constexpr")
