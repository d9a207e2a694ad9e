"""The values of a scenario step: what is given to a call, and how what came back is compared."""

from __future__ import annotations

import ctypes
import mmap
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime.capi.aclrt import Out
from runtime.capi.aclrt.entry import UNTOUCHED

_INTEGERS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q", "f32": "f",
             "f64": "d", "ptr": "Q", "size": "Q", "bool": "?"}
_CORPUS = "../shared/"
"""How scenarios begin the path of a corpus file."""
_NAME = re.compile(r"\$([A-Za-z_0-9]+)([+-]\d+)?\Z")


_LARGEST_PAGE = 65536
"""Pages of the fake's hosts have 4 or 64 KiB."""


class Skipped(Exception):
    """An argument refers to something an earlier step did not give."""


def read_back(address: int, value: dict[str, Any]) -> Any:
    """Return what a call left in a temporary buffer.

    `read` is a number of bytes (given as hex), a struct format for all of a `zero` buffer, or true for a typed buffer,
    whose numbers are returned.
    """
    if value["read"] is True:
        kind = next(kind for kind in value if kind in _INTEGERS)
        count, form = len(value[kind]), _INTEGERS[kind]
        return list(struct.unpack(f"<{count}{form}", ctypes.string_at(address, count * struct.calcsize(form))))
    if isinstance(value["read"], int):
        return ctypes.string_at(address, value["read"]).hex()
    size = value["zero"]
    if value["read"] == "str":
        return ctypes.string_at(address).decode()
    form = f"<{size // struct.calcsize(value['read'])}{value['read']}"
    return list(struct.unpack(form, ctypes.string_at(address, size)))


class Values:
    """Names bound so far, and the temporary memory that calls point to."""

    def __init__(self, callback: Callable[[str], Any], corpus: Callable[[str], Path]) -> None:
        self.bound: dict[str, Any] = {}
        self.buffers: dict[str, Any] = {}
        self._keep: list[Any] = []
        self._callback, self._corpus = callback, corpus

    def address(self, data: bytes | bytearray) -> int:
        """Put bytes into memory that stays until the scenario ends; return the address."""
        buffer = ctypes.create_string_buffer(bytes(data), max(len(data), 1))
        self._keep.append(buffer)
        return ctypes.addressof(buffer)

    def pages(self, data: bytes) -> int:
        """Put bytes into page-aligned memory of the host's own, as a program would that registers it."""
        area = mmap.mmap(-1, len(data) + _LARGEST_PAGE)
        self._keep.append(area)
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        address = -(-start // _LARGEST_PAGE) * _LARGEST_PAGE
        ctypes.memmove(address, data, len(data))
        return address

    def resolve(self, value: Any) -> Any:
        """Return the argument that a scenario value stands for."""
        if isinstance(value, str):
            if value.startswith("&"):
                return Out()
            return self.name(value)
        if isinstance(value, dict):
            return self._built(value)
        if isinstance(value, list):
            raise ValueError(f"a bare list is no argument: {value}")
        return value

    def name(self, text: str) -> Any:
        """Return what `$name` or `$name+offset` is bound to."""
        match = _NAME.match(text)
        if match is None:
            raise ValueError(f"{text!r} is no reference")
        if match[1] not in self.bound or self.bound[match[1]] is UNTOUCHED:
            raise Skipped(match[1])
        value = self.bound[match[1]]
        return value + int(match[2]) if match[2] else value

    def _built(self, value: dict[str, Any]) -> Any:
        made = self._made(value)
        if "as" in value:
            self.bound[value["as"]] = made
        return made

    def _made(self, value: dict[str, Any]) -> Any:
        if "str" in value:
            text: str = value["str"]
            return str(self._corpus(text.removeprefix(_CORPUS))) if text.startswith(_CORPUS) else text
        if "cb" in value:
            return self._callback(value["cb"])
        if "hex" in value:
            return self.address(bytes.fromhex(value["hex"]))
        if "zero" in value:
            return self.address(bytes(value["zero"]))
        if "ptrs" in value:
            return self.address(struct.pack(f"<{len(value['ptrs'])}Q", *map(self._word, value["ptrs"])))
        if "struct" in value:
            return self.address(self._struct(value["struct"]))
        for kind, code in _INTEGERS.items():
            if kind in value:
                given = value[kind]
                items = given if isinstance(given, list) else [given]
                return self.address(struct.pack(f"<{len(items)}{code}", *map(self._word, items)))
        raise ValueError(f"unknown argument form {value}")

    def _word(self, value: Any) -> Any:
        resolved = self.resolve(value) if isinstance(value, (str, dict)) else value
        if isinstance(resolved, str):
            return self.address(resolved.encode() + b"\0")
        return 0 if resolved is None else resolved

    def _struct(self, fields: list[list[Any]]) -> bytes:
        """Lay fields out with natural alignment, as the C compiler does."""
        image, widest = bytearray(), 1
        for kind, _, value in fields:
            count = 1
            if "[" in kind:
                kind, _, rest = kind.partition("[")
                count = int(rest.rstrip("]"))
            if kind == "pad":
                image += bytes(value)
                continue
            code = _INTEGERS.get(kind)
            if code is None:
                raise ValueError(f"unknown field type {kind}")
            size = struct.calcsize("<" + code)
            widest = max(widest, size)
            image += bytes(-len(image) % size)
            items = value if isinstance(value, list) else [value] * count
            image += struct.pack(f"<{len(items)}{code}", *map(self._word, items))
        return bytes(image + bytes(-len(image) % widest))

    def bind(self, given: str, written: Any) -> None:
        """Keep an output under its name; NULL does not take the place of what an earlier call gave."""
        name = given.lstrip("&~")
        if written is UNTOUCHED:  # still what the recorder had set it to
            written = None
        if written is not None or name not in self.bound:
            self.bound[name] = written

    def agrees(self, expected: Any, given: Any, written: Any) -> bool:
        """Whether an output is what was recorded; binds names as it goes.

        The recorder set handles and pointers to NULL and floats to 0.0 before each call, so these are also what is left
        of an output that the call does not write.
        """
        if written is UNTOUCHED and (expected is None or (isinstance(expected, float) and not expected)):
            written = expected
        if isinstance(given, str) and given.startswith("&") and given not in ("&", "&~"):
            self.bind(given, written)
        if expected == "*":
            return True
        if expected == "untouched":
            return written is UNTOUCHED
        if expected is None:
            return written in (None, 0)
        if isinstance(expected, str) and expected.startswith("$"):
            if expected == "$?":
                return written is not UNTOUCHED and bool(written)
            return expected[1:] in self.bound and self.bound[expected[1:]] == written
        if isinstance(expected, float):
            return isinstance(written, (int, float)) and abs(written - expected) <= 1e-4 * max(1.0, abs(expected))
        return bool(written == expected)
