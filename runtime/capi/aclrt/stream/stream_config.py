"""Streams by an object of settings (acl_rt.h, aclrtStreamConfigAttr), which the vendor has for one small chip only."""

from __future__ import annotations

from npuhal.records import dataclass
from runtime import errors
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import Out, entry, need, object_of, wrong
from runtime.capi.aclrt.kinds import Address, Enum, Handle, Size
from runtime.capi.aclrt.state import Acl
from runtime.capi.aclrt.stream.streams import create_configured
from runtime.memory import caller

_SETTINGS = {0: ("work_address", 8), 1: ("work_size", 8), 2: ("flag", 8), 3: ("priority", 4)}
"""aclrtStreamConfigAttr -> what it sets, and the bytes that its value has."""
_LOWEST_PRIORITY = 7


@dataclass(slots=True, eq=False)
class StreamSettings:
    """What a stream is to be."""

    work_address: int = 0
    work_size: int = 0
    flag: int = 0
    priority: int = 0


@entry()
def aclrtCreateStreamConfigHandle(acl: Acl) -> Handle:
    """Make settings with their defaults and return the handle."""
    return acl.runtime.handles.add(StreamSettings())


@entry(null("handle"))
def aclrtDestroyStreamConfigHandle(acl: Acl, handle: Handle) -> None:
    """Give settings up; streams that were made by them stay."""
    _settings(acl, "aclrtDestroyStreamConfigHandle", handle)
    acl.runtime.handles.remove(handle)


@entry(null("handle", "attrValue"))
def aclrtSetStreamConfigOpt(
    acl: Acl, handle: Handle, attr: Enum, attrValue: Address, valueSize: Size
) -> None:
    """Set one of work address (0), work size (1), flags (2), all of 8 bytes, and priority (3) of 4 bytes."""
    call = "aclrtSetStreamConfigOpt"
    settings = _settings(acl, call, handle)
    need(call, attrValue=attrValue)
    if attr not in _SETTINGS:
        raise wrong(call, attr, "attr", f"[0, {max(_SETTINGS)}]")
    name, size = _SETTINGS[attr]
    if valueSize != size:
        raise wrong(call, valueSize, "valueSize", size)
    value = int.from_bytes(caller.read(attrValue, size), "little")
    if name == "priority" and value > _LOWEST_PRIORITY:
        raise wrong(call, value, "priority", f"[0, {_LOWEST_PRIORITY}]")
    setattr(settings, name, value)


@entry(null("stream"))
def aclrtCreateStreamV2(acl: Acl, stream: Out[Handle], handle: Handle) -> None:
    """Make a stream with settings, or with NULL by the defaults.

    Raises:
        NotSupported 207000: memory for the stream to work in is set, which streams of these chips bring themselves.
    """
    call = "aclrtCreateStreamV2"
    settings = _settings(acl, call, handle) if handle else StreamSettings()
    if settings.work_address or settings.work_size:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: a stream of this chip takes no memory to work in",
            hint="leave work address and work size 0",
        )
    create_configured(acl, call, stream, settings.priority, settings.flag)


def _settings(acl: Acl, call: str, handle: int) -> StreamSettings:
    return object_of(acl, call, StreamSettings, handle=handle)
