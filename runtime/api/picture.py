"""Devices and streams as notebooks show them: tables of memory and streams, and the ring of a stream."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from chips.show import table

if TYPE_CHECKING:
    from runtime.api.devices import Device
    from runtime.api.streams import Stream

_SHOWN = 32
"""Positions of a ring that are drawn: around its head and tail."""


def of_device(device: Device) -> str:
    """Return a device as HTML: what it is, its memory by owner, its streams."""
    if device.closed:
        return f"<b>{escape(repr(device))}</b>"
    rows = device.context.all_streams()
    streams = [(str(stream.stream_id), escape(stream.name), str(stream.ring.pending)) for stream in rows]
    memory = escape(str(device.memory_report()))
    return f"<b>{escape(repr(device))}</b><pre>{memory}</pre>{table(('stream', 'name', 'pending'), streams)}"


def of_stream(stream: Stream) -> str:
    """Return a stream as HTML: its state, and its ring with the tasks that are pending."""
    head = f"<b>{escape(repr(stream))}</b>"
    if stream.closed:
        return head
    ring = stream.ring
    cells = []
    for position in range(ring.reclaimed, ring.reclaimed + min(max(ring.pending + 2, 8), _SHOWN)):
        pending = position < ring.submitted
        owner = ring.owners[position % ring.depth] if pending else None
        name = escape(str(owner)) if owner is not None else ""
        cells.append(
            f'<td title="{name}" style="background:{"#fdd0a2" if pending else "#f0f0f0"};color:#000">'
            f"{position % ring.depth}</td>"
        )
    words = f"head {ring.reclaimed % ring.depth}, tail {ring.tail}, {ring.pending} of {ring.limit} positions pending"
    return f"{head}<table><tr>{''.join(cells)}</tr></table><p>{words}</p>"
