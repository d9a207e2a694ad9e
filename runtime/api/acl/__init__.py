"""pyACL: `import acl` as scripts for Ascend devices know it, on top of this runtime.

Nothing here takes the name `acl` by itself: `npuhal run script.py` does, and `install()`. Handles are ints, outputs
come first and the code last, arguments are positional (see `calls.yaml` for every call). 64-bit values are returned
whole where the original cuts them to 32 bits (get_device_info, get_devices_topo).
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import yaml

from runtime.api.acl import util as _util
from runtime.api.acl.binding import Row, bind, process, read_arguments
from runtime.errors import tables

_PARTS = ("rt", "mdl", "media", "op", "blas", "util", "prof", "himpi", "fv")
_DVPP_POLICY = 2
"""Media memory is made of normal pages."""


@cache
def module() -> types.ModuleType:
    """Return the module `acl` with its parts as attributes; it is made once."""
    rows = yaml.safe_load(resources.files(__package__).joinpath("calls.yaml").read_text(encoding="utf-8"))
    root = types.ModuleType("acl", "pyACL on npuhal.")
    root.__path__ = []  # a package, so that `import acl.rt` works
    for part in _PARTS:
        setattr(root, part, types.ModuleType(f"acl.{part}", f"acl.{part} on npuhal."))
    for part, calls in rows.items():
        place = root if part == "acl" else getattr(root, part)
        prefix = "acl." if part == "acl" else f"acl.{part}."
        for name, text in calls.items():
            setattr(place, name, bind(prefix + name, Row.read(text)))
    for path, function in _own(root).items():
        part, _, name = path.rpartition(".")
        setattr(getattr(root, part) if part else root, name, function)
    return root


def install() -> types.ModuleType:
    """Make `import acl` give this module in the present process, parts included; returns it."""
    root = module()
    sys.modules["acl"] = root
    for part in _PARTS:
        sys.modules[f"acl.{part}"] = getattr(root, part)
    return root


def _own(root: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions that are not one C function: buffers, media memory, addresses, threads, callbacks."""
    buffers, threads = _util.DataBuffers(), _util.Threads()
    bad = tables.public_names()["ACL_ERROR_INVALID_PARAM"]

    def checked(name: str, arguments: str, function: Callable[..., Any]) -> Callable[..., Any]:
        shape = Row.read(f"none({arguments})")

        def call(*given: Any) -> Any:
            return function(*read_arguments(name, shape, given))

        call.__name__ = call.__qualname__ = name.rpartition(".")[2]
        call.__doc__ = function.__doc__
        return call

    def initialise(*given: Any) -> int:
        """Initialise, with the path of a configuration file or without."""
        if len(given) > 1 or not all(isinstance(each, str) for each in given):
            raise TypeError("acl.init args parse failed: one path, or nothing")
        return int(process().call("aclInit", configPath=(given[0] if given else "") or None))

    def launch_callback(*given: Any) -> int:
        """Call fn(user_data) in the thread that has subscribed to the stream."""
        if len(given) != 4 or not callable(given[0]):
            raise TypeError("acl.rt.launch_callback args parse failed: fn, user_data, block_type, stream")
        function, data, block, stream = given

        def run(_: int) -> None:
            function(data)

        return int(process().call("aclrtLaunchCallback", fn=run, userData=0, blockType=block, stream=stream))

    def set_exception_info_callback(function: Any = None) -> int:
        """Call fn(info) for every failed task; None ends that."""
        if function is not None and not callable(function):
            raise TypeError("acl.rt.set_exception_info_callback args parse failed: fn must be callable")
        return int(process().call("aclrtSetExceptionInfoCallback", callback=function))

    def dvpp_malloc(size: int) -> tuple[int, int]:
        """Allocate device memory that media engines may use."""
        made: tuple[int, int] = root.rt.malloc(size, _DVPP_POLICY)
        return made

    def dvpp_free(ptr: int) -> int:
        """Free media memory."""
        return int(root.rt.free(ptr))

    def code(done: bool) -> int:
        return 0 if done else bad

    return {
        "init": initialise,
        "create_data_buffer": checked("acl.create_data_buffer", "data, size", buffers.create),
        "destroy_data_buffer": checked("acl.destroy_data_buffer", "data_buffer", lambda h: code(buffers.destroy(h))),
        "update_data_buffer": checked(
            "acl.update_data_buffer", "data_buffer, data, size", lambda *given: code(buffers.update(*given))
        ),
        "get_data_buffer_addr": checked("acl.get_data_buffer_addr", "data_buffer", buffers.address),
        "get_data_buffer_size": checked("acl.get_data_buffer_size", "data_buffer", buffers.size),
        "get_data_buffer_size_v2": checked("acl.get_data_buffer_size_v2", "data_buffer", buffers.size),
        "rt.launch_callback": launch_callback,
        "rt.set_exception_info_callback": set_exception_info_callback,
        "media.dvpp_malloc": checked("acl.media.dvpp_malloc", "size", dvpp_malloc),
        "media.dvpp_free": checked("acl.media.dvpp_free", "ptr", dvpp_free),
        "util.start_thread": threads.start,
        "util.stop_thread": threads.stop,
        **{f"util.{name}": getattr(_util, name)
           for name in ("bytes_to_ptr", "ptr_to_bytes", "numpy_to_ptr", "numpy_contiguous_to_ptr", "ptr_to_numpy")},
    }  # fmt: skip


__all__ = ["install", "module"]
