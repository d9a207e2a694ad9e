"""Fusion launches: engines that work hand in hand are started by one task, all at once (core_spec 15).

Launched one by one, kernels that wait for each other may never all be running. The parts of a fused task are
co-scheduled, when all that they need is free, and they have one completion.
"""

from runtime.feature.fusion.launch import FusedArguments, launch, launch_missions, launch_with
from runtime.feature.fusion.parts import Core, Cpu, HcomCpu, Missions

__all__ = ["Core", "Cpu", "FusedArguments", "HcomCpu", "Missions", "launch", "launch_missions", "launch_with"]
