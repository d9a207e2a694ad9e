"""Plays a recording of `npuhal.trace` against another backend, and compares recordings.

Addresses and ids that one HAL hands out mean nothing to another. So what a call handed out in the recording is kept
together with what it hands out now, and later arguments are translated: an address keeps its offset in its block, an id
is looked up by its kind. What the program had written into memory that it shares with the device is written again; host
memory that a recording does not hold, for it is very large or only written to, is lent, as many bytes of zeros.
"""

from __future__ import annotations

import ctypes
import struct
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from npuhal import prototypes, structs
from npuhal.api import HalApi
from npuhal.records import dataclass, field
from npuhal.trace import (
    BYTES_KEY,
    HOST_ADDRESSES,
    LOGIC_CQE_BYTES,
    PACKED_KEY,
    SEGMENTS,
    STRUCT_KEY,
    Record,
    decode_arguments,
    unpack_bytes,
)

_IDS: Mapping[str, str] = {"sqId": "sq", "cqId": "cq", "resourceId": "resource", "streamId": "resource",
                            "tseg_ptr": "segment", "wqe": "element"}  # fmt: skip
"""Fields that hold an id the HAL chose, and its kind. (Stream ids are resource ids.)"""

_BLOCKS: Mapping[str, tuple[str, str]] = {
    "halMemAlloc": ("pp", "size"),
    "halMemAddressReserve": ("ptr", "size"),
    "halHostRegister": ("dst_ptr", "size"),
    "halResMap": ("va", "len"),
    "halResAddrMap": ("va", "len"),
    "halShmemOpenHandle": ("vptr", ""),
    "halShmemOpenHandleByDevId": ("vptr", ""),
    "halMemCreate": ("handle", ""),
}
"""Functions that hand out an address or handle: the argument that receives it, and the one that says the size."""

_HOST_BYTES: Mapping[str, Mapping[str, str]] = {
    "drvMemcpy": {"dst": "dest_max", "src": "byte_count"},
    "halMemcpy": {"dst": "dst_size", "src": "count"},
    "drvMemsetD8": {"dst": "destMax"},
    "halHostRegister": {"src_ptr": "size"},
    "halTsdrvCtl": {"param": "paramSize", "out": "outSize"},
    "halMemCtl": {"out_value": "out_size_ret"},
}
"""Arguments that may be host addresses, and the argument that says how much memory lies there."""

_PACKED = frozenset({BYTES_KEY, PACKED_KEY})
_FIRST_ADDRESS = 0x10000
_ENTRY_BYTES = 64
"""Of a queue entry."""
_HOST_PAGE = 4096
_POLLS = frozenset({"halSqCqQuery", "halCqReportRecv", "halMemcpyWait"})
"""Questions that are asked until the device has got somewhere."""
_MOST_POLLS = 1000

_HIDDEN: Mapping[str, Container[str]] = dict.fromkeys(
    ("halAsyncDmaCreate", "halAsyncDmaCreate2D", "halAsyncDmaCreateBatch"), frozenset({"dma_addr"})
)
"""Results that do not count: of a union, the member that over UB is part of a host address."""

_PROCESS_ID = "drvDeviceGetBareTgid"
"""Answers the id of the process, which is another one in each run."""

_QUEUES_OF_A_STREAM = "halSqCqAllocate"
"""Takes the id of the stream as the first word of `info`."""

_THREAD_ID = "in.info[1]"
"""Where a call (halSqCqAllocate, logic queues) carries the id of its thread, which is another one in each run."""

QUEUE_ENTRY_POINTERS = frozenset({"sqe_addr", "cqe_addr"})
"""Fields that point to entries in the caller's memory: what lies there is compared as a record's payload."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first record in which two runs differ."""

    index: int
    """Number of the record."""
    name: str
    """The function."""
    what: str
    """`rc`, or the path of a value such as `info.value[0]`."""
    recorded: object
    """Value in the recording, or in the first of two."""
    seen: object
    """Value now, or in the second."""

    def __str__(self) -> str:
        return f"#{self.index} {self.name}: {self.what}: recorded {self.recorded}, now {self.seen}"


@dataclass(slots=True)
class Outcome:
    """What became of a replay."""

    replayed: int = 0
    """Calls made."""
    skipped: list[tuple[int, str, str]] = field(default_factory=list)
    """(index, function, reason) of calls that could not be rebuilt."""
    divergence: Divergence | None = None
    """First difference, at which the replay stopped; None if there was none."""


class _CannotRebuild(Exception):
    """A recorded argument cannot be made again; the text says which and why."""


