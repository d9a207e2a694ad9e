"""What a snapshot holds, and what it does not: for people who wonder why something is not there after a restore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from npuhal.records import dataclass

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.feature.snapshot.image import DeviceImage


@dataclass(frozen=True, slots=True)
class SnapshotReport:
    """The result of a backup."""

    devices: tuple[int, ...]
    """User ids of the devices that were open."""
    memory_bytes: int
    memory_blocks: int
    ids: dict[str, int]
    """Ids by kind: STREAM, EVENT, NOTIFY, CNT_NOTIFY, MODEL."""
    models: int
    programs: int
    left_out: tuple[str, ...]
    """What will not be as it was after a restore, in words."""

    def __str__(self) -> str:
        ids = ", ".join(f"{count} {kind.lower()}" for kind, count in sorted(self.ids.items()))
        lines = [
            f"devices {', '.join(map(str, self.devices))}: {self.memory_bytes} bytes in {self.memory_blocks} blocks; "
            f"{ids} ids; {self.models} models, {self.programs} programs",
            *(f"not saved: {text}" for text in self.left_out),
        ]
        return "\n".join(lines)


def describe(devices: Sequence[Device], images: Sequence[DeviceImage]) -> SnapshotReport:
    """Count what was saved."""
    ids = Counter(kind for device in devices for kind, _ in device.resource_table.ids)
    contexts = [context for device in devices for context in device.contexts()]
    left_out = ["host memory: the process keeps it", "what other libraries hold on the device, communicators for one"]
    if scratch := sum(image.scratch for image in images):
        left_out.append(f"{scratch} bytes of core stacks, which hold nothing between kernels")
    if ids["NOTIFY"] or ids["CNT_NOTIFY"]:
        left_out.append("records of notifies that nobody has waited for yet: they begin at 0")
    return SnapshotReport(
        tuple(device.user_id for device in devices), sum(image.size for image in images),
        sum(len(image.blocks) for image in images), dict(ids), sum(len(context.all_models()) for context in contexts),
        sum(len(device.programs) for device in devices), tuple(left_out),
    )
