"""Snapshots of a process: its devices are saved to the host, and come back on the same cards or others (core_spec 16).

>>> import runtime
>>> with runtime.testing.machine("fake://Ascend910B1") as rt:                     # doctest: +SKIP
...     with rt.snapshot.locked():
...         rt.snapshot.backup()
...         rt.hal.fake.device(0).exchange()
...         rt.snapshot.restore()
"""

from runtime.core.process.process_lock import ProcessState
from runtime.feature.snapshot.image import DeviceImage
from runtime.feature.snapshot.report import SnapshotReport
from runtime.feature.snapshot.snapshot import Snapshot
from runtime.feature.snapshot.stages import Stage

__all__ = ["DeviceImage", "ProcessState", "Snapshot", "SnapshotReport", "Stage"]
