"""The function that launches a Triton kernel on one grid, written out for its signature.

Like `runtime.launch.unrolled`: a loop over parameters costs three times as much. Pointers go to the prepared launch as
they are, everything else is packed into whole slots by one `struct`, whose refusal is what checks scalars.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from chips.binary.producers.packing import POINTER, Member
from chips.binary.producers.triton import Arranged, KernelLayout, Metadata, Parameter
from chips.binary.producers.triton.layout import LOCKS, SYNC, WORKSPACE
from npuhal.records import dataclass, replace
from runtime import errors
from runtime.launch.args import SLOT_BYTES
from runtime.launch.block import HostBlock
from runtime.launch.copy.fill import queue_fill
from runtime.launch.options import PLAIN, LaunchOptions
from runtime.launch.producers.values import address_of, fits, misfit, pointer, same_element, unfit
from runtime.memory.array import DeviceArray
from runtime.memory.device import DeviceBuffer, PooledBuffer

if TYPE_CHECKING:
    from chips.binary.producers.triton import LockArea
    from runtime.core.stream.stream import Stream
    from runtime.launch.kernel import Kernel

_ELEMENTS: Final = (
    "fp16", "bf16", "fp32", "fp64", "i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "fp8e4nv", "fp8e5",
    "fp8e4b8", "fp8e5b16", "fp8e4b15",
)  # fmt: skip
_HALF: Final = 32
_WORD: Final = (1 << _HALF) - 1
_MOST_PREPARED: Final = 512


@dataclass(frozen=True, slots=True)
class Plan:
    """What all launches of a kernel have in common."""

    kernel: Kernel
    metadata: Metadata
    layout: KernelLayout
    strict: bool

    @property
    def device(self) -> Any:
        """The kernel's device."""
        return self.kernel.program.device

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments of a launch."""
        return self.layout.parameters

    def what(self, number: int) -> str:
        """Name a parameter in messages."""
        return f"kernel {self.metadata.kernel}: argument {number} ({self.parameters[number]})"

    def pointer(self, number: int, value: Any) -> Any:
        """Return what goes into the block for a pointer that is not plainly a buffer; see `values.pointer`."""
        element = self.parameters[number].element
        return pointer(self.what(number), value, self.device, element, strict=self.strict)

    def wrong_count(self, given: tuple[Any, ...]) -> errors.RuntimeFault:
        """Return the fault for another number of arguments."""
        listed = ", ".join(map(str, self.parameters)) or "none"
        return unfit(
            f"kernel {self.metadata.kernel}: the number of arguments", len(given),
            f"it takes {len(self.parameters)}: {listed}",
            "leave out constants, arguments that were 1, and None: the compiler has dropped them",
        )

    def wrong_scalar(self, given: tuple[Any, ...]) -> errors.RuntimeFault:
        """Return the fault for a row of arguments of which one scalar cannot be packed."""
        for number, (parameter, value) in enumerate(zip(self.parameters, given, strict=True)):
            code = parameter.packing.code
            if not parameter.is_pointer and not fits(code, value):
                return misfit(self.what(number), parameter.type, code, value)
        return unfit(f"kernel {self.metadata.kernel}: the arguments", given, "they cannot be packed", "check the types")


@dataclass(frozen=True, slots=True)
class _Slots:
    """A block as 8-byte slots: an expression for each, and what packs those that are no pointers."""

    words: tuple[str, ...]
    scalars: str
    """The format of the slots that hold other members, and what is packed into them."""
    packed: tuple[str, ...]


def _slots(layout: KernelLayout, hidden: dict[str, int]) -> _Slots:
    """Cut a block into slots: pointers by themselves, the others by the names of what they hold."""
    size = layout.block.size + -layout.block.size % SLOT_BYTES
    whole = {each.offset: each for each in layout.block.members if each.code == POINTER}
    words: list[str] = []
    formats: list[str] = []
    packed: list[str] = []
    for offset in range(0, size, SLOT_BYTES):
        if (member := whole.get(offset)) is not None and not _is_scalar(layout, member):
            words.append(_value(member, hidden))
            continue
        words.append(f"w{len(formats)}")
        inside = [each for each in layout.block.members if offset <= each.offset < offset + SLOT_BYTES]
        text, position = "", offset
        for each in inside:
            text += f"{each.offset - position}x{each.code}"
            position = each.offset + each.size
            packed.append(_value(each, hidden))
        formats.append(f"{text}{offset + SLOT_BYTES - position}x")
    return _Slots(tuple(words), "<" + "".join(formats), tuple(packed))


def _is_scalar(layout: KernelLayout, member: Member) -> bool:
    """Return whether a member with the code of addresses is a 64-bit number (u64)."""
    name = member.name
    return name.startswith("arg") and not layout.parameters[int(name[3:])].is_pointer


_LATE: Final = {LOCKS: "lock", WORKSPACE: "space", SYNC: "device.core_sync_address"}
"""Members that are looked up in each launch: another card may have taken the place of the one before."""


def _value(member: Member, hidden: dict[str, int]) -> str:
    if member.name in _LATE:
        return _LATE[member.name]
    return str(hidden[member.name]) if member.name in hidden else member.name.replace("arg", "a")


def grid_function(plan: Plan, arranged: Arranged, original: tuple[int, int, int]) -> Callable[..., None]:
    """Return `launch(*arguments, stream=None, options=None)` for a grid that has blocks.

    Args:
        original: the grid as the caller gave it.
    """
    layout, metadata, kernel = plan.layout, plan.metadata, plan.kernel
    slots = _slots(layout, layout.hidden(arranged.grid, original))
    names = [f"a{number}" for number in range(len(plan.parameters))]
    pointers = [number for number, each in enumerate(plan.parameters) if each.is_pointer]
    prepare = _preparation(plan, arranged.physical, len(slots.words))
    space_bytes = metadata.workspace_bytes * arranged.logical
    locks = metadata.locks.area(arranged.physical) if metadata.locks else None
    lines = ["def launch(*arguments, stream=None, options=None):"]
    lines += [
        "    try:",
        f"        [{', '.join(names)}] = arguments",
        "    except ValueError:",
        "        raise plan.wrong_count(arguments) from None",
    ]
    for number in pointers:
        name = f"a{number}"
        typed = f"kind is DeviceArray and {name}.element in elements{number}"
        plain = f"(kind := type({name})) is DeviceBuffer or kind is PooledBuffer or {typed}"
        lines.append(f"    if not ({plain}) or {name}.device is not device: {name} = pointer({number}, {name})")
    count = struct.calcsize(slots.scalars) // SLOT_BYTES
    if count:
        lines += [
            "    try:",
            f"        [{', '.join(f'w{number}' for number in range(count))}] = whole(pack({', '.join(slots.packed)}))",
            "    except failures:",
            "        raise plan.wrong_scalar(arguments) from None",
        ]
    lines += [
        "    if stream is None: stream = device.context.default_stream",
        "    if options is None:",
        "        try:",
        "            go = stream.launchers[key]",
        "        except (KeyError, AttributeError):",
        "            go = prepare(stream)",
        "    else:",
        "        go = prepare(stream, options)",
    ]
    call = f"go({', '.join(slots.words)})"
    if locks is None and not space_bytes:
        lines.append(f"    {call}")
    else:
        lines += [
            "    with scratch(stream) as (lock, space):",
            f"        {call}",
        ]
    scope: dict[str, Any] = {
        "DeviceArray": DeviceArray, "DeviceBuffer": DeviceBuffer, "PooledBuffer": PooledBuffer,
        "device": plan.device, "failures": _FAILURES,
        "key": (kernel, arranged.physical, len(slots.words), metadata.simt_bytes), "lock": 0, "space": 0,
        "pack": struct.Struct(slots.scalars).pack, "plan": plan, "pointer": plan.pointer, "prepare": prepare,
        "scratch": _scratch(plan.device, locks, space_bytes), "whole": struct.Struct(f"<{count}Q").unpack,
        **{f"elements{number}": _fitting(plan.parameters[number].element) for number in pointers},
    }
    exec(compile("\n".join(lines), "<runtime/launch/producers/triton_grid.py>", "exec"), scope)
    made: Callable[..., None] = scope["launch"]
    return made


_FAILURES: Final = (struct.error, OverflowError, TypeError)


def _fitting(element: str) -> frozenset[str]:
    return frozenset(each for each in _ELEMENTS if same_element(each, element))


def _preparation(plan: Plan, blocks: int, count: int) -> Callable[..., Callable[..., None]]:
    """Return `prepare(stream, options=None)`, which gives a launch of so many slots and keeps it where it is plain."""
    kernel, simt, size = plan.kernel, plan.metadata.simt_bytes, plan.layout.block.size
    own = LaunchOptions(dynamic_ub_bytes=simt) if simt else PLAIN
    key = (kernel, blocks, count, simt)
    by_slots = kernel.argument_count in (None, count) and not any(kernel.hidden_words()) and not size % SLOT_BYTES
    image = struct.Struct(f"<{count}Q")

    def made(stream: Stream, options: LaunchOptions) -> Callable[..., None]:
        kernel.check_stream(stream)
        if by_slots:
            return kernel.bind(stream, blocks, options, count=count)

        def launch(*words: Any) -> None:
            numbers = [address_of(each) for each in words]
            kernel.launch_block(stream, blocks, HostBlock(image.pack(*numbers)[:size]), options)

        return launch

    def prepare(stream: Stream, options: LaunchOptions | None = None) -> Callable[..., None]:
        if options is not None:
            chosen = options if options.dynamic_ub_bytes else replace(options, dynamic_ub_bytes=simt)
            return made(stream, chosen)
        go = made(stream, own)
        if len(stream.launchers) >= _MOST_PREPARED:
            stream.launchers.clear()
        stream.launchers[key] = go
        return go

    return prepare


class _Scratch:
    """Locks and workspace of one launch, from the stream's pool: given back in its order, by a graph when it ends."""

    __slots__ = ("device", "locks", "space_bytes", "stream", "taken")

    def __init__(self, device: Any, locks: LockArea | None, space_bytes: int, stream: Stream) -> None:
        self.device, self.locks, self.space_bytes, self.stream = device, locks, space_bytes, stream
        self.taken: list[DeviceBuffer] = []

    def __enter__(self) -> tuple[Any, Any]:
        try:
            return self._locks(), self._take(self.space_bytes)
        except BaseException:
            self.__exit__()
            raise

    def _take(self, size: int) -> Any:
        if not size:
            return 0
        buffer = self.device.pool.alloc(size, self.stream)
        self.taken.append(buffer)
        return buffer

    def _locks(self) -> Any:
        """Take the lock area and queue what makes it fresh: each launch changes it."""
        area = self.locks
        if area is None:
            return 0
        buffer, stream = self._take(area.size), self.stream
        low, high = area.fill & _WORD, area.fill >> _HALF
        queue_fill(stream, buffer.address, buffer.size, low, area.size, "locks of a Triton kernel", buffer)
        if low != high:
            for offset in range(4, area.size, SLOT_BYTES):
                stream.write_value(buffer.view(offset, 4), high, 4)  # type: ignore[attr-defined]
        for offset in area.marks:
            stream.write_value(buffer.view(offset, 8), area.mark)  # type: ignore[attr-defined]
        return buffer

    def __exit__(self, *_: object) -> None:
        for buffer in self.taken:
            buffer.close()


def _scratch(device: Any, locks: LockArea | None, space_bytes: int) -> Callable[[Stream], _Scratch]:
    return lambda stream: _Scratch(device, locks, space_bytes, stream)
