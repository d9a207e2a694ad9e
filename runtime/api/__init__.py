"""What `import runtime` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if TYPE_CHECKING:
    from runtime.api.devices import Device
    from runtime.api.generator import RandomGenerator
    from runtime.api.process import (
        Runtime,
        annotate,
        current_device,
        device,
        device_count,
        mark,
        on_device,
        reset_device,
        set_device,
        shutdown,
        start,
    )
    from runtime.api.streams import Stream
    from runtime.core.sync.event import Event
    from runtime.core.sync.notify import Notify
    from runtime.errors import RuntimeFault
    from runtime.feature.graph import CaptureMode, Graph, GraphBuilder
    from runtime.feature.messages import Channel, MessageQueue
    from runtime.launch.kernel import Kernel
    from runtime.launch.options import LaunchOptions
    from runtime.launch.producers.library import Library, LibraryKernel
    from runtime.launch.producers.operator import Operator, TensorList
    from runtime.launch.producers.triton import TritonKernel
    from runtime.launch.program import Program
    from runtime.memory.array import DeviceArray
    from runtime.memory.device import DeviceBuffer
    from runtime.memory.host import HostBuffer
else:
    __getattr__, __dir__ = late.names(__name__, {
        "runtime.api.devices": "Device",
        "runtime.api.generator": "RandomGenerator",
        "runtime.api.process": (
            "Runtime annotate current_device device device_count mark on_device reset_device set_device "
            "shutdown start"
        ),
        "runtime.api.streams": "Stream",
        "runtime.core.sync.event": "Event",
        "runtime.core.sync.notify": "Notify",
        "runtime.errors": "RuntimeFault",
        "runtime.feature.graph": "CaptureMode Graph GraphBuilder",
        "runtime.feature.messages": "Channel MessageQueue",
        "runtime.launch.kernel": "Kernel",
        "runtime.launch.options": "LaunchOptions",
        "runtime.launch.producers.library": "Library LibraryKernel",
        "runtime.launch.producers.operator": "Operator TensorList",
        "runtime.launch.producers.triton": "TritonKernel",
        "runtime.launch.program": "Program",
        "runtime.memory.array": "DeviceArray",
        "runtime.memory.device": "DeviceBuffer",
        "runtime.memory.host": "HostBuffer",
    })  # fmt: skip

__all__ = [
    "start", "shutdown", "device", "device_count", "set_device", "reset_device", "on_device", "current_device",
    "Runtime", "Device", "Stream", "Event", "Notify", "Graph", "GraphBuilder", "CaptureMode",
    "DeviceBuffer", "DeviceArray", "HostBuffer", "Program", "Kernel",
    "TritonKernel", "Operator", "TensorList", "Library", "LibraryKernel",
    "LaunchOptions", "RuntimeFault", "annotate", "mark", "Channel", "MessageQueue", "RandomGenerator",
]  # fmt: skip
