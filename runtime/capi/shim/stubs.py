"""The C text of the functions of libascendcl.so: each packs its arguments into words and calls Python by number."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator

from runtime.capi.shim import declarations as c

_HEAD = """#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "library.h"

static inline uint64_t word_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline float float_of(int64_t word) {
    uint32_t bits = (uint32_t)word;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
"""

_TEXT_BYTES = 4096
"""What a text of a format and its arguments has space for."""


def source(without: Collection[str] = ()) -> str:
    """Return the C text, without functions of some names."""
    lines = [_HEAD]
    for number, function in enumerate(c.functions()):
        if function.name not in without:
            lines += stub(number, function)
    return "\n".join(lines) + "\n"


def by_value(kind: str) -> bool:
    """Whether a C type is a struct that is passed by value."""
    made = c.ctype(kind)
    return isinstance(made, type) and issubclass(made, (ctypes.Structure, ctypes.Union))


def stub(number: int, function: c.CFunction) -> Iterator[str]:
    """Iterate over the lines of a function that is called by a number."""
    kinds, words = [], []
    for index, field in enumerate(function.parameters):
        made = c.ctype(field.type)
        if by_value(field.type):
            size = ctypes.alignment(made)  # structs of integers: size and alignment decide how they are passed
            yield f"typedef struct {{ uint{8 * size}_t w[{ctypes.sizeof(made) // size}]; }} v{number}_{index};"
            kinds.append(f"v{number}_{index}")
            words.append(f"(uint64_t)(uintptr_t)&a{index}")
        elif made is ctypes.c_float:
            kinds.append("float")
            words.append(f"word_of_float(a{index})")
        else:
            kinds.append(_integer(made))
            words.append(f"(uint64_t)a{index}")
    parameters = ", ".join(f"{kind} a{index}" for index, kind in enumerate(kinds)) or "void"
    result = c.ctype(function.result)
    kind = "wait" if function.waits else "call"
    call = f"npuhal_acl_{kind}({number}, {'args' if words else '0'}, {function.failure})"
    head = "void" if result is None else "float" if result is ctypes.c_float else _integer(result)
    yield f"{head} {function.name}({parameters}{', ...' if function.formats else ''}) {{"
    if function.formats:
        yield from _put_together(len(words) - 1)
        words[-1] = "(uint64_t)(uintptr_t)text"
    if words:
        yield f"    uint64_t args[] = {{{', '.join(words)}}};"
    if result is None:
        yield f"    {call};"
    else:
        yield f"    return {'float_of(' + call + ')' if result is ctypes.c_float else f'({head}){call}'};"
    yield "}"


def _put_together(last: int) -> Iterator[str]:
    """Yield what makes the text of a format and of the arguments behind it."""
    yield f"    char text[{_TEXT_BYTES}] = \"\";"
    yield "    va_list behind;"
    yield f"    va_start(behind, a{last});"
    yield f"    if (a{last}) vsnprintf(text, sizeof text, (const char *)(uintptr_t)a{last}, behind);"
    yield "    va_end(behind);"


def _integer(made: type) -> str:
    # Arrays of char and pointers are addresses: 64-bit words on both architectures.
    signed = made in (ctypes.c_int8, ctypes.c_int16, ctypes.c_int32, ctypes.c_int64)
    return f"{'' if signed else 'u'}int{8 * ctypes.sizeof(made)}_t"
