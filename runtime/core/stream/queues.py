"""The queues of a stream: messages to the task scheduler about them, opening (core_spec 5.2) and changes."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from chips.traits import CompletionKind
from npuhal import constants as c
from npuhal.records import replace
from runtime import errors
from runtime.core.device.recycling import take_or_recycle
from runtime.core.diagnostics import resource_report
from runtime.core.modes import SaturationMode, StreamFlag
from runtime.core.submission.senders import Senders
from runtime.driver import resources as id_kinds
from runtime.driver.queues import NO_ID, QueueOptions, QueuePair

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, DvppGroupPort, StreamPort


class Undo(ExitStack):
    """Steps that take back what a stream is made of, unless it is `done`: one assignment, before or behind Ctrl-C."""

    done = False

    def __exit__(self, kind: Any, *raised: Any) -> bool:
        if self.done:
            self.pop_all()
        try:
            return bool(super().__exit__(kind, *raised))
        except errors.RuntimeFault:
            if kind is None or issubclass(kind, errors.RuntimeFault):
                raise
            return False  # Ctrl-C it was: a queue that nobody was told of holds its id until the device is closed


def options_of(device: DevicePort, stream_id: int, priority: int, flags: StreamFlag, *, control: bool) -> QueueOptions:
    """Return the message to the task scheduler about a stream."""
    traits = device.chip.traits
    return QueueOptions(
        stream_id, priority, inf_nan=device.saturation is SaturationMode.INF_NAN,
        overflow=bool(flags & StreamFlag.OVERFLOW), software_queue=traits.software_queue_word,
        group_id=traits.default_queue_group,
        control=control and traits.control_queue_word, sq_lock=bool(flags & StreamFlag.SQ_LOCK),
        simt_stack=device.simt_stack,
    )


def open_queues(
    device: DevicePort, options: QueueOptions, depth: int, flags: int, group: DvppGroupPort | None, undo: ExitStack,
    keep: QueuePair | None = None,
) -> QueuePair:
    """Allocate SQ, CQ and logic CQ of a stream and bind them.

    Args:
        undo: takes the steps that give them back.
        keep: the queues whose ids the new ones must have.
    """
    chip, queues, stream_id = device.chip, device.queues, options.stream_id
    traits = chip.traits
    try:
        sq_id, cq_id = take_or_recycle(device, id_kinds.SQ, partial(
            queues.create, options, depth=depth, cqe_bytes=chip.limits.cqe_size,
            cq_depth=chip.limits.rtcq_depth or depth, extended=traits.extended_queue_info, flags=flags, keep=keep,
        ))
    except errors.ResourceExhausted as fault:
        resource_report.explain(device, id_kinds.SQ, fault, "create_stream")
        raise
    undo.callback(queues.freeing(sq_id, cq_id, reserve=keep is not None))
    ring_base = queues.ring_base(sq_id) if traits.maps_rings and not flags & c.TSDRV_FLAG_NO_SQ_MEM else 0
    if traits.completion is CompletionKind.REPORTS:
        logic_cq_id = NO_ID  # reports come in the CQ of the queues
    elif group is None:
        logic_cq_id = open_logic_cq(device, stream_id, undo, keep)
    else:
        logic_cq_id = group.logic_cq_id
        device.ids.bind_logic_cq(stream_id, logic_cq_id)
        undo.callback(device.ids.unbinding(stream_id))
    register_base = 0
    if traits.registers_at_creation:
        register_base = queues.register_base(sq_id)
        device.sq_registers.write(sq_id, register_base)
    return QueuePair(sq_id, cq_id, logic_cq_id, depth, register_base, ring_base)


def open_logic_cq(device: DevicePort, stream_id: int, undo: ExitStack, keep: QueuePair | None = None) -> int:
    """Make the logic CQ of a stream and bind it.

    Args:
        undo: takes the steps that give it back.
        keep: the queues whose ids the new one must have.
    """
    logic_cq_id = device.queues.create_logic_cq(stream_id, threading.get_ident(), keep=keep)
    undo.callback(device.queues.freeing_logic_cq(logic_cq_id, reserve=keep is not None))
    device.ids.bind_logic_cq(stream_id, logic_cq_id)
    undo.callback(device.ids.unbinding(stream_id))
    return logic_cq_id


def announce(stream: StreamPort) -> None:
    """Tell the scheduler about a stream whose queues were made, where that takes a command."""
    if stream.plugin.commands is not None:
        from runtime.core.stream import commands  # for such chips only

        commands.begin(stream)


def use(stream: StreamPort, pair: QueuePair) -> None:
    """Let a stream go on with other hardware queues: those that it is lent, or none."""
    queues = stream.device.queues
    senders, read_head = Senders(queues, pair), queues.head_reader(pair.sq_id, stream.ring)
    arrived = queues.report_asker(pair.sq_id)
    stream.change_environment(sq_id=pair.sq_id, sq_register_base=pair.register_base)
    # nothing from here on can be interrupted
    stream.senders, stream.read_head, stream.reports.arrived = senders, read_head, arrived
    stream.queues = pair


def restart(stream: StreamPort, register_base: int) -> None:
    """Let a stream use queues that were created again under the same ids; the ring keeps its positions."""
    pair = stream.queues
    ring_base = stream.device.queues.ring_base(pair.sq_id) if pair.ring_base else 0
    stream.queues = replace(pair, ring_base=ring_base, register_base=register_base)
    stream.senders.restart(ring_base)
    stream.senders.seek(stream.ring.tail)
    stream.change_environment(sq_register_base=register_base)