def replay(records: Iterable[Record], hal: HalApi) -> Outcome:
    """Make the recorded calls on `hal`, in order and from one thread, until a result differs.

    Questions about progress are asked again until the answer is the recorded one, so that a slower device is no
    difference.
    """
    outcome = Outcome()
    session = _Session(hal)
    for record in records:
        prototype = prototypes.prototype(record.name, hal.version)
        try:
            arguments = session.arguments(record, prototype)
        except _CannotRebuild as reason:
            outcome.skipped.append((record.index, record.name, str(reason)))
            continue
        session.write(record)
        for _ in range(_MOST_POLLS if record.name in _POLLS else 1):
            rc = getattr(hal, record.name)(*arguments)
            after = decode_arguments(prototype, tuple(arguments), written=True)
            seen_rc = rc.decode("latin-1") if isinstance(rc, bytes) else rc
            session.learn(record, after)
            hidden = _HIDDEN.get(record.name, ())
            outcome.divergence = _compare(record, seen_rc, session.expected(record), after, hidden)
            if outcome.divergence is None:
                break
        outcome.replayed += 1
        if outcome.divergence:
            break
    return outcome


def diff(
    first: Sequence[Record], second: Sequence[Record], ignore: Container[str] = QUEUE_ENTRY_POINTERS
) -> Divergence | None:
    """Return the first difference of two recordings: functions, arguments, results, payload.

    Times, process ids and addresses of host memory do not count. Addresses and ids that the HAL hands out may be
    others, if each use of one has the other in its place.

    `ignore` names arguments and fields that do not count: addresses of the two programs' own buffers.
    """
    session = _Session(None)
    for one, other in zip(first, second, strict=False):
        if one.name != other.name:
            return Divergence(one.index, one.name, "function", one.name, other.name)
        found = next(_differences(session.asked(one), other.before, "", ignore), None) or (
            None if session.same_payload(one.payload, other.payload) else ("payload", one.payload, other.payload)
        )
        if found:
            return Divergence(one.index, one.name, *found)
        if other.rc == one.rc:
            session.learn(one, other.after)
        found_after = _compare(one, other.rc, session.expected(one), other.after, ignore)
        if found_after:
            return found_after
    if len(first) != len(second):
        longer = max(first, second, key=len)
        record = longer[min(len(first), len(second))]
        return Divergence(record.index, record.name, "number of calls", len(first), len(second))
    return None


