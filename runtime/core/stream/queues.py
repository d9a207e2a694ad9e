"""The queues of a stream: what the task scheduler is told of them, and how they are opened (core_spec 5.2)."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from npuhal import constants as c
from runtime import errors
from runtime.core.diagnostics import resource_report
from runtime.core.modes import SaturationMode, StreamFlag
from runtime.driver import resources as id_kinds
from runtime.driver.queues import QueueOptions, QueuePair

if TYPE_CHECKING:
    from runtime.core.ports import DevicePort, DvppGroupPort


def options_of(device: DevicePort, stream_id: int, priority: int, flags: StreamFlag, *, control: bool) -> QueueOptions:
    """Return what the task scheduler is told of a stream."""
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
        sq_id, cq_id = queues.create(
            options, depth=depth, cqe_bytes=chip.limits.cqe_size, cq_depth=chip.limits.rtcq_depth or depth,
            extended=traits.extended_queue_info, flags=flags, keep=keep,
        )
    except errors.ResourceExhausted as fault:
        resource_report.explain(device, id_kinds.SQ, fault, "create_stream")
        raise
    undo.callback(queues.free, sq_id, cq_id)
    ring_base = queues.ring_base(sq_id) if traits.maps_rings and not flags & c.TSDRV_FLAG_NO_SQ_MEM else 0
    if group is None:
        logic_cq_id = open_logic_cq(device, stream_id, undo, keep)
    else:
        logic_cq_id = group.logic_cq_id
        device.ids.bind_logic_cq(stream_id, logic_cq_id)
        undo.callback(device.ids.unbind_logic_cq, stream_id)
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
    undo.callback(device.queues.free_logic_cq, logic_cq_id)
    device.ids.bind_logic_cq(stream_id, logic_cq_id)
    undo.callback(device.ids.unbind_logic_cq, stream_id)
    return logic_cq_id
