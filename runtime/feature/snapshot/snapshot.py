"""The steps of a snapshot as one object per runtime: lock, back up, restore, unlock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chips.catalog import families_with
from runtime import errors
from runtime.core.process.process_lock import LOCK_LIMIT_S, ProcessState
from runtime.driver.snapshot import ProcessDriver
from runtime.feature.snapshot import backup, elsewhere, restore
from runtime.feature.snapshot.report import SnapshotReport, describe
from runtime.feature.snapshot.stages import Stage, StageCallbacks

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.core.process.runtime import Runtime
    from runtime.core.stream.stream import Stream
    from runtime.feature.snapshot.image import DeviceImage
    from runtime.memory.buffer import Buffer


class Snapshot:
    """Saves what a process has on its devices, and brings it back: on the same cards, or on others in their places.

    The order is `lock`, `backup`, `restore`, `unlock`; a second backup replaces the first. Functions can be called at
    each stage (`callbacks`).
    """

    __slots__ = ("_images", "_links", "_runtime", "callbacks", "names", "report")

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._images: tuple[DeviceImage, ...] = ()
        self._links: tuple[restore.Link, ...] = ()
        self.names: dict[str, Buffer] = {}
        """Buffers that another process shall find by these names, wherever its own ones lie; see `continue_from`."""
        self.callbacks = StageCallbacks()
        """Functions that are called at the stages, once for each open device."""
        self.report: SnapshotReport | None = None
        """What the last backup has saved."""

    @property
    def state(self) -> ProcessState:
        """Where the process stands."""
        return self._runtime.lock.state

    @property
    def images(self) -> tuple[DeviceImage, ...]:
        """What the last backup has saved of each device's memory."""
        return self._images

    def check_supported(self) -> None:
        """Raise where the chip has no snapshots.

        Raises:
            NotSupported 207000.
        """
        chip = self._runtime.machine.chip
        if not chip.has("DFX_PROCESS_SNAPSHOT"):
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{chip.soc} has no snapshots of processes",
                hint=f"snapshots exist on {', '.join(families_with('DFX_PROCESS_SNAPSHOT'))}",
            )

    def lock(self, timeout_s: float = LOCK_LIMIT_S) -> None:
        """Keep calls that create or send something out, until `unlock`.

        Args:
            timeout_s: how long the runtime's own threads may take to stop.

        Raises:
            NotSupported 207000: the chip has no snapshots.
            SnapshotError 507906: the process is not running. 507905: a thread did not stop in time; the process goes
                on. 507912: a callback failed; the process goes on.
        """
        self.check_supported()
        self._call(Stage.LOCK_PRE)
        self._runtime.lock.lock(timeout_s)
        for stream in self._streams():
            stream.blocked = True
            with stream.lock:
                pass  # whoever was sending is through; the next one sees that the stream is blocked

    def unlock(self) -> None:
        """Let everybody go on.

        Raises:
            SnapshotError 507907: the process is not locked. 507912: a callback failed; the process runs.
        """
        self.check_supported()
        self._runtime.lock.unlock()
        for stream in self._streams():
            stream.update_blocked()
        self._call(Stage.UNLOCK_POST)

    @contextmanager
    def locked(self, timeout_s: float = LOCK_LIMIT_S) -> Iterator[Snapshot]:
        """`with runtime.snapshot.locked():` - lock now, unlock at the end; see `lock`."""
        self.lock(timeout_s)
        try:
            yield self
        finally:
            self.unlock()

    def backup(self) -> SnapshotReport:
        """Wait for all work, save everything to the host, and say what that is.

        Raises:
            SnapshotError 507908: the process is not locked, or the host has no space. 507912: a callback failed.
            ContextError 107002: no device is set. CaptureError 107027: a stream is being captured.
            NotSupported 207000: something cannot be saved; the message names it.
        """
        self.check_supported()
        with self._step("RT_ERROR_SNAPSHOT_BACKUP_FAILED", "backup", ProcessState.LOCKED, ProcessState.BACKED_UP):
            self._call(Stage.BACKUP_PRE)
            devices = self._devices()
            backup.settle(devices)
            backup.check(devices)
            images = tuple(backup.save(device, self._named()) for device in devices)
            links = restore.links_of(devices)
            ProcessDriver(self._runtime.hal).backup()
            report = describe(devices, images)
            self._call(Stage.BACKUP_POST)
            self._images, self._links, self.report = images, links, report
        return report

    def restore(self) -> None:
        """Bring everything back on the cards that are there now; all objects stay valid.

        Raises:
            SnapshotError 507909: nothing was backed up since the lock or the last restore. 507912: a callback failed.
            NotSupported 207000: this driver cannot exchange cards.
            RuntimeFault: a step failed; the devices cannot be used, and another `restore` begins from the start.
        """
        self.check_supported()
        with self._step("RT_ERROR_SNAPSHOT_RESTORE_FAILED", "restore", ProcessState.BACKED_UP, ProcessState.LOCKED):
            self._call(Stage.RESTORE_PRE)
            devices = self._devices()
            try:
                restore.bring_back(devices, self._images, self._links)
            except BaseException as problem:
                for device in devices:
                    device.health.give_up(
                        f"a restore has failed half-way: {problem}", "restore again, or close the device by force"
                    )
                raise
            self._call(Stage.RESTORE_POST)

    def continue_from(self, images: Sequence[DeviceImage]) -> None:
        """Take over what another process has saved: the memory of its users, at the same addresses.

        That process is gone. This one has made the same objects by the same steps, with programs and graphs of its own;
        nothing of them changes but what is in their memory. Memory that both have given a name (`names`) may lie
        elsewhere here.

        Args:
            images: `snapshot.images` of the other process.

        Raises:
            SnapshotError 507909: the process is not locked; or blocks of the other one are not there, which the
                message names. Nothing has changed then.
        """
        self.check_supported()
        with self._step("RT_ERROR_SNAPSHOT_RESTORE_FAILED", "continue_from", ProcessState.LOCKED, ProcessState.LOCKED):
            devices = self._devices()
            backup.settle(devices)
            elsewhere.take_over(devices, images, self._named())

    def _named(self) -> dict[str, tuple[int, int]]:
        """Return address and bytes by name, of buffers that are open."""
        return {name: (one.address, one.size) for name, one in self.names.items() if not one.closed}

    @contextmanager
    def _step(self, code: str, call: str, needed: ProcessState, reached: ProcessState) -> Iterator[None]:
        lock = self._runtime.lock
        lock.begin(code, call, needed)
        try:
            yield
        except BaseException:
            lock.end()
            raise
        lock.end(reached)

    def _devices(self) -> list[Device]:
        return self._runtime.open_devices()

    def _streams(self) -> Iterator[Stream]:
        for device in self._devices():
            yield from backup.all_streams(device)

    def _call(self, stage: Stage) -> None:
        self.callbacks.call(stage, [device.user_id for device in self._devices()])
