"""Handles: objects that own something of a device, which is given back once."""

from __future__ import annotations

from typing import Any

__all__ = ["NotCopied"]


class NotCopied:
    """A handle: copying or pickling it would make a second owner of what is given back once."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        from runtime.errors import public

        return public.listed(type(self))

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
