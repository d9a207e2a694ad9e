"""The kernel interface below the HAL, for looking only: requests by name and number, layouts, probes, strace lines.

Nothing here issues a request. The structs carry no version and the kernel does not check sizes, so a mismatch would
corrupt silently: everything that acts goes through libascend_hal.so.
"""

from __future__ import annotations

import ctypes
import errno as errno_names
import grp
import os
import pwd
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from npuhal import declarations
from npuhal.declarations import FIRST_VERSION, KERNEL_CHAPTERS
from npuhal.layouts import Layouts, layouts
from npuhal.tuples import NamedTuple

_DIRECTIONS: Mapping[str, int] = {"none": 0, "write": 1, "read": 2, "both": 3}


class Request(NamedTuple):
    """One ioctl request."""

    name: str
    """C name."""
    module: str
    """Module of /dev/davinci_manager that a file must be bound to; type letters repeat across modules."""
    letter: str
    """Type letter."""
    number: int
    """Number within the type."""
    direction: str
    """`none`, `write` (to the kernel), `read` or `both`, as encoded in the request."""
    argument: str
    """Struct the argument points to, or empty."""
    encoded: int = 0
    """Bytes that the request encodes where no struct has that size."""

    @property
    def size(self) -> int:
        """Size field of the request in bytes: the struct's, or 0 where the request encodes no direction."""
        if self.encoded:
            return self.encoded
        return ctypes.sizeof(struct(self.argument)) if self.direction != "none" and self.argument else 0

    @property
    def code(self) -> int:
        """The request word: number bits 0-7, type 8-15, size 16-29, direction 30-31 (asm-generic/ioctl.h)."""
        return _DIRECTIONS[self.direction] << 30 | self.size << 16 | ord(self.letter) << 8 | self.number


class Node(NamedTuple):
    """One device node and what it is for."""

    path: str
    """Path, with `N` for a device number."""
    purpose: str
    """What fails without it."""


NODES = (
    Node("/dev/davinci_manager", "every call of the HAL: the multiplexer of the driver's modules"),
    Node("/dev/davinciN", "the right to use device N; in a container also its mapping"),
    Node("/dev/hisi_hdc", "the host-device channel, over which device processes are started (PCIe; not with UB)"),
)
"""Nodes a process needs on an ordinary host."""


class NodeState(NamedTuple):
    """The state of one device node."""

    path: str
    """The path as users know it (without the root that stood for `/`)."""
    exists: bool
    """Whether there is anything at that path."""
    is_device: bool
    """Whether it is a character device."""
    mode: int
    """Permission bits."""
    owner: str
    """Owner's name, or the number if it has none."""
    group: str
    """Group's name, or the number if it has none."""
    in_group: bool
    """Whether this process is a member of that group, or root."""
    error: str
    """errno name of opening it to read and write (`EACCES`, `EPERM`, ...); empty if that worked or was not tried."""


def requests() -> Iterator[Request]:
    """Yield every known request."""
    for row in declarations.all_rows("requests", chapters=KERNEL_CHAPTERS):
        module, letter, direction, *argument = row.name.split()
        for name, number in declarations.parse_values(row.body).items():
            assert isinstance(number, int)
            told = argument[0] if argument else ""
            plain = told.isdigit()
            yield Request(name, module, letter, number, direction, "" if plain else told, int(told) if plain else 0)


def request(name: str) -> Request:
    """Return a request by its C name; KeyError if it is unknown."""
    return _by_name()[name]


def find(code: int, module: str | None = None) -> tuple[Request, ...]:
    """Return the requests a request word may be; naming the module the file is bound to leaves at most one.

    Type and number decide, as in the kernel, which ignores the size field.
    """
    letter, number = code >> 8 & 0xFF, code & 0xFF
    candidates = _by_number().get((chr(letter), number), ())
    return tuple(item for item in candidates if module in (None, item.module) or item.letter == "Z")


def struct(name: str) -> type[Any]:
    """Return the ctypes class of an argument struct, by tag; KeyError if it is unknown."""
    return _kernel_layouts().struct(name)


def probe_nodes(root: str = "/", try_open: bool = True) -> list[NodeState]:
    """Look at each node below `root`: one entry per davinciN that exists, and one for each other node.

    Opening (for reading and writing, closed at once, nothing requested) tells what permission bits do not: a container
    without the device answers EPERM. An unbound file may be closed without effect.
    """
    states = []
    for node in NODES:
        if node.path.endswith("N"):
            states += [_look(root, path, try_open) for path in _numbered(root, node.path[:-1])]
        else:
            states.append(_look(root, node.path, try_open))
    return states


class StraceCall(NamedTuple):
    """One ioctl in the output of strace, decoded."""

    descriptor: int
    """File descriptor."""
    code: int
    """The request word."""
    candidates: tuple[Request, ...]
    """What it may be; more than one when the file's module is not known."""
    result: int | None
    """What it returned, or None if the line does not say."""
    error: str
    """errno name, or empty."""
    meaning: str
    """HAL error code that the errno becomes, or empty."""

    @property
    def name(self) -> str:
        """The name, or the possible names, or the number."""
        return "/".join(item.name for item in self.candidates) or f"{self.code:#x}"


