"""Time limits by name (core_spec 20; one call, one unit)."""

from __future__ import annotations

import math

from chips import credit
from chips.env import EncodeEnv
from runtime.capi.aclrt.entry import Out, entry, need
from runtime.capi.aclrt.state import Acl

_US_PER_S, _US_PER_MS = 1_000_000, 1000
_MOST_MS = 1_000_000
"""Limits stated in milliseconds are cut to this (RT_MAX_OP_TIMEOUT_FOR_MS)."""
_NEVER_MS = (1 << 32) - 1


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
    acl.runtime.timeouts.set_operator(min(timeout or 0, _MOST_MS) * _US_PER_MS)


@entry
def aclrtSetOpExecuteTimeOutV2(acl: Acl, timeout: int | None, actualTimeout: Out | None) -> None:
    """Limit operators: microseconds; gives what the hardware makes of it."""
    need("aclrtSetOpExecuteTimeOutV2", actualTimeout=actualTimeout)
    assert actualTimeout is not None
    env = acl.runtime.current_context().device.env
    acl.runtime.timeouts.set_operator(timeout or 0)
    limit = acl.runtime.timeouts.operator_us(env)
    actualTimeout.value = credit.NEVER_US if math.isinf(limit) else int(limit)


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
    devices = acl.runtime.open_devices()
    limit = acl.runtime.timeouts.operator_ms(devices[0].env if devices else EncodeEnv(chip=acl.runtime.machine.chip))
    timeoutMs.value = _NEVER_MS if math.isinf(limit) else int(limit)
