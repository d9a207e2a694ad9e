"""Going on in another process: what was saved is written into the memory that this process has for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from npuhal.records import replace
from runtime import errors
from runtime.feature.snapshot import image
from runtime.feature.snapshot.image import DeviceImage, SavedBlock

if TYPE_CHECKING:
    from runtime.core.device.device import Device

_SHOWN = 3


def take_over(devices: Sequence[Device], images: Sequence[DeviceImage], names: Mapping[str, tuple[int, int]]) -> None:
    """Write the memory of another process's users here; where that fails, everything is as it was.

    Args:
        names: address and bytes of what this process has given names.

    Raises:
        SnapshotError 507909: a device or a block is not here, or a name has another size.
    """
    open_here = {device.user_id: device for device in devices}
    work: list[tuple[Device, DeviceImage]] = []
    for saved in images:
        if saved.user_id not in open_here:
            raise _refused(f"device {saved.user_id}, which the other process had, is not open here", "set it first")
        device = open_here[saved.user_id]
        here = _by_name(saved, names)
        lost = image.missing(device, here)
        if lost:
            more = f", and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
            raise _refused(
                f"of {len(here.blocks)} blocks of device {saved.user_id}, {len(lost)} are not in this process: "
                f"{'; '.join(map(str, lost[:_SHOWN]))}{more}",
                "make the same objects in the same order first, or name the buffers in both (snapshot.names)",
            )
        work.append((device, here))
    before = [(device, image.take(device)) for device, _ in work]
    try:
        for device, here in work:
            image.put(device, here, users=True)
    except BaseException:
        for device, own in before:
            image.put(device, own, users=True)
        raise


def _by_name(saved: DeviceImage, names: Mapping[str, tuple[int, int]]) -> DeviceImage:
    """Return an image in which what has a name here as well lies where it is here, and nothing else of its block."""
    blocks = list(saved.blocks)
    moved: list[SavedBlock] = []
    for name, address, size in saved.names:
        if name not in names:
            continue
        where, size_here = names[name]
        if size_here != size:
            raise _refused(f"{name!r} has {size_here} bytes here, {size} in the other process", "make it as large")
        whole = next(block for block in saved.blocks if block.address <= address < block.address + block.size)
        moved.append(_cut(whole, address, size, where))
        if whole in blocks:
            blocks.remove(whole)
    return replace(saved, blocks=tuple(blocks), moved=tuple(moved))


def _cut(block: SavedBlock, address: int, size: int, where: int) -> SavedBlock:
    start, parts = address - block.address, []
    for offset, data in block.parts:
        low, high = max(offset, start), min(offset + len(data), start + size)
        if low < high:
            parts.append((low - start, data[low - offset : high - offset]))
    return SavedBlock(where, size, tuple(parts))


def _refused(what: str, hint: str) -> errors.RuntimeFault:
    return errors.fault("RT_ERROR_SNAPSHOT_RESTORE_FAILED", f"continue_from: {what}", hint=hint)
