"""Streams that another library of the process holds: as numbers, or as objects that tell their number.

The protocol is one method, `__npu_stream__`, which returns (version, handle); version 0 is this one. The handle is that
of the C API (`aclrtStream`) and of pyACL on this runtime; 0 is the default stream of the device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuhal.words import a
from runtime import errors
from runtime.api.streams import Stream
from runtime.errors.arguments import check_stream, is_whole, whole

if TYPE_CHECKING:
    from runtime.core.device.device import Device

_VERSION = 0


def stream_of(device: Device, foreign: Any) -> Stream:
    """Return the stream of a device that `foreign` stands for; see `Device.stream_of`."""
    if isinstance(foreign, Stream):
        found = foreign
    else:
        handle = _handle(foreign)
        default = device.context.default_stream
        assert isinstance(default, Stream)
        found = device.runtime.handles.get(handle, Stream) if handle else default
    return check_stream("stream_of", found, Stream, device)


def _handle(foreign: Any) -> int:
    if hasattr(foreign, "__npu_stream__"):
        version, foreign = foreign.__npu_stream__()
        if version != _VERSION:
            raise errors.fault(
                "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"__npu_stream__ speaks version {version} of the protocol; "
                f"{_VERSION} is known here", hint="use a newer version of this package",
            )
    if not is_whole(foreign):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID",
            f"stream_of: other is {foreign!r:.80}; {a(type(foreign).__name__)} is no stream",
            hint="pass a Stream, a handle as int, or an object with __npu_stream__",
        )
    return whole("stream_of", "stream", foreign)
