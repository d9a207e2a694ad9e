"""The compiled part of the prepared sends; `compiled.py` beside it and `runtime/launch/compiled.py` make its objects."""

from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

REVISION: int
scalars: dict[type, bytes]

def buffers(member: MemberDescriptorType, /) -> None: ...
def subscript(slow: Callable[..., Any], grids: MemberDescriptorType) -> Callable[..., Any]: ...

class Lock:
    def acquire(self, blocking: bool = True) -> bool: ...
    def release(self) -> None: ...
    def _at_fork_reinit(self) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(self, *_: object) -> None: ...

class _Compiled:
    __wrapped__: Callable[..., Any]
    def __call__(self, *arguments: Any, **options: Any) -> Any: ...

class Send(_Compiled):
    def __init__(
        self, slow: Callable[..., Any], held: tuple[Any, ...],
        members: tuple[MemberDescriptorType | None, ...], counted: bool, entries: int, parameters: int, carries: int,
        falls_back: bool, row: bytes, words: bytes, driver: int, device: int, info: int, info_address: int,
        publishes: int,
    ) -> None: ...

class Launch(_Compiled):
    def __init__(
        self, slow: Callable[..., Any], held: tuple[Any, ...], members: tuple[MemberDescriptorType, ...], mover: int,
        flag: int, copied: int, count: int, before: int, image: bytes, unit: int,
    ) -> None: ...

class Grid(_Compiled):
    def __init__(
        self, slow: Callable[..., Any], kernel: object, blocks: int, launchers: MemberDescriptorType
    ) -> None: ...
