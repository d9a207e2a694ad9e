"""Snapshots beyond the contract: another process goes on, threads that do not stop, and what a report holds."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Runtime
from runtime.cli.sample import minimal_kernel
from runtime.core.process_lock import ProcessLock, ProcessState
from runtime.feature.snapshot import Stage
from tests.tools.processes import Line, processes, shared_name

_BYTES = 128
_STEPS = 5


class Work:
    """The same objects in every process that makes them: a buffer, and a kernel that changes it."""

    def __init__(self, url: str) -> None:
        self.runtime = Runtime(url)
        self.device = self.runtime.device(0)
        self.kernel = self.device.load(minimal_kernel("step", arguments=1)).only
        self.device.hal.fake.attach(self.kernel.code, self._step, grid=True)
        self.values = self.device.upload(np.arange(_BYTES // 8, dtype="i8"))
        self.stream = self.device.create_stream()

    @staticmethod
    def _step(context: Any) -> None:
        values = context.args.array(0, "i8", _BYTES // 8)
        values[:] = values * 3 + 1

    def run(self, steps: int) -> bytes:
        """Make steps and return what is in the buffer."""
        for _ in range(steps):
            self.kernel[1](self.values, stream=self.stream)
        self.stream.synchronize(2000)
        return bytes(self.device.download(self.values))


def save(_: Line, url: str) -> bytes:
    """Make some steps in a process of its own, and return what a snapshot holds then."""
    work = Work(url)
    work.run(2)
    with work.runtime.snapshot.locked() as snapshot:
        snapshot.backup()
        saved = pickle.dumps(snapshot.images)
    work.runtime.close()
    return saved


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950pr_9599"])
def test_a_new_process_on_the_same_card_goes_on(soc: str) -> None:
    url = f"fake://{soc}?seed=3&shared={shared_name('snapshot')}"
    alone = Work(f"fake://{soc}?seed=3")
    whole = alone.run(_STEPS)
    alone.runtime.close()
    with processes((save, url)) as (first,):
        saved = first.end()
    work = Work(url)
    with work.runtime.snapshot.locked() as snapshot:
        snapshot.continue_from(pickle.loads(saved))
    assert work.run(_STEPS - 2) == whole
    work.runtime.close()


def test_another_process_must_have_the_same_memory() -> None:
    first, second = Work("fake://ascend910b3?seed=3"), Work("fake://ascend910b3?seed=4")
    before = second.run(1)
    with first.runtime.snapshot.locked() as snapshot:
        snapshot.backup()
    second.runtime.snapshot.lock()
    with pytest.raises(errors.SnapshotError, match="the first of 1 blocks") as raised:
        second.runtime.snapshot.continue_from(first.runtime.snapshot.images)
    assert raised.value.code == 507909
    second.runtime.snapshot.unlock()
    assert second.device.download(second.values).tobytes() == before
    with pytest.raises(errors.SnapshotError, match="the process is RUNNING"):
        second.runtime.snapshot.continue_from(())
    for work in (first, second):
        work.runtime.close()


def test_a_lock_waits_for_the_runtimes_own_threads_and_gives_up() -> None:
    lock, inside, leave = ProcessLock(), threading.Event(), threading.Event()

    def work() -> None:
        with lock.round():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(10)
    with pytest.raises(errors.SnapshotError) as raised:
        lock.lock(0.01)
    assert (raised.value.code, lock.state) == (507905, ProcessState.RUNNING)
    leave.set()
    lock.lock(10)
    thread.join(10)
    again = threading.Thread(target=work)
    again.start()
    again.join(0.02)
    assert again.is_alive()
    lock.force()
    again.join(10)
    assert not again.is_alive()


def test_two_steps_at_once_follow_each_other() -> None:
    work = Work("fake://ascend910b3")
    snapshot, order = work.runtime.snapshot, []
    entered, leave = threading.Event(), threading.Event()

    def slow(_: int, __: object) -> None:
        order.append(threading.current_thread().name)
        entered.set()
        leave.wait(10)

    snapshot.callbacks.register(Stage.BACKUP_PRE, slow)
    snapshot.lock()
    first = threading.Thread(target=snapshot.backup, name="first")
    first.start()
    assert entered.wait(10)
    with pytest.raises(errors.SnapshotError) as raised:
        snapshot.unlock()
    assert raised.value.code == 507907
    restore = threading.Thread(target=snapshot.restore, name="restore")
    restore.start()
    restore.join(0.02)
    assert restore.is_alive()
    leave.set()
    first.join(10)
    restore.join(10)
    assert (order, snapshot.state) == (["first"], ProcessState.LOCKED)
    snapshot.unlock()
    work.runtime.close()


def test_chips_without_snapshots_say_so() -> None:
    runtime = Runtime("fake://ascend310b1")
    for call in (runtime.snapshot.lock, runtime.snapshot.unlock, runtime.snapshot.backup, runtime.snapshot.restore):
        with pytest.raises(errors.NotSupported, match="Ascend310B1 has no snapshots"):
            call()
    runtime.close()


def test_a_process_ends_while_it_is_locked() -> None:
    work = Work("fake://ascend910b3")
    waiting = threading.Thread(target=work.runtime.wait_unlocked)
    work.runtime.snapshot.lock()
    waiting.start()
    work.runtime.close(force=True)
    waiting.join(10)
    assert not waiting.is_alive()
