"""What users met with threads, current contexts, and handles used under another device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import runtime
from runtime.capi.aclrt import Out
from runtime.core.process import lifetime
from tests.reports.calls import Caller, in_thread

_DEVICE_TO_DEVICE = 3


@pytest.fixture(params=["ascend910b1", "ascend950pr_9599"])
def api(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """An initialised process on a machine with two cards."""
    caller = Caller(f"fake://{request.param}?devices=2")
    assert caller.aclInit() == 0
    yield caller
    caller.acl.close()


def malloc(api: Caller) -> int:
    """Return the code of a small allocation."""
    return api.aclrtMalloc(devPtr=Out(), size=64, policy=0)


# -- threads -------------------------------------------------------------------------------------------------------


def test_a_new_thread_has_no_context_and_is_told_who_it_is_and_what_there_is(api: Caller) -> None:
    assert api.aclrtSetDevice(deviceId=0) == 0
    context = api.make("aclrtGetCurrentContext", "context")

    def worker() -> list[int]:
        codes = [api.aclrtGetDevice(deviceId=Out()), api.aclrtCreateStream(stream=Out()), malloc(api)]
        return [*codes, api.aclrtSetCurrentContext(context=context), malloc(api)]

    assert in_thread(worker) == [107002, 107002, 107002, 0, 0]

    def told() -> str:
        with pytest.raises(runtime.RuntimeFault) as caught:
            api.acl.runtime.current_context()
        return str(caught.value)

    text = in_thread(told, name="loader-3")
    for part in ("thread 'loader-3'", f"{context:#x} of device 0", "set_device(0)"):
        assert part in text


def test_threads_on_one_device_share_its_context_until_it_is_reset(api: Caller) -> None:
    assert api.aclrtSetDevice(deviceId=0) == 0
    context = api.make("aclrtGetCurrentContext", "context")

    def worker() -> tuple[int, int, int]:
        codes = api.aclrtSetDevice(deviceId=0), malloc(api)
        return (*codes, api.make("aclrtGetCurrentContext", "context"))

    assert in_thread(worker) == (0, 0, context)
    for _ in range(2):
        assert api.aclrtResetDevice(deviceId=0) == 0
    assert malloc(api) == 107002
    assert "no valid context" in api.text


def test_a_default_device_serves_threads_that_set_none(api: Caller) -> None:
    assert api.rtSetDefaultDeviceId(deviceId=1) == 0
    assert in_thread(lambda: (malloc(api), api.make("aclrtGetDevice", "deviceId"))) == (0, 1)


def test_a_pool_works_on_a_device_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "_the_one", None)
    started = runtime.start("fake://ascend910b1")

    def job() -> bool:
        with runtime.on_device(0) as device:
            return runtime.current_device() is device

    assert in_thread(job)
    assert started.slots[0].device is None
    runtime.shutdown()


# -- before any device is set --------------------------------------------------------------------------------------

NEED_A_CONTEXT = {
    "aclrtGetMemInfo": {"attr": 1, "free": Out(), "total": Out()}, "aclrtMalloc": {"devPtr": Out(), "size": 64},
    "aclrtCreateStream": {"stream": Out()}, "aclrtSynchronizeStream": {}, "aclrtSynchronizeDevice": {},
    "aclrtGetCurrentContext": {"context": Out()}, "aclrtGetDevice": {"deviceId": Out()},
    "aclrtStreamQuery": {"status": Out()}, "aclrtCtxGetCurrentDefaultStream": {"stream": Out()},
    "aclrtGetStreamAvailableNum": {"streamCount": Out()}, "aclrtCreateNotify": {"notify": Out()},
}  # fmt: skip
NEED_NONE = {
    "aclrtGetDeviceCount": {"count": Out()}, "aclrtGetVersion": dict.fromkeys(
        ("majorVersion", "minorVersion", "patchVersion"), Out()), "aclrtGetRunMode": {"runMode": Out()},
    "aclrtQueryDeviceStatus": {"deviceId": 0, "deviceStatus": Out()},
    "aclrtGetDeviceInfo": {"deviceId": 0, "attr": 101, "value": Out()},
}  # fmt: skip


@pytest.mark.parametrize("name", NEED_A_CONTEXT)
def test_calls_that_need_a_context_answer_with_a_code(api: Caller, name: str) -> None:
    assert getattr(api, name)(**NEED_A_CONTEXT[name]) == 107002
    assert api.aclrtSetDevice(deviceId=0) == 0
    assert getattr(api, name)(**NEED_A_CONTEXT[name]) == 0


@pytest.mark.parametrize("name", NEED_NONE)
def test_calls_that_need_none_open_no_device(api: Caller, name: str) -> None:
    assert getattr(api, name)(**NEED_NONE[name]) == 0
    assert api.acl.call("aclrtGetSocName").startswith("Ascend")
    assert not api.acl.runtime.opened


def test_memory_information_counts_once_a_device_is_set(api: Caller) -> None:
    free, total = Out(), Out()
    assert api.aclrtGetMemInfo(attr=1, free=free, total=total) == 107002
    assert api.aclrtSetDevice(deviceId=0) == 0
    assert api.aclrtGetMemInfo(attr=1, free=free, total=total) == 0
    assert 0 < free.value <= total.value


# -- another device's handles --------------------------------------------------------------------------------------


def test_a_stream_under_another_device_names_both_contexts_and_where_it_was_made(api: Caller) -> None:
    assert api.aclrtSetDevice(deviceId=0) == 0
    theirs = api.make("aclrtGetCurrentContext", "context")
    stream = api.make("aclrtCreateStream", "stream")
    assert api.aclrtSetDevice(deviceId=1) == 0
    ours = api.make("aclrtGetCurrentContext", "context")
    block = api.make("aclrtMalloc", "devPtr", size=128, policy=0)
    ends = {"dst": block, "destMax": 64, "src": block + 64, "count": 64, "kind": _DEVICE_TO_DEVICE}
    assert api.aclrtMemcpyAsync(**ends, stream=stream) == 107003
    assert api.aclrtDestroyStream(stream=stream) == 107003
    site = Path(__file__).parent / "calls.py"
    for part in (f"{theirs:#x} of device 0", f"{ours:#x} of device 1", f"made at {site}:"):
        assert part in api.text
    assert api.aclrtSynchronizeStream(stream=stream) == 0  # alive, and waited for from anywhere
    assert api.aclrtSetDevice(deviceId=0) == 0
    assert api.aclrtDestroyStream(stream=stream) == 0
    assert api.aclrtDestroyStream(stream=stream) == 107017


def test_a_stream_object_is_closed_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "_the_one", None)
    runtime.start("fake://ascend910b1?devices=2")
    stream = runtime.set_device(0).create_stream()
    runtime.set_device(1)
    stream.close()
    assert stream.closed
    runtime.shutdown()
