"""Models and captured graphs: tasks that are recorded once and executed as often as wanted (core_spec 14, 17).

`model.model.Model` and `graph.Graph` hold their parts; the parts know them, and each other, by `ports` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if TYPE_CHECKING:
    from runtime.core.sync.open_captures import CaptureMode
    from runtime.feature.graph.editing.task_group import begin_group, begin_update, end_group, end_update
    from runtime.feature.graph.graph import Captured, Graph
    from runtime.feature.graph.model.model import Model
    from runtime.feature.graph.recording.builder import GraphBuilder, Step
    from runtime.feature.graph.recording.capture import begin, end, exchange_mode, status
    from runtime.feature.graph.recording.condition import Condition, ConditionKind, Handle
    from runtime.feature.graph.recording.group import TaskGroup
    from runtime.feature.graph.recording.node import Node, NodeKind
    from runtime.feature.graph.state import CaptureStatus, GraphState
else:
    __getattr__, __dir__ = late.names(__name__, {
        "runtime.core.sync.open_captures": "CaptureMode",
        "runtime.feature.graph.editing.task_group": "begin_group begin_update end_group end_update",
        "runtime.feature.graph.graph": "Captured Graph",
        "runtime.feature.graph.model.model": "Model",
        "runtime.feature.graph.recording.builder": "GraphBuilder Step",
        "runtime.feature.graph.recording.capture": "begin end exchange_mode status",
        "runtime.feature.graph.recording.condition": "Condition ConditionKind Handle",
        "runtime.feature.graph.recording.group": "TaskGroup",
        "runtime.feature.graph.recording.node": "Node NodeKind",
        "runtime.feature.graph.state": "CaptureStatus GraphState",
    })  # fmt: skip

__all__ = [
    "CaptureMode", "CaptureStatus", "Captured", "Condition", "ConditionKind", "Graph", "GraphBuilder",
    "GraphState", "Handle", "Model", "Node", "NodeKind", "Step", "TaskGroup", "begin", "begin_group",
    "begin_update", "end", "end_group", "end_update", "exchange_mode", "status",
]  # fmt: skip
