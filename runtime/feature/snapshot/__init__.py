"""Snapshots of a process: its devices are saved to the host, and come back on the same cards or others (core_spec 16).

>>> import runtime
>>> with runtime.testing.machine("fake://Ascend910B1") as rt:                     # doctest: +SKIP
...     with rt.snapshot.locked():
...         rt.snapshot.backup()
...         rt.hal.fake.device(0).exchange()
...         rt.snapshot.restore()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal import late

if TYPE_CHECKING:
    from runtime.core.process.process_lock import ProcessState
    from runtime.feature.snapshot.image import DeviceImage
    from runtime.feature.snapshot.report import SnapshotReport
    from runtime.feature.snapshot.snapshot import Snapshot
    from runtime.feature.snapshot.stages import Stage
else:
    __getattr__, __dir__ = late.names(__name__, {
        "runtime.core.process.process_lock": "ProcessState",
        "runtime.feature.snapshot.image": "DeviceImage",
        "runtime.feature.snapshot.report": "SnapshotReport",
        "runtime.feature.snapshot.snapshot": "Snapshot",
        "runtime.feature.snapshot.stages": "Stage",
    })  # fmt: skip

__all__ = ["DeviceImage", "ProcessState", "Snapshot", "SnapshotReport", "Stage"]
