"""Bringing back: the card is opened again and knows nothing, so that all set-up is sent again.

The order is that of the first time: memory, ids, queues, the task scheduler's settings, models. Objects of the process
stay what they are; they find their ids and addresses as they left them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.core.stream import queues
from runtime.driver.p2p import PeerDriver
from runtime.driver.snapshot import ProcessDriver
from runtime.feature.graph.execution.rings import software_sink
from runtime.feature.snapshot import image
from runtime.feature.snapshot.backup import all_streams, models

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.stream.stream import Stream
    from runtime.feature.graph.model.model import Model
    from runtime.feature.snapshot.image import DeviceImage


Link = tuple[int, int]
"""The driver's id of a device, and the physical id of one whose memory it may reach."""


def links_of(devices: Sequence[Device]) -> tuple[Link, ...]:
    """Return which device may reach whose memory now."""
    found = []
    for device in devices:
        driver = PeerDriver(device.hal, device.device_id)
        for other in device.runtime.visible.ids:
            if other != device.device_id:
                peer = device.runtime.ask(device.runtime.visible.ids.index(other)).physical_id()
                if driver.enabled(peer):
                    found.append((device.device_id, peer))
    return tuple(found)


def bring_back(devices: Sequence[Device], images: Sequence[DeviceImage], links: Sequence[Link] = ()) -> None:
    """Restore all devices of a process; where a step fails, it can be called again.

    Raises:
        NotSupported 207000: this driver cannot exchange cards.
        RuntimeFault: a step was refused, because somebody else has the card or its ids, for one.
    """
    for device in devices:
        device.driver.reopen()
    ProcessDriver(devices[0].hal).restore()
    for device_id, peer in links:
        driver = PeerDriver(devices[0].hal, device_id)
        if not driver.enabled(peer):
            driver.enable(peer)
    for device, saved in zip(devices, images, strict=True):
        image.put(device, saved)
        _take_again(device)
        device.scheduler.start_again()
        device.arguments.join_again()
        _bring_models_back(device)
        device.signals.set_again()
        for program in device.programs:
            program.send_again()


def _take_again(device: Device) -> None:
    """Take ids and queues under the numbers they had, and let streams go on with them."""
    device.ids.take_again()
    device.queues.create_again()
    device.ids.bind_again()
    device.runtime.callbacks.reopen(device)
    device.health.begin_anew()
    found = [model for context in device.contexts() for model in models(context)]
    for model in found:
        model.lose_queues()
    device.sq_pool.find_registers()
    for stream in all_streams(device):
        if stream.has_queue:
            _go_on(stream)


def _go_on(stream: Stream) -> None:
    """Let a stream send to its new queue, which is empty, or will be filled as the old one was."""
    device, pair = stream.device, stream.queues
    with stream.lock, stream.reports.lock:
        if not stream.keeps_tasks:
            stream.ring.reclaim(stream.ring.pending, device.release_arguments)
            stream.counts.look()
            stream.ring.restart()
            stream.counts.skip()
        stream.reports.give_up(stream.ring.reclaimed)
        stream.reports.expected.clear()
        stream.reports.halted = None
    base = device.queues.register_base(pair.sq_id) if pair.register_base else 0
    if base:
        device.sq_registers.write(pair.sq_id, base)
    queues.restart(stream, base)


def _bring_models_back(device: Device) -> None:
    found: list[Model] = [model for context in device.contexts() for model in models(context)]
    for model in found:
        model.bind_again()
    own = [
        stream.queues.sq_id for stream in all_streams(device)
        if stream.has_queue and stream.keeps_tasks and stream.ring.submitted and software_sink(stream) is None
    ]
    if own:
        device.queues.bring_entries_back(own)
    for model in found:
        model.load_again()