_IOC = re.compile(
    r"_IOC\((?P<dir>[\w|]+),\s*(?P<type>0x[0-9a-f]+|'.'),\s*(?P<nr>0x[0-9a-f]+|\d+),\s*(?P<size>0x[0-9a-f]+|\d+)\)"
)
_CALL = re.compile(
    r"\bioctl\((?P<fd>\d+)(?:<(?P<path>[^>]*)>)?,\s*(?P<request>_IO\w*\(.*?\)|0x[0-9a-f]+|\d+|[A-Z]\w*)"
    r"(?:.*?\)\s*=\s*(?P<result>-?\d+|0x[0-9a-f]+|\?)(?:\s+(?P<errno>E\w+))?)?"
)
_SHORT = re.compile(
    r"_IO(?P<dir>R|W|WR)?\((?P<type>0x[0-9a-f]+|'.'),\s*(?P<nr>0x[0-9a-f]+|\d+)(?:,\s*(?P<size>\w+))?\)"
)

_DRIVER_NODES = ("/dev/davinci", "/dev/hisi", "/dev/devmm", "/dev/event_sched", "/dev/svm", "/dev/ascend", "/dev/queue")
_PROCESS = re.compile(r"\s*(?:\[pid\s+(\d+)\]|(\d+)\s)")
_RESUMED = re.compile(
    r"<\.\.\.\s+ioctl resumed>.*?=\s*(?P<result>-?\d+|0x[0-9a-f]+|\?)(?:\s+(?P<errno>E\w+))?"
)
_REOPENED = re.compile(r"\bopen(?:at)?\(.*=\s*(\d+)|\bclose\((\d+)")

_TASK_SCHEDULER_ERRORS: Mapping[str, str] = {
    "EBUSY": "BUS_DOWN", "ENOSPC": "NO_RESOURCES", "EOPNOTSUPP": "NOT_SUPPORT", "ETIMEDOUT": "WAIT_TIMEOUT",
    "ESHUTDOWN": "STATUS_FAIL",
}  # fmt: skip
_COMMON_ERRORS: Mapping[str, str] = {
    "EPERM": "OPER_NOT_PERMITTED", "ENOENT": "FILE_OPS", "EEXIST": "FILE_OPS", "EAGAIN": "TRY_AGAIN",
    "ENOMEM": "OUT_OF_MEMORY", "EFAULT": "INVALID_HANDLE", "EBUSY": "BUSY", "ENODEV": "NO_DEVICE",
    "ENXIO": "NO_DEVICE", "EINVAL": "PARA_ERROR", "E2BIG": "OVER_LIMIT", "ENOSPC": "NO_RESOURCES",
    "EOPNOTSUPP": "NOT_SUPPORT", "ETIMEDOUT": "WAIT_TIMEOUT",
}  # fmt: skip


def translate_errno(error: str, module: str) -> str:
    """Return the HAL code that an errno of a module's ioctl becomes; the task scheduler driver has its own table."""
    table = _TASK_SCHEDULER_ERRORS if module == "TSDRV" else _COMMON_ERRORS
    return f"DRV_ERROR_{table.get(error, 'IOCRL_FAIL')}"


def decode_strace(line: str, module: str | None = None) -> StraceCall | None:
    """Decode one line of `strace -e trace=ioctl`; None if it is no ioctl on a driver's node.

    strace does not show which module a file was bound to (the name is behind a pointer); pass it if it is known, or
    read a whole file with `read_strace`, which concludes it from all requests of a file.
    Forms understood: `0xc02c5800`, `_IOC(_IOC_READ|_IOC_WRITE, 0x58, 0, 0x2c)` and `_IOWR('X', 0, ...)`.
    """
    match = _CALL.search(line)
    if match is None or (match["path"] and not match["path"].startswith(_DRIVER_NODES)):
        return None
    code = _request_word(match["request"])
    if code is None:
        return None
    candidates = find(code, module)
    if not candidates:
        return None
    result = match["result"]
    return _judged(
        StraceCall(
            descriptor=int(match["fd"]), code=code, candidates=candidates,
            result=int(result, 0) if result and result != "?" else None, error=match["errno"] or "", meaning="",
        )
    )  # fmt: skip


def _judged(call: StraceCall) -> StraceCall:
    """Say which HAL codes an errno becomes, of the candidates that are left."""
    meanings = {translate_errno(call.error, item.module) for item in call.candidates} if call.error else set()
    return call._replace(meaning="/".join(sorted(meanings)))


class StraceLine(NamedTuple):
    """One driver call of a traced program."""

    number: int
    """Line of the file on which it began, from 1."""
    process: int
    """Process or thread that made it; 0 where strace does not say."""
    call: StraceCall
    """What it was."""


