"""A device ELF with one kernel, made on the spot: what the bench launches where no kernel file is at hand."""

from __future__ import annotations

import hashlib
import struct

_HEADER, _SECTION, _SYMBOL = 64, 64, 24
_MACHINE = 0x1029  # EM_HIIPU
_PROGBITS, _SYMTAB, _STRTAB, _NOTE = 1, 2, 3, 7
_VECTOR_KERNEL = 3


def minimal_kernel(name: str, arguments: int) -> bytes:
    """Return an ELF64 whose only kernel runs on vector cores and takes `arguments` arguments.

    Its 64 code bytes depend on the name, so that kernels can be told apart by them; they are no real instructions.
    """
    code = hashlib.sha512(name.encode()).digest()
    strings = b"\0" + name.encode() + b"\0"
    symbols = bytes(_SYMBOL) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, len(code))
    listed = b"".join(struct.pack(">HHQQ", 5, 2, 0x10002, 0xFFFFFFFFFFFFFFFF) for _ in range(arguments))
    meta = struct.pack("<HHI", 1, 4, _VECTOR_KERNEL) + struct.pack("<HH", 4, len(listed)) + listed
    sections = [
        ("", 0, 0, 0, 0, b""),
        (".text", _PROGBITS, 0x6, 0, 0, code),
        (".symtab", _SYMTAB, 0, 3, _SYMBOL, symbols),
        (".strtab", _STRTAB, 0, 0, 0, strings),
        (f".ascend.meta.{name}", _NOTE, 0, 0, 0, meta),
    ]
    names = b""
    offsets = []
    for title in (*(section[0] for section in sections), ".shstrtab"):
        offsets.append(len(names))
        names += title.encode() + b"\0"
    sections.append((".shstrtab", _STRTAB, 0, 0, 0, names))
    body, table = bytearray(_HEADER), b""
    for where, (_, kind, flags, link, entry, content) in zip(offsets, sections, strict=True):
        body += bytes(-len(body) % 8)
        table += struct.pack("<IIQQQQIIQQ", where, kind, flags, 0, len(body), len(content), link, 0, 8, entry)
        body += content
    body += bytes(-len(body) % 8)
    body[:_HEADER] = struct.pack(
        "<4sBBB9xHHIQQQIHHHHHH",
        b"\x7fELF",
        2,
        1,
        1,
        2,
        _MACHINE,
        1,
        0,
        0,
        len(body),
        0,
        _HEADER,
        0,
        0,
        _SECTION,
        len(sections),
        len(sections) - 1,
    )
    return bytes(body) + table
