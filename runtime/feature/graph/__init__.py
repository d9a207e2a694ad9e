"""Models and captured graphs: tasks that are recorded once and executed as often as wanted (core_spec 14, 17)."""

from runtime.core.sync.capture_gate import CaptureMode
from runtime.feature.graph.editing.task_group import TaskGroup, begin_group, begin_update, end_group, end_update
from runtime.feature.graph.execution.captured import Captured
from runtime.feature.graph.graph import Graph
from runtime.feature.graph.model.model import Model
from runtime.feature.graph.recording.builder import GraphBuilder, Step
from runtime.feature.graph.recording.capture import begin, end, exchange_mode, status
from runtime.feature.graph.recording.condition import Condition, ConditionKind, Handle
from runtime.feature.graph.recording.node import Node, NodeKind
from runtime.feature.graph.state import CaptureStatus, GraphState

__all__ = [
    "CaptureMode", "CaptureStatus", "Captured", "Condition", "ConditionKind", "Graph", "GraphBuilder",
    "GraphState", "Handle", "Model", "Node", "NodeKind", "Step", "TaskGroup", "begin", "begin_group",
    "begin_update", "end", "end_group", "end_update", "exchange_mode", "status",
]  # fmt: skip
