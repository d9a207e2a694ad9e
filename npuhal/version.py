"""The HAL's version number, and the handshake in which library and client tell each other theirs.

A version is one number, major<<16 | minor<<8 | patch (ascend_hal_base.h, __HAL_API_VERSION). The library refuses
no client, but treats one that has not told its version as the oldest: some resources are then withheld (`GRANTS`).
"""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

from npuhal.tuples import NamedTuple


class Grant(NamedTuple):
    """Something the library grants only to clients of a certain version on."""

    since: int
    """Lowest client version."""
    grants: str
    """What such a client gets."""


class Handshake(NamedTuple):
    """What both sides said."""

    library: int
    """The library's version, or 0 if it has no halGetAPIVersion."""
    client: int
    """The version told to the library, or 0 if it has no halSetRuntimeApiVer."""


def encode_version(text: str) -> int:
    """Return the number of a dotted version: `7.36.24` -> 0x072418; ValueError unless it is three parts of 0 to 255."""
    parts = [int(part) for part in text.split(".")]
    if len(parts) != 3 or not all(0 <= part <= 255 for part in parts):
        raise ValueError(f"HAL version {text!r}: expected major.minor.patch, each 0 to 255")
    return parts[0] << 16 | parts[1] << 8 | parts[2]


def decode_version(version: int) -> str:
    """Return the dotted form of a version number: 0x072418 -> `7.36.24`."""
    return f"{version >> 16}.{version >> 8 & 0xFF}.{version & 0xFF}"


BASE_VERSION = encode_version("7.36.24")
"""The driver header that the tables describe."""

DRIFT_VERSION = encode_version("7.36.25")
"""First header whose layouts differ: HandleAttr, halAsyncDmaInputBatchPara, DqsPoolInfo, and two argument lists."""

GRANTS = (
    Grant(encode_version("7.35.19"), "remote resource ids"),
    Grant(encode_version("7.35.23"), "configuration of remote resources"),
    Grant(encode_version("7.36.24"), "stream and model ids from 2048 on, and capacities above 2048"),
)
"""What depends on the client's version."""


def withheld(client: int) -> tuple[str, ...]:
    """Return what a library withholds from a client of this version."""
    return tuple(grant.grants for grant in GRANTS if client < grant.since)


class Versioned(Protocol):
    """A HAL as far as versions go: what `shake_hands` asks, tells and sets (`npuhal.api.HalApi` is one)."""

    version: int

    def has(self, name: str) -> bool:
        """Whether the library has a function."""

    def halGetAPIVersion(self, halAPIVersion: Any, /) -> int:
        """Write the version of the library's header."""

    def halSetRuntimeApiVer(self, version: int, /) -> Any:
        """Take the version of the client."""


def shake_hands(hal: Versioned) -> Handshake:
    """Ask the library for its version, tell it ours, and let `hal` follow the library's layouts.

    We speak every header version the tables know, so we answer with the newer one if the library is at least that new.
    """
    library = 0
    if hal.has("halGetAPIVersion"):
        answer = ctypes.c_int(0)
        if hal.halGetAPIVersion(ctypes.byref(answer)) == 0:
            library = answer.value
    hal.version = library
    client = 0
    if hal.has("halSetRuntimeApiVer"):
        client = DRIFT_VERSION if library >= DRIFT_VERSION else BASE_VERSION
        hal.halSetRuntimeApiVer(client)
    return Handshake(library, client)
