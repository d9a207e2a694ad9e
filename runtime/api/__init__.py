"""What `import runtime` gives."""

from __future__ import annotations

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
from runtime.launch.producers.triton import TritonKernel
from runtime.launch.program import Program
from runtime.memory.array import DeviceArray
from runtime.memory.device import DeviceBuffer
from runtime.memory.host import HostBuffer

__all__ = [
    "start", "shutdown", "device", "device_count", "set_device", "reset_device", "on_device", "current_device",
    "Runtime", "Device", "Stream", "Event", "Notify", "Graph", "GraphBuilder", "CaptureMode",
    "DeviceBuffer", "DeviceArray", "HostBuffer", "Program", "Kernel", "TritonKernel",
    "LaunchOptions", "RuntimeFault", "annotate", "mark", "Channel", "MessageQueue", "RandomGenerator",
]  # fmt: skip
