"""Types of acl.util; made from the tables of calls by tests/tools/acl_stubs.py."""

from collections.abc import Callable
from typing import Any
from numpy.typing import NDArray

def bytes_to_ptr(data: bytes, /) -> int:
    """acl.util.bytes_to_ptr."""
def numpy_contiguous_to_ptr(array: NDArray[Any], /) -> tuple[int, NDArray[Any]]:
    """acl.util.numpy_contiguous_to_ptr."""
def numpy_to_ptr(array: NDArray[Any], /) -> int:
    """acl.util.numpy_to_ptr."""
def ptr_to_bytes(ptr: int, size: int, /) -> bytes:
    """acl.util.ptr_to_bytes; size in bytes."""
def ptr_to_numpy(ptr: int, shape: tuple[int, ...], numpy_type: int, /) -> NDArray[Any]:
    """acl.util.ptr_to_numpy."""
def start_thread(fn: Callable[..., object], args: Any, /) -> tuple[int, int]:
    """acl.util.start_thread; gives (thread_id, ret)."""
def stop_thread(thread_id: int, /) -> int:
    """acl.util.stop_thread."""
