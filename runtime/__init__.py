"""The runtime: devices, streams, events, memory, kernels.

>>> import numpy, runtime
>>> with runtime.device(0) as dev, dev.create_stream() as stream:
...     program = dev.load("add_kernel.o")
...     x, y = dev.upload(numpy.ones(1024, "f4")), dev.alloc(4096)
...     program.kernel("add")[8](x, x, y, 1024, stream=stream)
...     stream.synchronize()
...     result = dev.download(y, "f4")

Which machine it runs on is a URL in NPUHAL_URL, or the argument of `runtime.start`: the real driver by default,
`fake://ascend910b3` for the in-tree fake device.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from npuhal.release import __version__ as __version__
    from runtime.api import (
        CaptureMode,
        Channel,
        Device,
        DeviceArray,
        DeviceBuffer,
        Event,
        Graph,
        GraphBuilder,
        HostBuffer,
        Kernel,
        LaunchOptions,
        Library,
        LibraryKernel,
        MessageQueue,
        Notify,
        Operator,
        Program,
        RandomGenerator,
        Runtime,
        RuntimeFault,
        Stream,
        TensorList,
        TritonKernel,
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

__all__ = [
    "start", "shutdown", "device", "device_count", "set_device", "reset_device", "on_device", "current_device",
    "Runtime", "Device", "Stream", "Event", "Notify", "Graph", "GraphBuilder", "CaptureMode",
    "DeviceBuffer", "DeviceArray", "HostBuffer", "Program", "Kernel",
    "TritonKernel", "Operator", "TensorList", "Library", "LibraryKernel",
    "LaunchOptions", "RuntimeFault", "tracing", "annotate", "mark", "Channel", "MessageQueue", "RandomGenerator",
]  # fmt: skip

_HOMES = {"tracing": "runtime.trace"}
"""Where names come from that are not of the public surface proper; this package stands above all of its layers."""

_PARTS = ("api", "capi", "core", "driver", "errors", "feature", "launch", "memory", "trace")
"""Packages that can be reached as attributes, whether something has loaded them yet or not."""


def __getattr__(name: str) -> Any:
    """Load the public surface on first use, so that `import runtime.errors` stays cheap."""
    if name in __all__:
        try:
            value = getattr(importlib.import_module(_HOMES.get(name, "runtime.api")), name)
        except ImportError:
            importlib.import_module("npuhal.packages").check()  # is it because another `chips` is in the way?
            raise
        globals()[name] = value
        return value
    if name == "__version__":
        return importlib.import_module("npuhal.release").__version__
    if name in _PARTS:
        return importlib.import_module(f"runtime.{name}")
    raise AttributeError(f"module 'runtime' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public surface and the packages below; what this module itself uses is none of it."""
    return sorted({name for name in globals() if name.startswith("__")} | {*__all__, *_PARTS, "__version__"})
