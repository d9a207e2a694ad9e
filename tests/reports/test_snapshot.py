"""Situations that users have met who saved a process and brought it back: what is lost, and in which order it goes."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from tests.reports.calls import Caller

CHIPS = ("ascend910b1", "ascend910_9391", "ascend950pr_9599?args=dma")
_TO_DEVICE, _TO_HOST = 1, 2
_NOTHING_SAVED, _NO_RESTORE, _CALLBACK_FAILED = 507908, 507909, 507912


@pytest.fixture(params=CHIPS)
def caller(request: pytest.FixtureRequest) -> Any:
    process = Caller(f"fake://{request.param}")
    assert process.aclInit() == 0
    assert process.aclrtSetDevice(deviceId=0) == 0
    yield process
    process.acl.close()


def step(caller: Caller, name: str) -> int:
    """Make one step of a snapshot of this process."""
    code: int = getattr(caller, f"aclrtSnapShotProcess{name}")(pid=os.getpid())
    return code


def test_plain_device_memory_is_there_after_the_card_was_wiped(caller: Caller) -> None:
    """Routing tables that were no registered weights came back as zeros."""
    table = caller.make("aclrtMalloc", "devPtr", size=4096, policy=0)
    stream = caller.make("aclrtCreateStream", "stream")
    event = caller.make("aclrtCreateEventWithFlag", "event", flag=1)
    memory = caller.fake.memory
    memory.write(table, bytes(range(256)) * 16)
    for name in ("Lock", "Backup"):
        assert step(caller, name) == 0, caller.text
    caller.fake.device(0).exchange()
    assert memory.read(table, 4096) == bytes(4096)
    for name in ("Restore", "Unlock"):
        assert step(caller, name) == 0, caller.text
    assert memory.read(table, 4096) == bytes(range(256)) * 16
    assert caller.aclrtRecordEvent(event=event, stream=stream) == 0
    assert caller.aclrtSynchronizeStream(stream=stream) == 0
    assert caller.aclrtFree(devPtr=table) == 0


def test_a_call_of_another_thread_waits_until_the_process_is_unlocked(caller: Caller) -> None:
    answers: list[int] = []

    def work() -> None:
        answers.append(caller.acl.call("aclrtSetDevice", deviceId=0))

    assert step(caller, "Lock") == 0
    thread = threading.Thread(target=work)
    thread.start()
    assert step(caller, "Backup") == 0
    caller.fake.device(0).exchange()
    assert step(caller, "Restore") == 0
    assert answers == []
    assert step(caller, "Unlock") == 0
    thread.join(60)
    assert answers == [0]


def test_steps_in_the_wrong_order_are_refused_by_their_own_codes(caller: Caller) -> None:
    assert step(caller, "Backup") == _NOTHING_SAVED
    assert "the process is RUNNING; it must be LOCKED" in caller.text
    assert step(caller, "Lock") == 0
    assert step(caller, "Restore") == _NO_RESTORE
    assert [step(caller, name) for name in ("Backup", "Restore", "Restore")] == [0, 0, _NO_RESTORE]
    assert step(caller, "Unlock") == 0


def test_a_callback_that_fails_keeps_the_state_and_is_named(caller: Caller) -> None:
    def refuses(device: int, _: int) -> int:
        return 5 + device

    assert caller.aclrtSnapShotCallbackRegister(stage=1, callback=refuses) == 0
    assert step(caller, "Lock") == 0
    assert step(caller, "Backup") == _CALLBACK_FAILED
    assert "refuses" in caller.text
    assert "BACKUP_PRE failed for device 0: 5" in caller.text
    assert caller.aclrtSnapShotCallbackUnregister(stage=1, callback=refuses) == 0
    assert [step(caller, name) for name in ("Backup", "Unlock")] == [0, 0]


def test_the_report_says_what_was_saved_and_what_was_not(caller: Caller) -> None:
    caller.make("aclrtMalloc", "devPtr", size=1 << 20, policy=0)
    caller.make("aclrtCreateNotify", "notify", flag=0)
    assert [step(caller, name) for name in ("Lock", "Backup", "Unlock")] == [0, 0, 0]
    report = caller.acl.runtime.snapshot.report
    assert report is not None
    assert report.memory_bytes >= 1 << 20
    assert report.ids["NOTIFY"] >= 1
    text = str(report)
    assert "not saved: what other libraries hold on the device, communicators for one" in text
    assert "not saved: records of notifies that nobody has waited for yet" in text
