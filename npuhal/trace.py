"""A backend around any other that records, and if wanted prints, every call that passes: typed and raw ones alike.

Arguments are decoded by the prototype, what pointers point to included: a struct becomes a dict of its fields, an array
a list, text a string. What a queue entry pointer leads to is kept as bytes, so a recording shows what went to the
device; and so is what the program wrote into memory that devices read too (`npuhal.shared_memory`). Recordings go to
and from JSON lines; `npuhal.replay` plays them against another backend and compares two of them.
"""

from __future__ import annotations

import base64
import ctypes
import json
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuhal import constants, prototypes, structs
from npuhal.api import HalApi, TaskFailure
from npuhal.errors import error_name
from npuhal.files import load_json, read_text, write_whole
from npuhal.layouts import BitField
from npuhal.records import asdict, dataclass, field
from npuhal.shared_memory import READERS, SharedMemory

if TYPE_CHECKING:
    from npuhal.daemon import DeviceDaemon

SQE_BYTES = 64
"""Size of one submission queue entry."""

STRUCT_KEY, BYTES_KEY, PACKED_KEY = "_struct", "_bytes", "_packed"
"""Keys that mark what an untyped pointer led to: a struct by its name, or bytes, hexadecimal or as zlib in Base85."""

_HOST_INPUTS = {
    "halTsdrvCtl": ("param", "paramSize"), "halMemCtl": ("param_value", "param_value_size"),
    "drvMemcpy": ("src", "byte_count"),
}  # fmt: skip
"""Untyped arguments that are read where they point to host memory, and the argument that says how much lies there."""

HOST_ADDRESSES = range(1 << 46, 1 << 48)
"""Where Linux puts heaps and mappings, on x86 and Arm; device addresses lie below."""

_PLAIN_BYTES = 4096
"""Larger inputs are data, not descriptions: nobody reads them, so they are packed."""
_MOST_BYTES = 64 << 20
"""Larger inputs stay out of recordings."""

SEGMENTS = ("srcTsegInfo", "dstTsegInfo")
"""Fields of struct halSqTaskArgsInfo that point to the segments of both ends (struct halTsegInfo)."""

LOGIC_CQE_BYTES = 32
"""Size of one entry of a logic completion queue."""


@dataclass(frozen=True, slots=True)
class Record:
    """One call. Values are plain data: ints, strings, lists and dicts."""

    index: int
    """Number of the call in its recording, from 0."""
    name: str
    """C name of the function."""
    raw: bool
    """Whether the untyped twin was called."""
    before: dict[str, Any]
    """Arguments as the caller passed them, pointees decoded."""
    after: dict[str, Any]
    """Pointees of the arguments the function writes, as they were afterwards."""
    rc: Any
    """What the function returned."""
    ns: int
    """Duration in nanoseconds, decoding not included."""
    thread: int
    """Number of the calling thread, in the order in which threads first called."""
    payload: str = ""
    """What the call leads to in the caller's memory, in hexadecimal: queue entries, a message, UB segments."""
    memory: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """What the program had written into shared memory before the call: address, and bytes as `pack_bytes` keeps them.
    """