class _Session:
    """What this replay has learnt about addresses and ids, and the memory it lends to calls."""

    def __init__(self, hal: HalApi | None) -> None:
        """Begin with a backend to make calls on; None where two recordings are compared."""
        self._hal = hal
        self._ids: dict[tuple[str, int], int] = {}
        self._starts: list[int] = []
        self._blocks: dict[int, tuple[int, int]] = {}
        self._memory: dict[int, Any] = {}
        self._inputs: list[ctypes.Array[ctypes.c_char]] = []

    def arguments(self, record: Record, prototype: prototypes.Prototype) -> list[Any]:
        """Rebuild the arguments of a record; what they point to lives until those of the next one are asked for."""
        self._inputs.clear()
        return [
            self._argument(record, arg, record.before[arg.name]) for arg in prototype.args if arg.name in record.before
        ]

    def write(self, record: Record) -> None:
        """Write what the program had written into shared memory before this call."""
        for address, packed in record.memory:
            now = self._in_block(address)
            if now is not None:
                data = unpack_bytes(packed)
                ctypes.memmove(now, data, len(data))

    def learn(self, record: Record, after: Mapping[str, Any]) -> None:
        """Keep what the call handed out then and now."""
        if record.rc != 0:
            return
        if record.name in _BLOCKS:
            argument, size_argument = _BLOCKS[record.name]
            then, now = record.after.get(argument), after.get(argument)
            if isinstance(then, int) and isinstance(now, int) and then:
                size = record.after.get(size_argument, record.before.get(size_argument, 1)) if size_argument else 1
                self._keep(then, now, size)
        if record.name == "halHostRegister" and (lent := self._memory.get(record.before["src_ptr"])) is not None:
            self._keep(record.before["src_ptr"], ctypes.addressof(lent), record.before["size"])
        for name, then in record.after.items():
            now = after.get(name)
            if isinstance(then, dict) and isinstance(now, dict):
                for key in then.keys() & _IDS.keys() & now.keys():
                    self._ids[_IDS[key], then[key]] = now[key]

    def _keep(self, then: int, now: int, size: int) -> None:
        """Remember where a block of the recording is now."""
        self._starts = sorted({*self._starts, then})
        self._blocks[then] = (now, size)

    def expected(self, record: Record) -> dict[str, Any]:
        """Return the recorded results in terms of this run's addresses and ids."""
        return self._terms(record.name, record.after)

    def asked(self, record: Record) -> dict[str, Any]:
        """Return the recorded arguments in terms of this run's addresses and ids."""
        return self._terms(record.name, record.before)

    def _terms(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        made = {argument: self._translate(argument, value) for argument, value in values.items()}
        if name == _QUEUES_OF_A_STREAM and isinstance(made.get("in"), dict) and made["in"].get("info"):
            stream, *rest = made["in"]["info"]
            made["in"]["info"] = [self._ids.get(("resource", stream), stream), *rest]
        return made

    def same_payload(self, then: str, now: str) -> bool:
        """Whether two payloads (queue entries) differ in addresses and ids alone that were handed out."""
        if then == now:
            return True
        one, other = bytes.fromhex(then), bytes.fromhex(now)
        if len(one) != len(other) or len(one) % _ENTRY_BYTES:
            return False
        for position, (word, seen) in enumerate(zip(_words(one), _words(other), strict=True)):
            if word == seen or self._now(word) == seen:
                continue
            if position % (_ENTRY_BYTES // 8) or not self._same_header(word, seen):
                return False
        return True

    def _same_header(self, then: int, now: int) -> bool:
        """Whether the first word of an entry differs in the id of its stream alone."""
        pairs = ((then >> shift & 0xFFFF, now >> shift & 0xFFFF) for shift in range(0, 64, 16))
        return all(one == other or self._ids.get(("resource", one)) == other for one, other in pairs)

    def _argument(self, record: Record, arg: prototypes.Arg, value: Any) -> Any:
        if value is None:
            return None
        if value == "<callback>":
            raise _CannotRebuild(f"{arg.name} is a callback of the recorded program")
        if arg.ctype is ctypes.c_void_p:
            return self._untyped(record, arg.name, value)
        if not arg.text.endswith("*"):
            if isinstance(value, dict):
                packed = not value.keys().isdisjoint(_PACKED)
                return self._input(unpack_bytes(value)) if packed else self._struct(arg.ctype, value, record)
            sized = _HOST_BYTES.get(record.name, {})
            return self._address(record, arg.name, value) if arg.name in sized else self._translate(arg.name, value)
        target = arg.ctype._type_
        if isinstance(value, dict):
            return ctypes.byref(self._struct(target, value, record))
        if isinstance(value, list):
            return (target * len(value))(*(self._item(target, item, record, arg.name) for item in value))
        return ctypes.byref(target(self._translate(arg.name, value)))

    def _element(self, target: Any, value: Any, record: Record) -> Any:
        return self._struct(target, value, record) if isinstance(value, dict) else value

    def _item(self, target: Any, value: Any, record: Record, name: str) -> Any:
        """Return an element of an array that the caller passes; it may be an address."""
        if not isinstance(value, int):
            return self._element(target, value, record)
        now = self._now(value)
        if now == value and _on_host(value):
            raise _CannotRebuild(f"{name} names host memory, which is not recorded")
        return now

    def _untyped(self, record: Record, name: str, value: Any) -> Any:
        if isinstance(value, dict) and STRUCT_KEY in value:
            assert self._hal is not None  # arguments are rebuilt for calls
            fields = {key: item for key, item in value.items() if key != STRUCT_KEY}
            return ctypes.byref(self._struct(self._hal.structs.struct(value[STRUCT_KEY]), fields, record))
        if isinstance(value, dict):
            data = unpack_bytes(value)
            if record.name == "halTsdrvCtl" and record.payload:
                message = structs.tsdrv_ctrl_msg.from_buffer_copy(data)
                message.msg = self._input(bytes.fromhex(record.payload))
                return ctypes.byref(message)
            if any(map(_on_host, _words(data))):
                raise _CannotRebuild(f"{name} points to host memory, which is not recorded")
            now = struct.pack(f"<{len(data) // 8}Q", *map(self._now, _words(data[: len(data) // 8 * 8])))
            return ctypes.create_string_buffer(now + data[len(now) :], len(data))
        return self._address(record, name, value)

    def _input(self, data: bytes) -> int:
        """Return where the bytes lie now that this call is to read through an address passed as a number."""
        self._inputs.append(ctypes.create_string_buffer(data, len(data)))
        return ctypes.addressof(self._inputs[-1])

    def _address(self, record: Record, name: str, value: int) -> int:
        """Return the address now: in a known block, or host memory of the size the call states."""
        if value == 0:
            return 0
        known = self._in_block(value)
        if known is not None:
            return known
        size_argument = _HOST_BYTES.get(record.name, {}).get(name)
        size = record.before.get(size_argument) if size_argument else None
        if not isinstance(size, int):
            raise _CannotRebuild(f"{name} = {value:#x} is host memory, which is not recorded")
        return self._lend(value, size)

    def _lend(self, recorded: int, size: int, data: bytes = b"") -> int:
        buffer = self._memory.get(recorded)
        if buffer is None or ctypes.sizeof(buffer) < max(size, len(data)):
            size_bytes = max(size, len(data), 1)
            space = ctypes.create_string_buffer(size_bytes + _HOST_PAGE)
            offset = (recorded - ctypes.addressof(space)) % _HOST_PAGE  # what is registered begins on a page
            buffer = self._memory[recorded] = (ctypes.c_char * size_bytes).from_buffer(space, offset)
        if data:
            ctypes.memmove(buffer, data, len(data))
        return ctypes.addressof(buffer)

    def _struct(self, kind: Any, values: Mapping[str, Any], record: Record) -> Any:
        built = kind()
        for name, value in values.items():
            member = getattr(built, name)
            if isinstance(value, dict):
                setattr(built, name, self._struct(type(member), value, record))
            elif isinstance(value, list):
                for position, item in enumerate(value):
                    member[position] = self._element(type(member)._type_, item, record)
            elif isinstance(value, str):
                setattr(built, name, value.encode("latin-1"))
            elif name == "sqe_addr" and value:
                setattr(built, name, self._lend(value, 0, bytes.fromhex(record.payload)))
            elif name in SEGMENTS and record.payload:
                setattr(built, name, self._segment(record, SEGMENTS.index(name)))
            elif name == "cqe_addr" and value:
                setattr(built, name, self._lend(value, values["cqe_num"] * LOGIC_CQE_BYTES))
            else:
                setattr(built, name, self._translate(name, value))
        return built

    def _segment(self, record: Record, end: int) -> int:
        """Return where a description of the source's (0) or target's (1) segment lies, in this run's terms."""
        kind = structs.halTsegInfo
        segment = kind.from_buffer_copy(bytes.fromhex(record.payload), end * ctypes.sizeof(kind))
        segment.tseg_ptr = self._translate("tseg_ptr", segment.tseg_ptr)
        return self._input(bytes(segment))

    def _translate(self, name: str, value: Any) -> Any:
        """Return a recorded value in this run's terms: ids by the field's name, addresses by their block."""
        if isinstance(value, dict):
            return {key: self._translate(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._translate(name, item) for item in value]
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        if name in _IDS:
            return self._ids.get((_IDS[name], value), value)
        if name in QUEUE_ENTRY_POINTERS and value in self._memory:
            return ctypes.addressof(self._memory[value])
        known = self._in_block(value) if value >= _FIRST_ADDRESS else None
        return value if known is None else known

    def _now(self, word: int) -> int:
        """Return a word of untyped memory in this run's terms: addresses in known blocks are moved."""
        known = self._in_block(word) if word >= _FIRST_ADDRESS else None
        return word if known is None else known

    def _in_block(self, address: int) -> int | None:
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        start = self._starts[position]
        now, size = self._blocks[start]
        return now + address - start if address - start < size else None


def _compare(
    record: Record, rc: Any, expected: Mapping[str, Any], seen: Mapping[str, Any], ignore: Container[str] = ()
) -> Divergence | None:
    another = record.name == _PROCESS_ID and isinstance(rc, int) and min(rc, record.rc) > 0
    if rc != record.rc and not another:
        return Divergence(record.index, record.name, "rc", record.rc, rc)
    found = next(_differences(expected, seen, "", ignore), None)
    return Divergence(record.index, record.name, *found) if found else None


def _differences(first: Any, second: Any, path: str, ignore: Container[str]) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(first, dict) and isinstance(second, dict):
        for key in dict.fromkeys((*first, *second)):
            if key not in ignore:
                yield from _differences(first.get(key), second.get(key), f"{path}.{key}" if path else key, ignore)
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for position, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from _differences(one, other, f"{path}[{position}]", ignore)
    elif path.endswith(BYTES_KEY) and first and second and len(first) == len(second):
        words = zip(_words(bytes.fromhex(first)), _words(bytes.fromhex(second)), strict=True)
        if any(one != other and not (_on_host(one) and _on_host(other)) for one, other in words):
            yield path, first, second
    elif first != second and not (_on_host(first) and _on_host(second)) and path != _THREAD_ID:
        yield path, first, second


def _words(data: bytes) -> tuple[int, ...]:
    """Return 64-bit words, the last one filled up."""
    padded = data + bytes(-len(data) % 8)
    return struct.unpack(f"<{len(padded) // 8}Q", padded)


def _on_host(value: Any) -> bool:
    """Whether a value can only be an address of the process's own memory, which each run has elsewhere."""
    return isinstance(value, int) and value in HOST_ADDRESSES
