"""Saving: who must not be in the way, what cannot be saved, and the order of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from chips.tasks import MemcpyAsync
from runtime import errors
from runtime.core.stream.stream import StreamFlag
from runtime.feature.snapshot import image

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.process.context import Context
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.model.model import Model
    from runtime.feature.snapshot.image import DeviceImage

_CALL = "backup"


def settle(devices: Sequence[Device]) -> None:
    """Wait, without limit, until no context has work under way.

    Raises:
        ContextError 107002: there is no context at all.
        CaptureError 107027: a stream is being captured.
    """
    contexts = [context for device in devices for context in device.contexts() if not context.closed]
    if not contexts:
        raise errors.fault(
            "RT_ERROR_CONTEXT_NULL", f"{_CALL}: this process has no context", ee="EE1001",
            params=("backup of the process without a context",), hint="set a device first",
        )
    for context in contexts:
        context.synchronize()


def check(devices: Sequence[Device]) -> None:
    """Refuse what cannot be brought back, and name it.

    Raises:
        NotSupported 207000: a model that the AICPU schedules, that is not complete, or that has copies prepared by the
            driver; memory or notifies that are shared with other processes.
    """
    if devices and (keys := devices[0].runtime.open_keys.open_ones()):
        raise _cannot(f"memory of another process is open here under {_all(keys)}", "close it before the backup")
    for device in devices:
        _check_memory(device)
        for context in device.contexts():
            for model in context.all_models():
                _check_model(model)
        for signal in device.signals.events:
            if getattr(signal, "shared", False):
                raise _cannot(f"{signal!r} is shared with another process", "close it before the backup")


def _check_memory(device: Device) -> None:
    if keys := sorted(device.resource_table.keys):
        raise _cannot(
            f"memory of device {device.user_id} is open to other processes under {_all(keys)}",
            "take the keys back before the backup",
        )
    for physical in device.resource_table.virtual.of(device.device_id):
        if physical.foreign or physical.exported:
            relation = "was imported from" if physical.foreign else "was exported to"
            raise _cannot(
                f"physical memory {physical.handle:#x} of device {device.user_id} {relation} other processes",
                "give the handle up, and unmap it, before the backup",
            )


def _all(keys: Sequence[bytes]) -> str:
    return ", ".join(key.decode("ascii", "replace") for key in keys)


def _check_model(model: Model) -> None:
    if any(stream.flags & StreamFlag.CPU_SCHEDULE for stream in model.streams):
        raise _cannot(f"{model!r} is scheduled by the AICPU", "close it before the backup")
    if not model.complete:
        raise _cannot(f"{model!r} is under construction", "load it, or close it, before the backup")
    for each in model.tree():
        for node in each.nodes:
            if isinstance(node.task, MemcpyAsync) and (node.task.ub is not None or node.task.dma_queue):
                raise _cannot(
                    f"{node!r} of {model!r} is a copy that the driver has prepared for this card",
                    "copy between host and device outside of graphs",
                )


def _cannot(what: str, hint: str) -> errors.RuntimeFault:
    return errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{_CALL}: {what}, which cannot be saved", hint=hint)


def keepers(device: Device) -> list[Stream]:
    """Return the streams whose own queues keep tasks: what is in them has to come back."""
    return [stream for stream in all_streams(device) if stream.has_queue and stream.keeps_tasks]


def all_streams(device: Device) -> list[Stream]:
    """Return all streams of a device, those of models and graphs included."""
    inner = (stream for context in device.contexts() for each in models(context) for stream in each.streams)
    return list(dict.fromkeys((*device.streams(), *inner)))


def models(context: Context) -> Iterator[Model]:
    """Yield the models of a context, and the graphs inside of them."""
    for model in context.all_models():
        yield from model.tree()


def save(device: Device, names: Mapping[str, tuple[int, int]]) -> DeviceImage:
    """Copy what one device has to the host; `names` as in `image.take`.

    Raises:
        SnapshotError 507908: the host has no space for it.
    """
    for follower in list(device.resource_table.followers):
        follower.clear()
    own = [stream.queues.sq_id for stream in keepers(device) if stream.ring.submitted and not _lent(stream)]
    if own:
        device.queues.keep_entries(own)
    try:
        return image.take(device, names)
    except MemoryError as full:
        raise errors.fault(
            "RT_ERROR_SNAPSHOT_BACKUP_FAILED", f"{_CALL}: the host has no space for what device {device.user_id} holds",
            hint="free device memory that is not needed after the restore, or pooled memory that is not used",
        ) from full


def _lent(stream: Stream) -> bool:
    """Whether the queue takes its entries from device memory, which is saved anyway."""
    from runtime.feature.graph.execution.rings import software_sink

    return software_sink(stream) is not None
