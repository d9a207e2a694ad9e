"""The file of aclInit: what is read of it, and what it refuses (core_spec 1.6)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from npuhal.files import BadText, load_json, read_text
from runtime import errors
from runtime.capi.aclrt.state import Acl
from runtime.core.device.limits import DeviceLimit

_DEEPEST_NESTING = 10
_STACKS = {
    "aicore_stack_size": DeviceLimit.SIMD_STACK, "simt_stack_size": DeviceLimit.SIMT_STACK,
    "simt_divergence_stack_size": DeviceLimit.SIMT_DIVERGENCE_STACK,
}  # fmt: skip
"""Keys of the section StackSize, and the limits that they set."""
_BUFFERS = {
    "simd_printf_fifo_size_per_core": DeviceLimit.SIMD_PRINT_BUFFER,
    "simt_printf_fifo_size": DeviceLimit.SIMT_PRINT_BUFFER,
}


def read(path: Path) -> dict[str, Any]:
    """Return the settings of acl.json; an empty file has none."""
    try:
        text = read_text(path)
    except BadText as error:
        raise _bad_config(str(path), str(error)) from error
    except (OSError, ValueError) as error:  # ValueError: no file can have this name
        why = getattr(error, "strerror", None) or str(error)
        raise errors.fault(
            "ACL_ERROR_INVALID_FILE", f"configuration file {path}: {why}", ee="EH0003", params=(str(path), why),
        ) from error
    if not text.strip():
        return {}
    try:
        settings = load_json(text)
        if not isinstance(settings, dict):
            raise ValueError("it is no object")
        if _depth(settings) > _DEEPEST_NESTING:
            raise ValueError(f"it is nested deeper than {_DEEPEST_NESTING} levels")
    except ValueError as error:
        raise _bad_config(str(path), str(error)) from error
    return settings


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def check_messages(settings: dict[str, Any]) -> None:
    """Refuse an err_msg_mode that is neither "0" (by process) nor "1" (by thread): 100000 with EH0009."""
    mode = settings.get("err_msg_mode", "0")
    if mode not in ("0", "1"):
        raise _bad_value("err_msg_mode", mode, 'it must be "0" or "1"', "ACL_ERROR_INVALID_PARAM")


def apply(acl: Acl, settings: dict[str, Any]) -> None:
    """Set sizes and the default device; the mode of events in graphs is checked only.

    Raises:
        Failure 500001: a size or the number of the device is no decimal number, or a size is out of range.
        InvalidArgument: the device does not exist (107001), or the mode is neither "0" nor "1" (100000).
    """
    for key, limit in _STACKS.items():
        size = _section(settings, "StackSize").get(key)
        if size is not None:
            _set_limit(acl, limit, size, key)
    default = _section(settings, "defaultDevice").get("default_device")
    if default is not None:
        if isinstance(default, bool) or not re.fullmatch(r"0|[1-9]\d*", str(default)):
            raise _bad_value("default_device", default, "it must be 0 or a positive integer", "ACL_ERROR_FAILURE")
        acl.runtime.default_device = acl.runtime.slot(int(default), "aclInit").index
    for key, limit in _BUFFERS.items():
        if key in settings:
            _set_limit(acl, limit, settings[key], key)
    mode = _section(settings, "acl_graph").get("event_mode", "0")
    if mode not in ("0", "1"):
        raise _bad_value("event_mode", mode, 'it must be "0" or "1"', "ACL_ERROR_INVALID_PARAM")


def _section(settings: dict[str, Any], name: str) -> dict[str, Any]:
    section = settings.get(name, {})
    return section if isinstance(section, dict) else {}


def _set_limit(acl: Acl, limit: DeviceLimit, size: Any, key: str) -> None:
    """Set a limit; one that the chip lacks is passed over, as older files name those of newer chips."""
    chip = acl.runtime.machine.chip
    if not re.fullmatch(r"\d+", str(size)):
        raise errors.fault("ACL_ERROR_FAILURE", f"aclInit: {key} is {size!r}, which is no number of bytes")
    if not acl.runtime.limits.known(limit, chip):
        return
    try:
        acl.runtime.limits.set(limit, int(size), chip)
    except errors.InvalidArgument as refused:
        raise errors.fault("ACL_ERROR_FAILURE", f"aclInit: {key}: {refused}") from refused


def _bad_value(key: str, value: Any, rule: str, code: str) -> errors.RuntimeFault:
    return errors.fault(
        code, f"aclInit: {key} is {value!r}; {rule}", ee="EH0009", params=("aclInit", value, key, rule),
        hint=f"correct {key} in the configuration file",
    )


def _bad_config(path: str, reason: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_PARSE_FILE", f"configuration file {path} cannot be understood: {reason}", ee="EH0004",
        params=(path, reason),
    )