class TraceApi(HalApi):
    """Records what passes to `inner`; with a `capacity`, only the last calls are kept."""

    listens = True

    def __init__(self, inner: HalApi, log: Callable[[str], None] | None = None, capacity: int | None = None) -> None:
        super().__init__(f"trace+{inner.url}", inner.version)
        self.inner = inner
        self.stepped, self.follows_entries = inner.stepped, inner.follows_entries
        self.records: deque[Record] = deque(maxlen=capacity)
        self.names: dict[tuple[str, int], object] = {}
        self._log = log
        self._numbers = count()
        self._threads: dict[int, int] = {}
        self._shared = SharedMemory()
        self._lock = threading.Lock()

    @property
    def fake(self) -> Any:
        """The machine behind a fake backend; AttributeError for any other one."""
        return self.inner.fake

    @property
    def progress(self) -> int:
        """How much the inner machine has done so far."""
        return self.inner.progress

    def has(self, name: str) -> bool:
        """Return whether the inner backend has a function."""
        return self.inner.has(name)

    def raw(self, name: str) -> Callable[..., int]:
        """Return a recording wrapper of the inner untyped twin."""
        return self._wrap(prototypes.prototype(name, self.version), self.inner.raw(name), raw=True)

    def annotate(self, key: tuple[str, int], obj: object) -> None:
        """Keep what an id or address stands for (`names`), and pass it on."""
        self.names[key] = obj
        if obj is None:
            del self.names[key]
        self.inner.annotate(key, obj)

    def remark(self, what: str, device_id: int = 0, sq_id: int = 0) -> None:
        """Pass it on."""
        self.inner.remark(what, device_id, sq_id)

    @property
    def looks_for_leaks(self) -> bool:
        """What the inner backend says."""
        return self.inner.looks_for_leaks

    def in_use(self, device_id: int) -> Mapping[str, Sequence[str]]:
        """Return what the inner backend knows."""
        return self.inner.in_use(device_id)

    def left_open(self, device_id: int, held: Mapping[str, Sequence[str]]) -> None:
        """Pass it on."""
        self.inner.left_open(device_id, held)

    def task_failure(self, device_id: int, sq_id: int) -> TaskFailure | None:
        """Return what the inner backend knows."""
        return self.inner.task_failure(device_id, sq_id)

    def daemon(self) -> DeviceDaemon | None:
        """Return the inner backend's daemon; its calls are not recorded."""
        return self.inner.daemon()

    def close(self) -> None:
        """Close the inner backend; the recording stays."""
        self.inner.close()

    def _bind(self, prototype: prototypes.Prototype) -> Callable[..., Any]:
        return self._wrap(prototype, getattr(self.inner, prototype.name), raw=False)

    def _wrap(self, prototype: prototypes.Prototype, function: Callable[..., Any], raw: bool) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            before = decode_arguments(prototype, arguments)
            before |= self._host_input(prototype.name, before)
            memory = self._written(prototype.name, before)
            index = next(self._numbers)
            start = time.perf_counter_ns()
            rc = function(*arguments)
            elapsed = time.perf_counter_ns() - start
            after = decode_arguments(prototype, arguments, written=True)
            payload = self._payload(prototype.name, before, after)
            result = rc.decode("latin-1") if isinstance(rc, bytes) else rc
            record = Record(index, prototype.name, raw, before, after, result, elapsed, self._thread(), payload, memory)
            self.keep(record)
            if rc == 0:
                self._shared.learn(prototype.name, before, after)
            if self._log is not None:
                self._log(format_record(record))
            return rc

        call.__name__ = call.__qualname__ = prototype.name
        return call

    def _written(self, name: str, before: Mapping[str, Any]) -> list[tuple[int, dict[str, str]]]:
        """Return what was written into shared memory since somebody last looked, if the call may read it."""
        self._shared.forget(name, before)
        if name not in READERS:
            return []
        with self._lock:
            return [(address, pack_bytes(data)) for address, data in self._shared.changes()]

    def _thread(self) -> int:
        return self._threads.setdefault(threading.get_ident(), len(self._threads))

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of the caller's memory."""
        return ctypes.string_at(address, size)

    def keep(self, record: Record) -> None:
        """Keep a record."""
        self.records.append(record)

    def _host_input(self, name: str, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the untyped input of a call as bytes, where only its address was passed."""
        argument, size = _HOST_INPUTS.get(name, ("", ""))
        address = before.get(argument)
        # A range looks up only integers at once; for anything else it would walk through all of its addresses.
        if not isinstance(address, int) or address not in HOST_ADDRESSES or before[size] > _MOST_BYTES:
            return {}
        return {argument: pack_bytes(self.read(address, before[size]))}

    def _payload(self, name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        """Return what a call leads to: queue entries, a message to the task scheduler, the segments of a copy over UB.

        All these pointers are host memory by the HAL's contract.
        """
        if name == "halTsdrvCtl":
            param = before["param"]
            if before["cmd"] != constants.TSDRV_CTL_CMD_CTRL_MSG or not isinstance(param, dict):
                return ""
            if BYTES_KEY not in param:
                return ""
            message = structs.tsdrv_ctrl_msg.from_buffer_copy(unpack_bytes(param))
            return self.read(message.msg or 0, message.msg_len).hex()
        if name == "halSqTaskArgsAsyncCopy":
            info, size = before["info"], ctypes.sizeof(structs.halTsegInfo)
            return "".join(self.read(info[end], size).hex() for end in SEGMENTS) if isinstance(info, dict) else ""
        if name == "halSqTaskSend":
            info, address, number, size = before.get("info"), "sqe_addr", "sqe_num", SQE_BYTES
        elif name == "halCqReportRecv":
            info, address, number, size = after.get("info"), "cqe_addr", "report_cqe_num", LOGIC_CQE_BYTES
        else:
            return ""
        if not isinstance(info, dict) or (name == "halCqReportRecv" and info["type"] != constants.DRV_LOGIC_TYPE):
            return ""
        return self.read(info[address], info[number] * size).hex() if info[address] else ""


def decode_arguments(
    prototype: prototypes.Prototype, arguments: tuple[Any, ...], written: bool = False
) -> dict[str, Any]:
    """Return the arguments by name as plain data; with `written`, only those the function writes to."""
    return {
        arg.name: _decode_argument(value, arg.ctype is ctypes.c_void_p)
        for arg, value in zip(prototype.args, arguments, strict=False)
        if not written or arg.direction != "in"
    }


def decode(value: Any) -> Any:
    """Return a ctypes object as plain data: a struct as a dict, an array as a list, characters as a string."""
    if isinstance(value, (ctypes.Structure, ctypes.Union)):
        return dict(struct_items(value))
    if isinstance(value, ctypes.Array):
        if value._type_ is ctypes.c_char:
            return value.raw.rstrip(b"\0").decode("latin-1")
        return [decode(element) for element in value]
    if isinstance(value, ctypes._SimpleCData):
        return decode(value.value)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return 0 if value is None else value


def struct_items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, plain value) of a struct's fields: bit-fields by name, anonymous members opened.

    Of a union all members are given: which one counts, its owner knows.
    """
    kind = type(value)
    bits = [(name, item) for name, item in vars(kind).items() if isinstance(item, BitField)]
    units = {item.unit for _, item in bits}
    for name, *_ in kind._fields_:
        if name in getattr(kind, "_anonymous_", ()):
            yield from struct_items(getattr(value, name))
        elif name not in units:
            yield name, decode(getattr(value, name))
    for name, _ in bits:
        yield name, getattr(value, name)


def format_record(record: Record) -> str:
    """Return a record as one line; fields that are zero are left out."""
    arguments = ", ".join(f"{name}={_brief(value)}" for name, value in record.before.items())
    results = ", ".join(f"{name}={_brief(value)}" for name, value in record.after.items())
    rc = error_name(record.rc) if isinstance(record.rc, int) and record.rc else record.rc
    mark = "*" if record.raw else ""
    return (
        f"#{record.index} t{record.thread} {record.name}{mark}({arguments}) -> {rc}"
        f"{f' [{results}]' if results else ''} {record.ns / 1000:.1f} us"
    )


def save(records: Iterable[Record], path: Path) -> None:
    """Write a recording as JSON lines, one call each."""
    write_whole(path, "".join(map(to_json, records)))


def to_json(record: Record) -> str:
    """Return a record as a line of JSON."""
    return json.dumps(asdict(record), separators=(",", ":")) + "\n"


def load(path: Path) -> list[Record]:
    """Read a recording; ValueError names the line that is none, OSError says why the file cannot be read."""
    records = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            records.append(Record(**load_json(line)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}:{number}: not a record of a HAL call: {error}") from None
    return records


def _decode_argument(value: Any, untyped: bool) -> Any:
    target = getattr(value, "_obj", value)
    if isinstance(target, ctypes._Pointer):
        target = target.contents if target else None
    if isinstance(target, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return "<callback>"
    if target is None:
        return None
    if not untyped or isinstance(target, (int, ctypes.c_void_p)):
        return decode(target)
    # Behind void* an int is an address; what is pointed to must look different.
    if isinstance(target, (ctypes.Structure, ctypes.Union)):
        return {STRUCT_KEY: type(target).__name__, **decode(target)}
    return {BYTES_KEY: bytes(target).hex()}


def pack_bytes(data: bytes) -> dict[str, str]:
    """Return bytes in the form in which recordings keep them."""
    if len(data) <= _PLAIN_BYTES:
        return {BYTES_KEY: data.hex()}
    return {PACKED_KEY: base64.b85encode(zlib.compress(data, 1)).decode()}


def unpack_bytes(value: Mapping[str, str]) -> bytes:
    """Return the bytes that `pack_bytes` has brought into that form."""
    if PACKED_KEY in value:
        return zlib.decompress(base64.b85decode(value[PACKED_KEY]))
    return bytes.fromhex(value[BYTES_KEY])


def _brief(value: Any) -> str:
    if isinstance(value, dict) and (BYTES_KEY in value or PACKED_KEY in value):
        data = unpack_bytes(value)
        text = data.rstrip(b"\0")
        return repr(text.decode()) if text.isascii() and text.decode().isprintable() else f"<{len(data)} bytes>"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}={_brief(item)}" for name, item in value.items() if _counts(item)) + "}"
    if isinstance(value, list):
        return "[" + " ".join(_brief(item) for item in _trimmed(value)) + "]"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0x10000:
        return hex(value)
    return repr(value) if isinstance(value, str) else str(value)


def _counts(value: Any) -> bool:
    return any(_counts(item) for item in value) if isinstance(value, list) else bool(value)


def _trimmed(values: list[Any]) -> list[Any]:
    end = len(values)
    while end and not _counts(values[end - 1]):
        end -= 1
    return values[:end]
