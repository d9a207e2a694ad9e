"""What streams of chips that take commands need besides: the scheduler is told of each by a command (core_spec 5.2)."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from chips.tasks import Maintenance, MaintenanceKind
from chips.traits import CompletionKind
from runtime.core.modes import StreamFlag

if TYPE_CHECKING:
    from chips.completion import Cqe
    from chips.env import EncodeEnv
    from runtime.core.ports import DevicePort, StreamPort


def environment(device: DevicePort, env: EncodeEnv, priority: int, logic_cq_id: int) -> EncodeEnv:
    """Return the environment of a stream with the facts that only commands tell.

    Where progress is told by reports, each command asks for one: the runtime then knows of each task when it is done.
    """
    commands = device.plugin.commands
    assert commands is not None  # the caller has looked
    reports = device.chip.traits.completion is CompletionKind.REPORTS
    return commands.environment(
        env, priority=priority, report=reports, logic_cq_id=0 if reports else logic_cq_id,
        physical_id=device.driver.info.physical_id(), thread_id=threading.get_native_id() & 0xFFFFFFFF,
    )


def begin(stream: StreamPort) -> None:
    """Tell the scheduler about a stream that was just made."""
    commands, device = stream.plugin.commands, stream.device
    assert commands is not None  # the caller has looked
    from runtime.driver.ipc import ShareDriver  # for these chips only

    task = commands.create_stream(ShareDriver(device.hal, device.device_id).bare_pid())
    first = stream.flags & StreamFlag.PRIMARY_FIRST_DEFAULT
    stream.submit(task, owner="stream creation", reported=partial(_note_version, stream) if first else None)


def _note_version(stream: StreamPort, cqe: Cqe | None) -> None:
    """The report about the first stream says which version the scheduler has."""
    commands = stream.plugin.commands
    if cqe is not None and commands is not None:
        stream.device.queues.scheduler_version = commands.version(cqe)


def stop_at_failures(stream: StreamPort) -> None:
    """Tell the scheduler to end a stream's tasks at the first that fails."""
    commands = stream.plugin.commands
    assert commands is not None  # the caller has looked
    stream.submit(commands.stream_mode(1), owner="stream mode")


def end(stream: StreamPort) -> None:
    """Tell the scheduler that a stream goes whose tasks are done."""
    task = Maintenance(kind=MaintenanceKind.STREAM_DESTROY, target_id=stream.stream_id)
    stream.submit(task, owner="end of the stream", sink=stream.own_sink)