def read_strace(lines: Iterable[str]) -> list[StraceLine]:
    """Decode an strace of a program (`strace -f`, also with `-y`, `-t`, `-T`).

    Calls that strace cut in two are joined, and a file that only one module can have been bound to has that one.
    """
    found: list[tuple[StraceLine, int]] = []
    begun: dict[int, int] = {}
    files: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        process = int(told[1] or told[2]) if (told := _PROCESS.match(line)) else 0
        resumed = _RESUMED.search(line)
        if resumed is not None:
            if (index := begun.pop(process, None)) is not None:
                found[index] = (_ended(found[index][0], resumed), found[index][1])
            continue
        for match in _REOPENED.finditer(line):
            descriptor = int(match[1] or match[2])
            files[descriptor] = files.get(descriptor, 0) + 1
        call = decode_strace(line)
        if call is not None:
            if "<unfinished" in line:
                begun[process] = len(found)
            found.append((StraceLine(number, process, call), files.get(call.descriptor, 0)))
    return _narrowed(found)


def _ended(row: StraceLine, resumed: re.Match[str]) -> StraceLine:
    result, error = resumed["result"], resumed["errno"] or ""
    call = row.call._replace(result=None if result == "?" else int(result, 0), error=error)
    return row._replace(call=_judged(call))


def _exact(call: StraceCall) -> StraceCall:
    same = tuple(item for item in call.candidates if item.code == call.code)
    return call._replace(candidates=same or call.candidates)


def _narrowed(found: list[tuple[StraceLine, int]]) -> list[StraceLine]:
    """Leave of each call what has its size and direction, and whose module can be that of all calls on the file."""
    modules: dict[tuple[int, int], set[str]] = {}
    found = [(row._replace(call=_exact(row.call)), file) for row, file in found]
    for row, file in found:
        own = {item.module for item in row.call.candidates if item.letter != "Z"}
        if own:
            key = (row.call.descriptor, file)
            modules[key] = modules.get(key, own) & own or own
    rows = []
    for row, file in found:
        possible = modules.get((row.call.descriptor, file), set())
        left = tuple(item for item in row.call.candidates if item.letter == "Z" or item.module in possible)
        rows.append(row._replace(call=_judged(row.call._replace(candidates=left or row.call.candidates))))
    return rows


def _request_word(text: str) -> int | None:
    if text[0].isdigit():
        return int(text, 0)
    long = _IOC.fullmatch(text)
    if long:
        direction = ("_IOC_WRITE" in long["dir"]) | ("_IOC_READ" in long["dir"]) << 1
        return direction << 30 | int(long["size"], 0) << 16 | _letter(long["type"]) << 8 | int(long["nr"], 0)
    short = _SHORT.fullmatch(text)
    if short:
        direction = {None: 0, "W": 1, "R": 2, "WR": 3}[short["dir"]]
        size = short["size"] or "0"
        size_bytes = int(size, 0) if size[0].isdigit() else 0
        return direction << 30 | size_bytes << 16 | _letter(short["type"]) << 8 | int(short["nr"], 0)
    return None


def _letter(text: str) -> int:
    return ord(text[1]) if text.startswith("'") else int(text, 0)


@cache
def _by_name() -> Mapping[str, Request]:
    return {item.name: item for item in requests()}


@cache
def _by_number() -> Mapping[tuple[str, int], tuple[Request, ...]]:
    found: dict[tuple[str, int], tuple[Request, ...]] = {}
    for item in requests():
        key = (item.letter, item.number)
        found[key] = (*found.get(key, ()), item)
    return found


@cache
def _kernel_layouts() -> Layouts:
    return Layouts(FIRST_VERSION, KERNEL_CHAPTERS, base=layouts())


def _numbered(root: str, prefix: str) -> list[str]:
    folder, start = os.path.split(prefix)
    try:
        names = os.listdir(os.path.join(root, folder.lstrip("/")))
    except OSError:
        return []
    numbers = sorted(
        int(name[len(start) :]) for name in names if name.startswith(start) and name[len(start) :].isdigit()
    )
    return [f"{prefix}{number}" for number in numbers]


def _look(root: str, path: str, try_open: bool) -> NodeState:
    file = os.path.join(root, path.lstrip("/"))
    try:
        status = os.stat(file)
    except OSError as problem:
        return NodeState(path, False, False, 0, "", "", False, errno_names.errorcode.get(problem.errno or 0, ""))
    return NodeState(
        path=path,
        exists=True,
        is_device=stat.S_ISCHR(status.st_mode),
        mode=stat.S_IMODE(status.st_mode),
        owner=_name(pwd.getpwuid, status.st_uid, "pw_name"),
        group=_name(grp.getgrgid, status.st_gid, "gr_name"),
        in_group=os.geteuid() == 0 or status.st_gid in (os.getegid(), *os.getgroups()),
        error=_open_error(file) if try_open else "",
    )


def _name(look_up: Any, number: int, attribute: str) -> str:
    try:
        return str(getattr(look_up(number), attribute))
    except KeyError:
        return str(number)


def _open_error(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as problem:
        return errno_names.errorcode.get(problem.errno or 0, str(problem.errno))
    os.close(descriptor)
    return ""
