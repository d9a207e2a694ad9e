"""What the parts of core see of each other: sinks, signals, tracers and helpers receive these.

`Stream`, `Context`, `Device` and `Runtime` put the parts together and stand above all of them; below, the parts know
each other by what they ask. Annotations alone need this package: no part imports it when it runs.
"""

from runtime.core.ports.devices import CounterPort, DevicePort, DvppGroupPort, SignalsPort
from runtime.core.ports.events import EventInGraph, EventPort, SignalPort
from runtime.core.ports.process import ContextPort, RuntimePort, TimeoutsPort
from runtime.core.ports.sinks import BoundModel, CaptureBranch, Closable, TaskSink
from runtime.core.ports.streams import StreamLock, StreamPort
from runtime.core.ports.tracer import Tracer

__all__ = [
    "BoundModel", "CaptureBranch", "Closable", "ContextPort", "CounterPort", "DevicePort", "DvppGroupPort",
    "EventInGraph", "EventPort", "RuntimePort", "SignalPort", "SignalsPort", "StreamLock", "StreamPort", "TaskSink",
    "TimeoutsPort", "Tracer",
]  # fmt: skip
