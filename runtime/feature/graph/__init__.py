"""Models and captured graphs: tasks that are recorded once and executed as often as wanted (core_spec 14, 17)."""

from runtime.core.capture_gate import CaptureMode
from runtime.feature.graph.capture import CaptureStatus, Graph, begin, end, exchange_mode, status
from runtime.feature.graph.model import Model

__all__ = ["CaptureMode", "CaptureStatus", "Graph", "Model", "begin", "end", "exchange_mode", "status"]
