"""Dicts and lists of Python as the structs of acl_rt.h, for the calls that take or give them.

A key that is missing stays 0, and a value of a wrong type is passed over, as in pyACL.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from runtime.capi.aclrt.layouts import (
    CHOICE,
    FAILED_RANGE,
    LIST,
    MALLOC_ATTRIBUTE,
    PHYSICAL_PROPERTIES,
    PLACEHOLDER,
    STREAM_VALUE,
)
from runtime.driver.faults import MOST_RANGES

After = Callable[[int], list[Any]]
"""Makes the outputs once the code is known."""

Adapter = Callable[[str, list[Any]], tuple[dict[str, Any], After | None, Any]]
"""Turns the arguments of a call into parameters, what makes its outputs, and what must stay alive meanwhile."""

_STREAM_KEYS = {1: "failureMode", 2: "overflowSwitch", 3: "userCustomTag"}
_UNKNOWN_KEY, _UNKNOWN_WORDS = "reserved", 4
"""What a value of an attribute without a name is: words."""
_LAUNCH_VALUES = ("schemMode", "localMemorySize", "dynUBufSize", "engineType", "blockDimOffset", "isBlockTaskPrefetch",
                  "isDataDump", "timeout", "value")  # fmt: skip


def _number(given: Any) -> int:
    return given if isinstance(given, int) else 0


@cache
def _masks(layout: str) -> tuple[int, ...]:
    """Return what is kept of each number of a layout."""
    found = re.findall(r"(\d*)([IQ])", layout)
    return tuple((1 << (32 if letter == "I" else 64)) - 1 for count, letter in found for _ in range(int(count or 1)))


def _packed(layout: struct.Struct, *given: Any) -> bytes:
    """Return a struct of numbers without sign, each cut to its width as C cuts it; what is no number is 0."""
    words = [_number(each) & mask for each, mask in zip(given, _masks(layout.format), strict=True)]
    return layout.pack(*words, b"") if layout.format.endswith("s") else layout.pack(*words)


def _dict(call: str, name: str, given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    raise TypeError(f"{call} args parse failed: {name} must be dict, not {type(given).__name__}")


def _buffer(data: bytes) -> Any:
    return (ctypes.c_uint8 * max(len(data), 1)).from_buffer_copy(data or b"\0")


def _listed(rows: Iterable[bytes]) -> Any:
    """Return a {pointer, count} pair and keep what it points to."""
    packed = list(rows)
    body = _buffer(b"".join(packed))
    head = _buffer(LIST.pack(ctypes.addressof(body), len(packed)))
    head.body = body
    return head


def _configuration(call: str, cfg: dict[str, Any]) -> Any:
    """Return an aclrtMallocConfig; None for an empty dict.

    Raises:
        TypeError: there are no attributes, or one is no dict.
        KeyError: their number is not the one stated, or a value has no known name.
    """
    if not cfg:
        return None
    attributes = cfg.get("attrs")
    if not isinstance(attributes, list):
        raise TypeError(f"{call} args parse failed: attrs must be a list of dicts")
    if len(attributes) != _number(cfg.get("numAttrs")):
        raise KeyError(f"{call}: numAttrs is {cfg.get('numAttrs')}, attrs has {len(attributes)}")
    return _listed(_attribute(call, each) for each in attributes)


def _attribute(call: str, attribute: Any) -> bytes:
    value = attribute.get("value") if isinstance(attribute, dict) else None
    if not isinstance(value, dict):
        raise TypeError(f"{call} args parse failed: an attribute is {{'attr': number, 'value': dict}}")
    numbers = [value[key] for key in ("moduleId", "deviceId", "vaFlag", "rsv") if key in value]
    if not numbers:
        raise KeyError(f"{call}: the value of an attribute has moduleId, deviceId or rsv, not {sorted(value)}")
    return _packed(MALLOC_ATTRIBUTE, attribute.get("attr"), numbers[0])


def _address(buffer: Any) -> int:
    return 0 if buffer is None else ctypes.addressof(buffer)


def _with_configuration(*names: str) -> Adapter:
    def adapt(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
        buffer = _configuration(call, values[-1])
        return dict(zip(names, (*values[:-1], _address(buffer)), strict=True)), None, buffer

    return adapt


def _with_property(index: int, *names: str) -> Adapter:
    def adapt(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
        given = values[index]
        location = _dict(call, "location", given.get("location", {}))
        words = [given.get(key) for key in ("handleType", "allocationType", "memAttr")]
        words += [location.get("id"), location.get("type"), given.get("reserve")]
        buffer = _buffer(_packed(PHYSICAL_PROPERTIES, *words))
        passed = [*values[:index], ctypes.addressof(buffer), *values[index + 1 :]]
        return dict(zip(names, passed, strict=True)), None, buffer

    return adapt


def _choices(call: str, rows: Sequence[Any], key: str) -> Any:
    packed = []
    for row in rows:
        if not isinstance(row, dict):
            raise ValueError(f"{call}: a list of dicts is expected, not of {type(row).__name__}")
        value = row.get("value", 0)
        if isinstance(value, dict):
            value = next((value[name] for name in _LAUNCH_VALUES if name in value), 0)
        packed.append(_packed(CHOICE, row.get(key), value, 0, 0, 0))
    return _listed(packed)


def _load(*names: str) -> Adapter:
    def adapt(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
        buffer = _choices(call, values[-1], "type") if values[-1] else None
        return dict(zip(names, (*values[:-1], _address(buffer)), strict=True)), None, buffer

    return adapt


def _launch(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    function, blocks, stream, cfg, *rest = values
    buffer = _choices(call, cfg, "id") if cfg else None
    passed = {"funcHandle": function, "numBlocks": blocks, "stream": stream, "cfg": _address(buffer)}
    if len(rest) == 2:
        return passed | dict(zip(("argsHandle", "reserve"), rest, strict=True)), None, buffer
    host, size, placeholders = rest
    keys = ("addrOffset", "dataOffset")
    infos = [_dict(call, "a placeholder", each) for each in placeholders]
    rows = b"".join(_packed(PLACEHOLDER, *(each.get(key) for key in keys)) for each in infos)
    table = _buffer(rows)
    passed |= {
        "hostArgs": host, "argsSize": size, "placeHolderArray": ctypes.addressof(table),
        "placeHolderNum": len(placeholders),
    }  # fmt: skip
    return passed, None, (buffer, table)


def _numbers(kind: Any, address: str, count: str, *before: str) -> Adapter:
    def adapt(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
        numbers = values[-1]
        if not all(isinstance(number, int) for number in numbers):
            raise ValueError(f"{call}: a list of ints is expected")
        array = (kind * max(len(numbers), 1))(*numbers)
        passed = dict(zip(before, values[:-1], strict=True))
        return passed | {address: ctypes.addressof(array), count: len(numbers)}, None, array

    return adapt


def _filled(size: int, address: str, make: Callable[[bytes], Any], *before: str) -> Adapter:
    """Give a buffer to fill; its contents become one output."""

    def adapt(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
        buffer = _buffer(bytes(size))
        passed = dict(zip(before, values[: len(before)], strict=True)) | {address: ctypes.addressof(buffer)}
        return passed, lambda code: [make(bytes(buffer))], buffer

    return adapt


def _text(call: str, length: int, most: int) -> Any:
    if not 0 <= length < most:
        raise ValueError(f"{call}: a length below {most} is expected, not {length}")
    return _buffer(bytes(most))


def _key(*names: str) -> Adapter:
    """Give a buffer for a name: parameters in the order of `names`, of which `key` is the buffer."""

    def adapt(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
        taken = dict(zip((name for name in names if name not in ("key", "name")), values, strict=True))
        buffer = _text(call, taken["len"] if "len" in taken else taken["maxLen"], 1024)
        taken["key" if "key" in names else "name"] = ctypes.addressof(buffer)
        return taken, lambda code: ["" if code else bytes(buffer).partition(b"\0")[0].decode(errors="replace")], buffer

    return adapt


def _rates(data: bytes) -> dict[str, int]:
    names = ("cube_utilization", "vector_utilization", "aicpu_utilization", "memory_utilization", "utilization_extend")
    return dict(zip(names, struct.unpack_from("<4iQ", data), strict=True))


def _pointer(data: bytes) -> dict[str, Any]:
    number, kind, page, *reserved = struct.unpack_from("<7I", data)
    return {"location": {"id": number, "type": kind}, "page_size": page, "rsv": reserved}


def _stream_set(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    stream, attribute, value = values
    word = value.get(_STREAM_KEYS.get(attribute, _UNKNOWN_KEY), 0)
    buffer = _buffer(_packed(STREAM_VALUE, word))
    return {"stream": stream, "stmAttrType": attribute, "value": ctypes.addressof(buffer)}, None, buffer


def _stream_get(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    stream, attribute = values
    buffer = _buffer(bytes(STREAM_VALUE.size))

    def after(code: int) -> list[Any]:
        number = 0 if code else STREAM_VALUE.unpack(bytes(buffer))[0]
        key = _STREAM_KEYS.get(attribute)
        return [{_UNKNOWN_KEY: [0] * _UNKNOWN_WORDS} if key is None else {key: number}]

    return {"stream": stream, "stmAttrType": attribute, "value": ctypes.addressof(buffer)}, after, buffer


def _nothing(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    return {}, None, None


def _within(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    notify, stream, timeout = values
    if not 0 <= timeout < 1 << 32:
        raise TypeError(f"{call} args parse failed: timeout must be within 32 bits, not {timeout}")
    return {"notify": notify, "stream": stream, "timeout": timeout}, None, None


def _marked(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    text, stream = values
    size = len(text.encode(errors="surrogatepass"))  # what is no text is refused behind this
    return {"msg": text, "msgLen": size, "stream": stream}, None, None


def _cpu_function(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    binary, function, kernel = values
    if not function or not kernel:
        raise ValueError(f"{call}: func_name and kernel_name must not be empty")
    return {"handle": binary, "funcName": function, "kernelName": kernel}, None, None


def _failed(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    index, capacity = values
    buffer = _buffer(bytes(FAILED_RANGE.size * min(max(capacity, 0), MOST_RANGES)))  # no card tells of more

    def after(code: int) -> list[Any]:
        rows = FAILED_RANGE.iter_unpack(bytes(buffer)) if not code and capacity > 0 else ()
        return [[{"addr": address, "len": size, "reserved": [0] * 14} for address, size, _ in rows if size]]

    return {"deviceId": index, "memUceInfoArray": ctypes.addressof(buffer), "arraySize": capacity}, after, buffer


def _repair(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    index, infos = values
    ranges = [_dict(call, "a range", each) for each in infos]
    buffer = _buffer(b"".join(_packed(FAILED_RANGE, each.get("addr"), each.get("len")) for each in ranges))
    return {"deviceId": index, "memUceInfoArray": ctypes.addressof(buffer), "arraySize": len(infos)}, None, buffer


def _exchanged(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    word = ctypes.c_int32(values[0])
    return {"mode": ctypes.addressof(word)}, lambda code: [word.value], word


def _described(call: str, values: list[Any]) -> tuple[dict[str, Any], After | None, Any]:
    names = ("desc", "kind", "srcAddr", "dstAddr", "count", "config")
    return dict(zip(names, values, strict=True)), lambda code: [values[0]], None


ADAPTERS: dict[str, Adapter] = {
    "aclrtMallocWithCfg": _with_configuration("size", "policy", "cfg"),
    "aclrtMallocForTaskScheduler": _with_configuration("size", "policy", "cfg"),
    "aclrtMallocHostWithCfg": _with_configuration("size", "cfg"),
    "aclrtMallocPhysical": _with_property(1, "size", "prop", "flags"),
    "aclrtMemGetAllocationGranularity": _with_property(0, "prop", "option"),
    "aclrtBinaryLoadFromFile": _load("binPath", "options"),
    "aclrtBinaryLoadFromData": _load("data", "length", "options"),
    "aclrtLaunchKernelWithConfig": _launch,
    "aclrtLaunchKernelWithHostArgs": _launch,
    "aclrtMemSetPidToShareableHandle": _numbers(ctypes.c_int32, "pid", "pidNum", "shareableHandle"),
    "aclrtIpcMemSetImportPid": _numbers(ctypes.c_int32, "pid", "num", "key"),
    "aclrtNotifySetImportPid": _numbers(ctypes.c_int32, "pid", "num", "notify"),
    "aclrtNotifyBatchReset": _numbers(ctypes.c_uint64, "notifies", "num"),
    "aclrtGetDeviceUtilizationRate": _filled(24, "utilizationInfo", _rates, "deviceId"),
    "aclrtPointerGetAttributes": _filled(64, "attributes", _pointer, "ptr"),
    "aclrtDeviceGetUuid": _filled(64, "uuid", lambda data: {"bytes": list(data[:16])}, "deviceId"),
    "aclrtGetFunctionName": _key("funcHandle", "maxLen", "name"),
    "aclrtIpcMemGetExportKey": _key("devPtr", "size", "key", "len", "flags"),
    "aclrtNotifyGetExportKey": _key("notify", "key", "len", "flags"),
    "aclrtSetStreamAttribute": _stream_set,
    "aclrtGetStreamAttribute": _stream_get,
    "aclrtGetMemUceInfo": _failed,
    "aclrtMemUceRepair": _repair,
    "aclrtSetMemcpyDesc": _described,
    "aclrtGetGroupCount": _nothing,
    "aclrtRegisterCpuFunc": _cpu_function,
    "aclmdlRICaptureThreadExchangeMode": _exchanged,
    "aclrtWaitAndResetNotify": _within,
    "aclprofMarkEx": _marked,
}
