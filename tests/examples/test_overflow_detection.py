"""Arithmetic overflow: saturation mode, the switch of a stream, reading and clearing the flag."""

from __future__ import annotations

from runtime.capi.aclrt import Out
from tests.examples.conftest import CApi

SATURATION, INF_NAN = 0, 1


def test_overflow_detection(c: CApi) -> None:
    assert c("aclrtGetDeviceSatMode", mode=Out()) == INF_NAN
    c("aclrtSetDeviceSatMode", mode=SATURATION)
    assert c("aclrtGetDeviceSatMode", mode=Out()) == SATURATION
    stream = c("aclrtCreateStream", stream=Out())
    c("aclrtSetStreamOverflowSwitch", stream=stream, flag=1)
    assert c("aclrtGetStreamOverflowSwitch", stream=stream, flag=Out()) == 1
    flag = c("aclrtMalloc", devPtr=Out(), size=64, policy=0)
    for _ in ("before", "after"):
        c("aclrtGetOverflowStatus", outputAddr=flag, outputSize=64, stream=stream)
        c("aclrtSynchronizeStream", stream=stream)
        assert not any(c.acl.runtime.hal.fake.memory.read(flag, 64))
        c("aclrtResetOverflowStatus", stream=stream)
        c("aclrtSynchronizeStream", stream=stream)
    c("aclrtDestroyStream", stream=stream)
