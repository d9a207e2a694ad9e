"""Launching parts as one task: arguments go along once, and every part finds them at the same address."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chips.tasks import FusionKernel, TaskType
from npuhal.records import dataclass, replace
from runtime import errors
from runtime.core.submission.ring import TaskInfo
from runtime.feature.fusion.parts import CALL, Core, Cpu, Missions, Part, check, check_supported
from runtime.launch.args import all_slots
from runtime.launch.argument_check import check_slots, note_short_block
from runtime.launch.block import HostBlock
from runtime.launch.slow_path import submit_described

if TYPE_CHECKING:
    from chips.tasks import Task
    from runtime.core.stream.stream import Stream

NO_FORMAT = 0xFFFF
"""Offset of the argument format where there is none."""


@dataclass(frozen=True, slots=True)
class FusedArguments:
    """Arguments that a caller has laid out.

    ``block`` is what they are on the host, or where they are on the device already (`address`, of `size` bytes). The
    names of the AICPU part's library and function may lie in them, by their offsets (`names`).
    """

    block: HostBlock | None = None
    address: int = 0
    size: int = 0
    names: tuple[int, int] | None = None
    format_offset: int = NO_FORMAT


def launch(stream: Stream, *parts: Part, arguments: Sequence[Any] = ()) -> None:
    """Launch parts as one task; all of them get the same arguments.

    Args:
        parts: AICPU or HCOM part and AI cores, missions and AI cores, or missions alone; in this order.
        arguments: as a kernel takes them: buffers, NumPy scalars, ints, or bytes of whole 8-byte slots.

    Raises:
        NotSupported 207000: the chip fuses nothing.
        InvalidArgument 107000: parts that do not go together (EE1006), more than two (EE1012), or one that is not as
            it must be.
    """
    words = all_slots(arguments, stream.device)
    for part in parts:
        if isinstance(part, Core):
            check_slots(part.kernel, len(words), arguments)
    launch_with(stream, parts, FusedArguments(HostBlock(struct.pack(f"<{len(words)}Q", *words))))


def launch_missions(stream: Stream, *missions: Any) -> None:
    """Launch missions alone, on both dies; they take no further arguments. Raises as `launch`."""
    launch_with(stream, (Missions(tuple(missions)),), FusedArguments())


def launch_with(stream: Stream, parts: Sequence[Part], arguments: FusedArguments) -> None:
    """Launch parts with arguments that are laid out; see `launch`."""
    check_supported(stream.device.chip)
    check(parts, stream.device.chip)
    stream.check_open()
    for part in parts:
        if isinstance(part, Core):
            part.kernel.check_stream(stream)
    label = TaskInfo(TaskType.FUSION_KERNEL, " + ".join(map(_called, parts)), _kernel_of(parts))
    if isinstance(parts[0], Missions) and len(parts) == 1:
        stream.submit(_task(stream, parts, arguments, 0), owner=label)
        return
    block = arguments.block
    for part in parts:
        if isinstance(part, Core):
            note_short_block(part.kernel, arguments.size if block is None else len(block.data))
    if block is None:
        if not arguments.address or not arguments.size:
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"{CALL}: args is NULL or empty", ee="EE1004", params=(CALL, "args"),
                hint="only missions alone take no arguments",
            )
        stream.submit(_task(stream, parts, arguments, arguments.address), owner=label)
        return
    checked = block.check(CALL) if block.data else HostBlock(bytes(8))
    sized = replace(arguments, size=len(checked.data))

    def describe(address: int) -> tuple[Task, bytes]:
        return _task(stream, parts, sized, address), checked.placed(address)

    submit_described(stream, len(checked.data), describe, label)


def _task(stream: Stream, parts: Sequence[Part], arguments: FusedArguments, address: int) -> FusionKernel:
    """Describe the task for arguments that lie at an address."""
    hcom = stream.env.hcom_cpu
    task = FusionKernel(
        sub_type=sum(part.bits(hcom=hcom) for part in parts), sqe_count=sum(part.entries for part in parts)
    )
    names = stream.device.names
    for part in parts:
        if isinstance(part, Cpu):
            if arguments.names is None:
                library, function = names.address_of(part.library), names.address_of(part.function)
            else:
                library, function = (address + offset for offset in arguments.names)
            made = part.described(library, function, address, arguments.format_offset)
            task = replace(task, aicpu=(*task.aicpu, made))
        elif isinstance(part, Missions):
            task = replace(task, ccu=tuple(replace(each, short=not part.long) for each in part.missions))
        else:
            task = replace(task, aic=part.described(address, arguments.size))
    return task


def _called(part: Part) -> str:
    if isinstance(part, Core):
        return f"kernel {part.kernel.name}"
    return f"{part.name} kernel {part.function}" if isinstance(part, Cpu) else f"{len(part.missions)} missions"


def _kernel_of(parts: Sequence[Part]) -> Any:
    return next((part.kernel for part in parts if isinstance(part, Core)), None)
