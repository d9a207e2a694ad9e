"""What the parts of models and graphs see of each other: no part imports the model that it belongs to.

`runtime.feature.graph.model.model.Model` and `runtime.feature.graph.graph.Graph` put the parts together, and stand
above all of them; below they know each other by what they ask.
"""

from runtime.feature.graph.ports.graphs import (
    Branch,
    CapturedEvent,
    ConditionalNode,
    Editing,
    Graph,
    GraphExecution,
    Recording,
    TaskGroup,
)
from runtime.feature.graph.ports.models import (
    Execution,
    FurtherStreams,
    Launcher,
    Model,
    QueueProgram,
    Streams,
    TaskRecorder,
)

__all__ = [
    "Branch",
    "CapturedEvent",
    "ConditionalNode",
    "Editing",
    "Execution",
    "FurtherStreams",
    "Graph",
    "GraphExecution",
    "Launcher",
    "Model",
    "QueueProgram",
    "Recording",
    "Streams",
    "TaskGroup",
    "TaskRecorder",
]
