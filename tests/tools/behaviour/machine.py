"""The fake machine of a scenario: how its knobs become a URL, and the control steps."""

from __future__ import annotations

from typing import Any

from fakes.faults import Effect
from npuhal import constants as c
from npuhal.records import replace
from runtime.api.process import Runtime
from runtime.capi.aclrt import Acl
from tests.tools.behaviour.values import Values

SOCS = {"910B1": "ascend910b1", "910_9391": "ascend910_9391", "950": "ascend950pr_9599"}
_DEFAULTS = {"streams": 2048, "events": 65536, "notifys": 8192, "models": 2048, "sqs": 4096, "hbm": 64 << 30}
_OPTIONS = {
    "devices": "devices", "streams_limit": "streams", "events_limit": "events", "notify_limit": "notifys",
    "cb_groups": "callback_groups", "ts_version": "ts_version", "models_limit": "models", "sq_limit": "sqs",
    "hbm_bytes": "hbm", "hal_features": "features",
}  # fmt: skip
_FEATURES = 0x954
"""What the recording machine's driver has, by bit of halSupportFeature."""
_IGNORED = {"env", "exit", "errmsg", "trace"}
"""Knobs that are about the recording process, not the machine."""


def opened(scenario: dict[str, Any], url: str | None) -> Runtime:
    """Open the machine of a scenario; random programs were recorded on the fake, the others on a driver of their own.
    """
    runtime = Runtime(url)
    if scenario["group"] != "fuzz":
        machine = runtime.hal.fake
        machine.driver = replace(machine.driver, unknown_memory=c.DRV_ERROR_INVALID_VALUE)
    return runtime


class Unsupported(Exception):
    """A knob that the fake does not have."""


def url_of(scenario: dict[str, Any], tier: str) -> str:
    """Return the URL of the machine a scenario was recorded on."""
    options: dict[str, Any] = {"kernels": "noop", "seed": 1}
    if devices := scenario["setup"].get("devices", 1):
        options["physical"] = ",".join(map(str, range(devices)))  # the recording machine had no ids of its own
    if scenario["chip"] == "950":
        options["notifys"] = 65536
    if scenario["group"] != "fuzz":  # random programs were recorded on the fake itself
        options["features"] = _FEATURES
    for knob, value in scenario["setup"].items():
        if knob == "ts_capability":
            options[knob] = value or "none"
        elif knob == "hal_notsupp":
            options["fault"] = f"{value}:1%2B:DRV_ERROR_NOT_SUPPORT"
        elif knob in _OPTIONS:
            options[_OPTIONS[knob]] = value
        elif knob not in _IGNORED:
            raise Unsupported(knob)
    query = "&".join(f"{key}={value}" for key, value in options.items())
    return f"{tier}://{SOCS[scenario['chip']]}?{query}"


def control(acl: Acl, values: Values, step: dict[str, Any]) -> Any:
    """Hold, release, step or disturb a queue; returns what `pending` asks for."""
    from runtime.core.stream.stream import Stream

    kind = step["hal"]
    if "stream_id" in step:
        stream_id = int(values.resolve(step["stream_id"]))
        card = acl.runtime.hal.fake.device(0)
        if stream_id == 0:  # the recording machine's ids began at 0, with the default stream
            stream_id = acl.runtime.slots[0].device.primary_stream.stream_id
    else:
        stream = acl.runtime.handles.get(values.name(step["stream"]), Stream)
        stream_id, card = stream.stream_id, acl.runtime.hal.fake.device(stream.device.device_id)
    if kind == "hold":
        card.hold(stream_id)
    elif kind == "release":
        with card.machine.lock:  # calls of other threads would move the card step by step
            card.release(stream_id)
            card.machine.run_until_idle()
    elif kind == "step":
        card.step_stream(stream_id, step["n"])
    elif kind == "inject":
        effect = Effect(step["error_type"])
        acl.runtime.hal.fake.faults.on_task(
            effect, step["n"] + 1, device=card.index, stream=stream_id, code=step["error_code"]
        )
    elif kind == "pending":
        queue = next(sq for sq in card.queues.values() if sq.stream_id == stream_id)
        return (queue.tail - queue.head) % queue.depth
    else:
        raise Unsupported(f"control {kind}")
    return None
