"""Time limits by name (core_spec 20; one call, one unit)."""

from __future__ import annotations

import math

from chips import credit
from chips.env import EncodeEnv
from runtime.capi.aclrt.checks import context, feature, null
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import U32, U64
from runtime.capi.aclrt.state import Acl

_US_PER_S, _US_PER_MS = 1_000_000, 1000
_MOST_MS = 1_000_000
"""Limits stated in milliseconds are cut to this (RT_MAX_OP_TIMEOUT_FOR_MS)."""
_NEVER_MS = (1 << 32) - 1


@entry(passes_snapshot=True)
def aclrtSetOpWaitTimeout(acl: Acl, timeout: U32) -> None:
    """Limit waits for events and notifies that state no limit: seconds, 0 for ever; old firmware has none (310P)."""
    if acl.runtime.machine.chip.prop("eventWaitTimeout") == "SET_OP_WAIT_TIMEOUT_NEED_TS_VERSION":
        acl.runtime.current_context()
    acl.runtime.timeouts.set_wait(timeout)


@entry(feature("!TASK_OP_EXE_TIMEOUT_CONFIG", message=""), passes_snapshot=True)
def aclrtSetOpExecuteTimeOut(acl: Acl, timeout: U32) -> None:
    """Limit operators: seconds, 0 for the longest that the hardware counts."""
    acl.runtime.timeouts.set_operator(timeout * _US_PER_S)


@entry(passes_snapshot=True)
def aclrtSetOpExecuteTimeOutWithMs(acl: Acl, timeout: U32) -> None:
    """Limit operators: milliseconds."""
    acl.runtime.timeouts.set_operator(min(timeout, _MOST_MS) * _US_PER_MS)


@entry(null("actualTimeout"), context(), passes_snapshot=True)
def aclrtSetOpExecuteTimeOutV2(acl: Acl, timeout: U64, actualTimeout: Out[U64]) -> None:
    """Limit operators: microseconds; gives what the hardware makes of it."""
    env = acl.runtime.current_context().device.env
    acl.runtime.timeouts.set_operator(timeout)
    limit = acl.runtime.timeouts.operator_us(env)
    actualTimeout.value = credit.NEVER_US if math.isinf(limit) else int(limit)


@entry(null("interval"), context())
def aclrtGetOpTimeOutInterval(acl: Acl, interval: Out[U64]) -> None:
    """Give the step in which the hardware counts, in microseconds."""
    device = acl.runtime.current_context().device
    interval.value = int(credit.interval_us(device.env))


@entry(null("timeoutMs"))
def aclrtGetOpExecuteTimeout(acl: Acl, timeoutMs: Out[U32]) -> None:
    """Give the limit of operators in milliseconds; needs no context."""
    devices = acl.runtime.open_devices()
    limit = acl.runtime.timeouts.operator_ms(devices[0].env if devices else EncodeEnv(chip=acl.runtime.machine.chip))
    timeoutMs.value = _NEVER_MS if math.isinf(limit) else int(limit)
