"""Time limits by name (core_spec 20; one call, one unit)."""

from __future__ import annotations

from chips import credit
from chips.env import EncodeEnv
from runtime.api.aclrt.entry import Out, entry, need
from runtime.api.aclrt.state import Acl

_US_PER_S, _US_PER_MS = 1_000_000, 1000


@entry
def aclrtSetOpWaitTimeout(acl: Acl, timeout: int | None) -> None:
    """Limit waits for events and notifies that state no limit: seconds, 0 for ever."""
    acl.runtime.timeouts.set_wait(timeout or 0)


@entry
def aclrtSetOpExecuteTimeOut(acl: Acl, timeout: int | None) -> None:
    """Limit operators: seconds, 0 for the longest that the hardware counts."""
    acl.runtime.timeouts.set_operator((timeout or 0) * _US_PER_S)


@entry
def aclrtSetOpExecuteTimeOutWithMs(acl: Acl, timeout: int | None) -> None:
    """Limit operators: milliseconds."""
    acl.runtime.timeouts.set_operator((timeout or 0) * _US_PER_MS, in_ms=True)


@entry
def aclrtSetOpExecuteTimeOutV2(acl: Acl, timeout: int | None, actualTimeout: Out | None) -> None:
    """Limit operators: microseconds; gives what the hardware makes of it."""
    need("aclrtSetOpExecuteTimeOutV2", actualTimeout=actualTimeout)
    assert actualTimeout is not None
    env = acl.runtime.current_context().device.env
    acl.runtime.timeouts.set_operator(timeout or 0, in_ms=True)
    actualTimeout.value = int(acl.runtime.timeouts.operator_us(env))


@entry
def aclrtGetOpTimeOutInterval(acl: Acl, interval: Out | None) -> None:
    """Give the step in which the hardware counts, in microseconds."""
    need("aclrtGetOpTimeOutInterval", interval=interval)
    assert interval is not None
    device = acl.runtime.current_context().device
    interval.value = int(credit.interval_us(device.env))


@entry
def aclrtGetOpExecuteTimeout(acl: Acl, timeoutMs: Out | None) -> None:
    """Give the limit of operators in milliseconds; needs no context."""
    need("aclrtGetOpExecuteTimeout", timeoutMs=timeoutMs)
    assert timeoutMs is not None
    timeoutMs.value = acl.runtime.timeouts.operator_ms(EncodeEnv(chip=acl.runtime.machine.chip))
