"""Objects of two runtimes never meet: addresses, ids and handles of one mean something else to the other."""

from __future__ import annotations

from typing import Any

from runtime.errors.raising import fault

__all__ = ["NotCopied", "check_same_runtime"]


def check_same_runtime(call: str, device: Any, *others: Any) -> None:
    """Refuse things of another `Runtime` than a device's; what has no device (plain host memory) passes.

    Raises:
        InvalidArgument 107000: naming the thing.
    """
    runtime = device.runtime
    for other in others:
        owner: Any = other if hasattr(other, "runtime") else getattr(other, "device", None)
        if owner is not device and getattr(owner, "runtime", runtime) is not runtime:
            raise fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {other!r} belongs to another Runtime ({owner.runtime.url}) "
                f"than device {device.user_id} ({runtime.url})", ee="EE1006",
                params=(call, "object of another Runtime", "not usable here"),
                hint="use the objects of one Runtime together; copy through NumPy arrays between two",
            )


class NotCopied:
    """A handle: copying or pickling it would make a second owner of what is given back once."""

    __slots__ = ()

    def __copy__(self) -> Any:
        raise self._one_owner("copied")

    def __deepcopy__(self, memo: Any) -> Any:
        raise self._one_owner("copied")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self._one_owner("pickled")

    def _one_owner(self, what: str) -> TypeError:
        return TypeError(
            f"{self!r} cannot be {what}: it owns something of a device, which is given back once. Pass the object "
            "itself on; copy the contents of memory with download() or numpy(); other processes open shared memory, "
            "events and notifies by their keys"
        )
