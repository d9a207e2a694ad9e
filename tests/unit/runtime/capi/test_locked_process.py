"""What a process that is locked by a snapshot does not hold up: settings, host functions, overflow status."""

from __future__ import annotations

import threading

import pytest

from runtime.capi.aclrt import Acl, Out


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_settings_and_host_functions_go_on_in_a_locked_process(soc: str) -> None:
    acl, answers, ran = Acl(f"fake://{soc}"), [], threading.Event()
    stream, context, memory = Out(), Out(), Out()
    assert acl.call("aclInit") == acl.call("aclrtSetDevice", deviceId=0) == 0
    assert acl.call("aclrtCreateStream", stream=stream) == acl.call("aclrtGetCurrentContext", context=context) == 0
    assert acl.call("aclrtSnapShotProcessLock", pid=acl.runtime.pid) == 0

    def elsewhere() -> None:
        acl.call("aclrtSetCurrentContext", context=context.value)
        answers.append(acl.call("aclrtSetOpWaitTimeout", timeout=30))
        answers.append(acl.call("aclrtSetOpExecuteTimeOutWithMs", timeout=20))
        answers.append(acl.call("aclrtMallocWithCfg", devPtr=memory, size=64, policy=0))
        answers.append(acl.call("aclrtLaunchHostFunc", stream=stream.value, fn=lambda _: ran.set(), args=0))

    for run in (elsewhere, elsewhere):  # another thread, and the one that has locked
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(60)
    assert answers == [0] * 8
    elsewhere()
    assert answers == [0] * 12
    blocked = threading.Thread(target=acl.call, args=("aclrtCreateEvent",), kwargs={"event": Out()}, daemon=True)
    blocked.start()
    blocked.join(0.05)
    assert blocked.is_alive()
    assert acl.call("aclrtSnapShotProcessUnlock", pid=acl.runtime.pid) == 0
    blocked.join(60)
    assert not blocked.is_alive()
    assert ran.wait(60)
    acl.close()
