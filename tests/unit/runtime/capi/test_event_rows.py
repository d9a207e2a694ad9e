"""What calls of events and notifies refuse, row by row (core_spec 10.7), on both generations."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from runtime.capi.aclrt import Acl, Out
from tests.unit.runtime.capi.kernel_calls import SOCS, Caller, api, soc

__all__ = ["api", "soc"]

SYNC, MARK, DDSYNC, TIME_LINE, MC2, EXTERNAL, IPC = (1 << bit for bit in range(7))


def plain(api: Caller, flag: int = DDSYNC, code: int = 0, message: str = "") -> Any:
    return api.step("aclrtCreateEventWithFlag", code, message, event=Out(), flag=flag)


def renewed(api: Caller, flag: int = SYNC, code: int = 0, message: str = "") -> Any:
    return api.step("aclrtCreateEventExWithFlag", code, message, event=Out(), flag=flag)


@pytest.mark.parametrize(("flag", "message"), [
    (0, "EE1003"), (IPC, "EE1003"), (IPC | TIME_LINE, "EE1003"), (0x80, "EE1003"),
    (MC2 | SYNC, "EE1006"), (MC2 | TIME_LINE, "EE1006"), (EXTERNAL | SYNC, "EE1006"), (EXTERNAL | DDSYNC, "EE1006"),
])  # fmt: skip
def test_flags_that_a_plain_event_cannot_have(api: Caller, flag: int, message: str) -> None:
    plain(api, flag, 107000, message)


@pytest.mark.parametrize("flag", [0, 0x80, MC2, EXTERNAL, MC2 | SYNC, EXTERNAL | SYNC, IPC | SYNC])
def test_flags_that_an_event_with_new_ids_cannot_have(api: Caller, flag: int) -> None:
    code = api.acl.call("aclrtCreateEventExWithFlag", event=Out(), flag=flag)
    assert code == 107000
    assert api.acl.reports.message_ids() == ("EE1003" if flag in (0, 0x80, MC2, EXTERNAL) else "EE1006",)


def test_what_events_for_others_than_the_host_refuse(api: Caller) -> None:
    api.step("aclrtRecordEvent", 107000, "EE1006", event=plain(api, MC2), stream=api.stream)
    outside = plain(api, EXTERNAL)
    for query in ("aclrtQueryEvent", "aclrtQueryEventStatus"):
        assert api.acl.call(query, event=outside, status=Out()) == 207000
    renewed(api, IPC)


@pytest.mark.parametrize("call", ["aclrtQueryEvent", "aclrtQueryEventWaitStatus"])
def test_old_queries_refuse_events_with_new_ids(api: Caller, call: str) -> None:
    assert api.acl.call(call, event=renewed(api), status=Out()) == 207000


def test_events_with_new_ids_cannot_be_reset_and_a_progress_mark_not_be_waited_for(api: Caller) -> None:
    event, mark = renewed(api), renewed(api, MARK)
    for recorded in (False, True):
        if recorded:
            api.step("aclrtRecordEvent", 0, event=event, stream=api.stream)
        assert api.acl.call("aclrtResetEvent", event=event, stream=api.stream) == 207000
    api.step("aclrtRecordEvent", 0, event=mark, stream=api.stream)
    other = api.step("aclrtCreateStream", 0, stream=Out())
    assert api.acl.call("aclrtStreamWaitEvent", event=mark, stream=other) == 207000


@pytest.mark.parametrize(("flag", "code", "message"), [(1, 107029, "EE1016"), (2, 100000, "EH0007")])
def test_flags_of_a_record_and_a_wait(api: Caller, flag: int, code: int, message: str) -> None:
    event = renewed(api)
    api.step("aclrtRecordEventWithFlag", code, message, event=event, stream=api.stream, flag=flag)
    api.step("aclrtStreamWaitEventWithFlag", code, message, event=event, stream=api.stream, timeout=0, flag=flag)


def test_a_wait_needs_a_record_an_event_and_no_negative_limit(api: Caller, soc: str) -> None:
    v2 = "950" in SOCS[soc]
    api.step("aclrtStreamWaitEvent", 107000, "EE1001" if v2 else "EE1018", stream=api.stream, event=plain(api))
    api.step("aclrtStreamWaitEvent", 0, stream=api.stream, event=renewed(api))
    timed = {"stream": api.stream, "event": plain(api, SYNC)}
    api.step("aclrtStreamWaitEventWithTimeout", 107000, "EH0007", timeout=-1, **timed)
    api.step("aclrtStreamWaitEventWithTimeout", 107000, "EE1004", timeout=0, **{**timed, "event": None})


@pytest.mark.parametrize("make", [plain, renewed])
def test_a_destroyed_event_is_known_to_nobody(api: Caller, make: Any) -> None:
    event = make(api)
    api.step("aclrtDestroyEvent", 0, event=event)
    for call, more in {
        "aclrtDestroyEvent": {}, "aclrtQueryEventStatus": {"status": Out()}, "aclrtSynchronizeEvent": {},
        "aclrtRecordEvent": {"stream": api.stream}, "aclrtStreamWaitEvent": {"stream": api.stream},
    }.items():  # fmt: skip
        api.step(call, 107017, "EE1017", event=event, **more)


def test_time_between_events_that_were_not_recorded(api: Caller) -> None:
    first, second = plain(api, TIME_LINE), plain(api, TIME_LINE)
    assert api.acl.call("aclrtEventElapsedTime", ms=Out(), startEvent=first, endEvent=second) == 507000


@pytest.mark.parametrize("timeout", [0, -2])
def test_limits_of_an_event_synchronize_that_mean_nothing(api: Caller, timeout: int) -> None:
    code = api.acl.call("aclrtSynchronizeEventWithTimeout", event=plain(api, SYNC), timeout=timeout)
    assert code == 107000


@pytest.mark.parametrize("flag", [2, 3, 0x10])
def test_flags_that_a_notify_cannot_have(api: Caller, flag: int) -> None:
    api.step("aclrtCreateNotify", 107000, "EE1003", notify=Out(), flag=flag)


def test_a_notify_is_destroyed_only_by_a_thread_with_a_context(api: Caller) -> None:
    notify = api.step("aclrtCreateNotify", 0, notify=Out(), flag=0)
    answers: list[Any] = []

    def destroy() -> None:
        answers.append(api.acl.call("aclrtDestroyNotify", notify=notify))
        answers.append(api.acl.reports.message_ids())

    thread = threading.Thread(target=destroy)
    thread.start()
    thread.join()
    assert answers == [107002, ("EE1018",)]
    api.step("aclrtDestroyNotify", 0, notify=notify)


def test_counting_notifies_exist_on_the_second_generation(api: Caller, soc: str) -> None:
    if "950" in SOCS[soc]:
        api.step("aclrtCntNotifyCreate", 107000, "EE1003", cntNotify=Out(), flag=7)
        api.step("aclrtCntNotifyCreate", 0, cntNotify=Out(), flag=0)
    else:
        api.step("aclrtCntNotifyCreate", 207000, "EE1001", cntNotify=Out(), flag=0)


@pytest.mark.parametrize("machine", ["ascend910b3", "ascend950"])
@pytest.mark.parametrize("flag", [1, 2, 8, 12])
def test_an_event_is_recorded_in_a_stream_of_another_device_and_of_its_own_again(machine: str, flag: int) -> None:
    acl = Acl(f"fake://{machine}?devices=2")
    made: dict[str, int] = {}

    def call(name: str, **given: Any) -> Any:
        return acl.call(name, **given)

    def stream(device: int, name: str) -> None:
        out = Out()
        assert call("aclrtSetDevice", deviceId=device) == 0
        assert call("aclrtCreateStream", stream=out) == 0
        made[name] = out.value

    stream(1, "own")
    event = Out()
    assert call("aclrtCreateEventWithFlag", event=event, flag=flag) == 0
    stream(0, "other")
    for name, status in (("other", 507000), ("own", 0), ("other", 507000)):
        assert call("aclrtSetDevice", deviceId=int(name == "own")) == 0
        assert call("aclrtRecordEvent", event=event.value, stream=made[name]) == 0
        assert call("aclrtSynchronizeStream", stream=made[name]) == 0
        assert call("aclrtQueryEventStatus", event=event.value, status=Out()) == status
    assert call("aclrtDestroyEvent", event=event.value) == 0
    acl.close()


def test_a_host_function_on_null_is_made_by_the_thread_that_subscribed_to_the_default_stream() -> None:
    acl = Acl("fake://ascend910b3")
    calls: list[int] = []
    assert acl.call("aclrtSetDevice", deviceId=0) == 0
    assert acl.call("aclrtSubscribeReport", threadId=threading.get_ident(), stream=0) == 0
    assert acl.call("aclrtLaunchHostFunc", stream=0, fn=lambda data: calls.append(threading.get_ident()), args=0) == 0
    assert acl.call("aclrtProcessReport", timeout=5000) == 0
    assert acl.call("aclrtSynchronizeStream", stream=0) == 0
    assert calls == [threading.get_ident()]
    acl.close()
