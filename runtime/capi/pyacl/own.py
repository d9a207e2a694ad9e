"""Calls of pyACL that are more than one C function: buffers, media memory, addresses, threads, callbacks."""

from __future__ import annotations

import ctypes
import itertools
import logging
import threading
import types
from collections.abc import Callable
from typing import Any

from npuhal.late import logger
from runtime.capi.pyacl import util
from runtime.capi.pyacl.binding import Function, process
from runtime.core.callbacks.exceptions import ExceptionInfo
from runtime.errors import tables

_LOG = logger(__name__)
_APPLICATION = logger("runtime.application")
_LEVELS = {0: logging.DEBUG, 1: logging.INFO, 2: logging.WARNING, 3: logging.ERROR}
"""aclLogLevel (acl_base_rt.h)."""
_LINE = 1024
"""Bytes that one line of aclAppLog holds."""
_NO_ID = 0xFFFF_FFFF
"""What the getters answer without an exception."""
_DVPP_POLICY = 2
"""Media memory is made of normal pages."""
_GROUP_VALUES = 256

UNREAD = ("acl.util.start_thread",)
"""Calls that read their arguments themselves: their messages are not the usual ones."""


def functions(root: types.ModuleType) -> dict[str, Function]:
    """Return them by their name without `acl.`; they take arguments that were read by their row of calls.yaml."""
    buffers, threads, infos = util.DataBuffers(), util.Threads(), Exceptions()
    return {
        "init": _initialise,
        "app_log": _log,
        "create_data_buffer": buffers.create,
        "destroy_data_buffer": lambda handle: _code(buffers.destroy(handle)),
        "update_data_buffer": lambda *given: _code(buffers.update(*given)),
        "get_data_buffer_addr": buffers.address,
        "get_data_buffer_size": lambda handle: buffers.size(handle) & 0xFFFF_FFFF,
        "get_data_buffer_size_v2": buffers.size,
        "rt.launch_callback": _launch_callback,
        "rt.set_exception_info_callback": infos.set_callback,
        "rt.get_task_id_from_exception_info": infos.getter("task_id"),
        "rt.get_stream_id_from_exception_info": infos.getter("stream_id"),
        "rt.get_thread_id_from_exception_info": infos.getter("thread_id"),
        "rt.get_device_id_from_exception_info": infos.getter("device_id"),
        "rt.get_error_code_from_exception_info": infos.getter("error_code"),
        "rt.get_group_info_detail": _group_detail,
        "media.dvpp_malloc": lambda size: root.rt.malloc(size, _DVPP_POLICY),
        "media.dvpp_malloc_with_cfg": lambda *given: root.rt.malloc_with_cfg(*given),
        "media.dvpp_free": lambda pointer: root.rt.free(pointer),
        "util.bytes_to_ptr": util.bytes_to_ptr,
        "util.ptr_to_bytes": util.ptr_to_bytes,
        "util.numpy_to_ptr": util.numpy_to_ptr,
        "util.numpy_contiguous_to_ptr": util.numpy_contiguous_to_ptr,
        "util.ptr_to_numpy": util.ptr_to_numpy,
        "util.start_thread": threads.start,
        "util.stop_thread": threads.stop,
    }


def _code(done: bool) -> int:
    return 0 if done else int(tables.public_names()["ACL_ERROR_INVALID_PARAM"])


def _initialise(path: str | None) -> int:
    """Initialise, with the path of a configuration file or without."""
    return int(process().call("aclInit", configPath=path or None))


def _log(level: int, message: str) -> None:
    """Write a line of the application's own into the log; what is longer than a line is cut, with a mark."""
    data = message.encode(errors="backslashreplace")
    text = message if len(data) <= _LINE else data[: _LINE - 3].decode(errors="ignore") + "..."
    _APPLICATION.log(_LEVELS.get(level, logging.ERROR), "%s", text)


def _launch_callback(function: Callable[[Any], object], data: Any, block: int, stream: int) -> int:
    """Call fn(user_data) in the thread that has subscribed to the stream; what it raises is logged and dropped."""

    def run(_: int) -> None:
        try:
            function(data)
        except Exception:
            _LOG.exception("the callback %r raised", function)

    return int(process().call("aclrtLaunchCallback", fn=run, userData=0, blockType=block, stream=stream))


def _group_detail(info: int, group: int, attribute: int) -> tuple[list[int], int]:
    """Return one attribute of a compute group; RuntimeError where it cannot be told."""
    values = (ctypes.c_int32 * _GROUP_VALUES)()
    code = process().call(
        "aclrtGetGroupInfoDetail", groupInfo=info, groupIndex=group, attr=attribute,
        attrValue=ctypes.addressof(values), valueLen=_GROUP_VALUES,
    )  # fmt: skip
    raise RuntimeError(f"acl.rt.get_group_info_detail failed: {code}")


class Exceptions:
    """The exception callback, and the failures that it may ask about by numbers."""

    def __init__(self) -> None:
        self._told: dict[int, ExceptionInfo] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def set_callback(self, function: Callable[[int], object] | None) -> int:
        """Call fn(info) for every failed task; None ends that. A function that raises is not called again."""
        if function is not None and not callable(function):
            raise TypeError("acl.rt.set_exception_info_callback args parse failed: fn must be callable")
        notify = None if function is None else lambda info: self._notify(function, info)
        return int(process().call("aclrtSetExceptionInfoCallback", callback=notify))

    def _notify(self, function: Callable[[int], object], info: ExceptionInfo) -> None:
        with self._lock:
            number = next(self._numbers)
            self._told[number] = info
        try:
            function(number)
        except Exception:
            _LOG.exception("the exception callback %r raised, and is not called again", function)
            process().call("aclrtSetExceptionInfoCallback", callback=None)
        finally:
            del self._told[number]

    def getter(self, field: str) -> Callable[[int], int]:
        """Return the function that gives one field of an exception while its callback runs."""

        def get(number: int) -> int:
            info = self._told.get(number)
            return _NO_ID if info is None else int(getattr(info, field)) & 0xFFFF_FFFF

        get.__doc__ = f"Return the {field.replace('_', ' ')} of what a callback is told, or {_NO_ID:#x}."
        return get
