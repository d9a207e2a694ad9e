"""What a libascend_hal.so of the fake exports, and how the pointers of its functions are handled: the C tables."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from chips import yaml_file
from fakes.errors import FakeError
from fakes.hal import modelled
from fakes.hal.absent import absence
from npuhal import constants, prototypes, structs
from npuhal.records import dataclass

MOST_ARGUMENTS = 12
"""Arguments a slot has space for (SHIM_ARGS)."""
MOST_RULES = 8
POSTED = "halSqTaskSend"
"""The function that is not always called for (post.c)."""
_SIZE = re.compile(r"(?P<out>out )?(?:(?P<base>\w+) \+ )?(?P<unit>\w+) \* (?P<count>\*?[\w.]+)\Z")
_INTEGERS: Mapping[Any, str] = {
    ctypes.c_bool: "_Bool", ctypes.c_int: "int32_t", ctypes.c_uint: "uint32_t", ctypes.c_long: "int64_t",
    ctypes.c_ulong: "uint64_t", ctypes.c_ubyte: "uint8_t", ctypes.c_ushort: "uint16_t", ctypes.c_byte: "int8_t",
    ctypes.c_short: "int16_t", ctypes.c_void_p: "void *",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """One pointer of a function: see shim_rule in shim.h."""

    arg: int
    parent: int = -1
    at: int = 0
    written: bool = False
    text: bool = False
    base: int = 0
    unit: int = 0
    count_arg: int = -1
    count_rule: int = -1
    count_at: int = 0
    count_bytes: int = 8

    def c(self) -> str:
        """Return the C initializer."""
        values = (
            self.arg, self.parent, self.at, int(self.written), int(self.text), self.base, self.unit, self.count_arg,
            self.count_rule, self.count_at, self.count_bytes,
        )  # fmt: skip
        return f"{{{', '.join(map(str, values))}}}"


@dataclass(frozen=True, slots=True)
class Export:
    """A modelled function with the rules of its pointers."""

    prototype: prototypes.Prototype
    rules: tuple[Rule, ...]


DAEMON = {
    "TsdOpen": ("u32", "u32"), "TsdOpenEx": ("u32", "u32", "u32"), "TsdClose": ("u32",), "TsdCloseEx": ("u32", "u32"),
    "TsdCapabilityGet": ("u32", "i32", "u64"), "GetHdcConctStatus": ("u32", "i32*"),
}  # fmt: skip
"""Functions of libtsdclient.so (tsd_client.h) that the fake carries out, with their arguments."""
DAEMON_IDLE = (
    "UpdateProfilingMode", "TsdSetMsprofReporterCallback", "TsdInitQs", "TsdInitFlowGw", "TsdSetAttr",
    "TsdOpenAicpuSd", "SetAicpuSchedMode",
)  # fmt: skip
"""Those that start or configure services which nobody behind the fake would use: they answer 0."""
_SHORT = {"u32": ctypes.c_uint, "i32": ctypes.c_int, "u64": ctypes.c_ulong, "i32*": ctypes.POINTER(ctypes.c_int)}


@cache
def exports(driver_tree: int) -> tuple[Export, ...]:
    """Return the modelled functions of a tree of the driver by name, then those of the device-side starter.

    The order is that of the numbers that identify calls.
    """
    names = sorted(name for name in modelled() if absence(name, driver_tree) is None)
    driver = tuple(_export(prototypes.prototype(name)) for name in names)
    return driver + tuple(_export(_daemon(name, kinds)) for name, kinds in DAEMON.items())


def _daemon(name: str, kinds: tuple[str, ...]) -> prototypes.Prototype:
    args = tuple(
        prototypes.Arg(f"a{number}", _SHORT[kind], "out" if kind.endswith("*") else "in", kind)
        for number, kind in enumerate(kinds)
    )
    return prototypes.Prototype(name, ctypes.c_uint, args, "daemon", False, "tsd_client.h")


def strong(driver_tree: int) -> tuple[str, ...]:
    """Return the functions that installed libraries refer to strongly and the fake does not model."""
    modelled_names = {each.prototype.name for each in exports(driver_tree)}
    return tuple(name for name in _load("strong.yaml")["functions"].split() if name not in modelled_names)


@cache
def _load(name: str) -> Any:
    return yaml_file.load(Path(__file__).with_name(name))


def _export(prototype: prototypes.Prototype) -> Export:
    """Return a function with its rules: first those of arguments, so that what lies behind them finds its holder."""
    listed: dict[str, str] = dict(_load("pointers.yaml").get(prototype.name, {}))
    numbers = {arg.name: number for number, arg in enumerate(prototype.args)}
    rules: list[Rule] = []
    holders: dict[str, int] = {}
    for number, arg in enumerate(prototype.args):
        rule = _argument_rule(number, arg, listed)
        if rule is not None:
            holders[arg.name] = len(rules)
            rules.append(rule)
    kinds = {arg.name: _pointee(arg.ctype) for arg in prototype.args}
    made: list[Rule] = []
    for rule in rules:
        text = listed.get(prototype.args[rule.arg].name)
        made.append(rule if text is None else _sized(rule, text, numbers, holders, kinds))
    for path, text in listed.items():
        name, _, field = path.partition(".")
        if field:
            nested = Rule(numbers[name], holders[name], getattr(kinds[name], field).offset, text.startswith("out "))
            made.append(_sized(nested, text, numbers, holders, kinds))
    if len(prototype.args) > MOST_ARGUMENTS or len(made) > MOST_RULES:
        raise FakeError(f"{prototype.name} has more arguments or pointers than a slot carries")
    return Export(prototype, tuple(made))


def _pointee(ctype: Any) -> Any:
    return ctype._type_ if isinstance(ctype, type) and issubclass(ctype, ctypes._Pointer) else None


def _argument_rule(number: int, arg: prototypes.Arg, listed: Mapping[str, str]) -> Rule | None:
    target = _pointee(arg.ctype)
    if target is not None:
        return Rule(number, base=ctypes.sizeof(target), written=arg.direction != "in")
    if arg.text == "char*":
        return Rule(number, text=arg.name not in listed, written=arg.direction != "in")
    if isinstance(arg.ctype, type) and issubclass(arg.ctype, (ctypes.Structure, ctypes.Union)):
        return Rule(number, base=ctypes.sizeof(arg.ctype))  # by value: the stub passes the address of its copy
    return None


def _sized(
    rule: Rule, text: str, numbers: Mapping[str, int], holders: Mapping[str, int], kinds: Mapping[str, Any]
) -> Rule:
    """Return a rule with the size that the table states."""
    match = _SIZE.match(text)
    assert match is not None, text
    size: dict[str, int] = {"base": _bytes(match["base"] or "0"), "unit": _bytes(match["unit"])}
    count = match["count"]
    name, _, field = count.removeprefix("*").partition(".")
    if count.isdigit():
        size = {"base": size["base"] + size["unit"] * int(count), "unit": 0}
    elif field:
        member = getattr(kinds[name], field)
        size |= {"count_arg": numbers[name], "count_rule": holders[name], "count_at": member.offset,
                 "count_bytes": member.size}  # fmt: skip
    else:
        size["count_arg"] = numbers[name]
        if count.startswith("*"):
            size |= {"count_rule": holders[name], "count_bytes": ctypes.sizeof(kinds[name])}
    return Rule(rule.arg, rule.parent, rule.at, rule.written or bool(match["out"]), rule.text, **size)


def _bytes(text: str) -> int:
    return int(text) if text.isdigit() else ctypes.sizeof(getattr(structs, text))


def c_source(driver_tree: int) -> str:
    """Return the C text of the tables and of the functions of libascend_hal.so."""
    made = exports(driver_tree)
    lines = ['#include "shim.h"', "", "const shim_rule shim_rules[] = {"]
    lines += [f"    {rule.c()}," for each in made for rule in each.rules]
    lines += ["};", "const shim_function npuhal_shim_functions[] = {"]
    first = 0
    for each in made:
        lines.append(f'    {{"{each.prototype.name}", {len(each.prototype.args)}, {len(each.rules)}, {first}}},')
        first += len(each.rules)
    lines += ["};", f"const uint32_t npuhal_shim_count = {len(made)};", ""]
    lines += [line for number, each in enumerate(made) if each.prototype.chapter != "daemon"
              for line in _stub(number, each)]  # fmt: skip
    refused = constants.DRV_ERROR_NOT_SUPPORT
    lines += [
        f"int32_t {name}(void) {{ return {_lacking(name, driver_tree, refused)}; }}" for name in strong(driver_tree)
    ]
    return "\n".join(lines) + "\n"


def c_daemon(driver_tree: int) -> str:
    """Return the C text of libtsdclient.so; its calls go through libascend_hal.so, which it needs."""
    lines = ['#include "shim.h"', ""]
    for number, each in enumerate(exports(driver_tree)):
        if each.prototype.chapter == "daemon":
            lines += _stub(number, each)
    lines += [f"uint32_t {name}(void) {{ return 0; }}" for name in DAEMON_IDLE]
    return "\n".join(lines) + "\n"


def _lacking(name: str, driver_tree: int, code: int) -> str:
    try:
        known = absence(name, driver_tree)
    except KeyError:
        known = None
    return str(code) if known is not None and known.exported else f'npuhal_shim_lacks("{name}", {code})'


def _stub(number: int, export: Export) -> Iterator[str]:
    prototype = export.prototype
    kinds = [_c_type(f"{prototype.name}_{index}", arg.ctype) for index, arg in enumerate(prototype.args)]
    yield from (declaration for _, declaration, _ in kinds if declaration)
    result = "void" if prototype.restype is None else _INTEGERS[prototype.restype]
    parameters = ", ".join(f"{kind} a{index}" for index, (kind, _, _) in enumerate(kinds)) or "void"
    words = ", ".join(
        f"(uint64_t)&a{index}" if by_value else f"(uint64_t)a{index}" for index, (_, _, by_value) in enumerate(kinds)
    )
    call = f"npuhal_shim_call({number}, {'args' if kinds else '0'})"
    yield f"{result} {prototype.name}({parameters}) {{"
    if prototype.name == POSTED:
        yield f"    return shim_send({number}, a0, a1);"
        yield "}"
        return
    if kinds:
        yield f"    uint64_t args[] = {{{words}}};"
    yield f"    {call};" if result == "void" else f"    return ({result}){call};"
    yield "}"


def _c_type(name: str, ctype: Any) -> tuple[str, str, bool]:
    """Return the C type of an argument, a declaration it needs, and whether it is a struct passed by value."""
    if isinstance(ctype, type) and issubclass(ctype, (ctypes.Structure, ctypes.Union)):
        word = ctypes.alignment(ctype)  # structs of integers: size and alignment decide how they are passed
        count = ctypes.sizeof(ctype) // word
        return f"by_{name}", f"typedef struct {{ uint{8 * word}_t w[{count}]; }} by_{name};", True
    return _INTEGERS.get(ctype, "void *"), "", False
