"""The memory that a program and its server share: its layout (shim.h), and the ring of mapping changes."""

from __future__ import annotations

import ctypes
import os
import struct

from fakes.errors import FakeError
from fakes.machine.address_space import BackingFile, opening
from fakes.shim.exports import MOST_ARGUMENTS

MAGIC = 0x4D494853
SLOTS = 256
"""Threads of a program that can call at the same time; more wait until one ends."""
SLOT_BYTES = 4 << 20
"""What a call's pointers may lead to, header included: 65,000 queue entries. Untouched pages cost nothing."""
_HEADER = 4096
_FILE_MASK = 0x7FFFFFFF
_SITE_BYTES = 480
_MAPPING = struct.Struct("<QQqQ")
_MAPPINGS = 1 << 18
"""Mapping changes that one call may make; they are carried out when it returns."""
WANTS_SITES, ENDED, POSTS, FREE_RUN = 1, 2, 4, 16
MOST_PATTERNS, PATTERN_WORDS = 8, 4
"""Kinds of entries that are not posted: two words of the mask and two of the value of each."""
POSTS_BYTES = 1 << 22
"""Space for sends that the server has not taken yet."""


class Header(ctypes.Structure):
    """The first page (shim_region)."""

    __slots__ = ()
    _fields_ = (
        ("magic", ctypes.c_uint32), ("slots", ctypes.c_uint32), ("slot_bytes", ctypes.c_uint64),
        ("base", ctypes.c_uint64), ("memory", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
        ("mappings", ctypes.c_uint64), ("most_mappings", ctypes.c_uint64), ("refused", ctypes.c_uint32),
        ("server", ctypes.c_int32), ("flags", ctypes.c_uint32), ("opened", ctypes.c_uint32),
        ("published", ctypes.c_uint64), ("applied", ctypes.c_uint64), ("posts", ctypes.c_uint64),
        ("posts_bytes", ctypes.c_uint64),
        ("posted", ctypes.c_uint64), ("taken", ctypes.c_uint64), ("epoch", ctypes.c_uint32),
        ("waiting", ctypes.c_uint32), ("lost", ctypes.c_uint32),
        ("rung", ctypes.c_uint32), ("listens", ctypes.c_uint32), ("patterns", ctypes.c_uint32),
        ("called_for", ctypes.c_uint64 * (MOST_PATTERNS * PATTERN_WORDS)),
    )  # fmt: skip


class Slot(ctypes.Structure):
    """What a call is made of (shim_slot)."""

    __slots__ = ()
    _fields_ = (
        ("owner", ctypes.c_uint32), ("started", ctypes.c_uint32), ("request", ctypes.c_uint32),
        ("server_sleeps", ctypes.c_uint32), ("function", ctypes.c_uint32), ("credit", ctypes.c_uint32),
        ("tail", ctypes.c_uint32), ("depth", ctypes.c_uint32), ("epoch", ctypes.c_uint32), ("gap", ctypes.c_char * 28),
        ("reply", ctypes.c_uint32), ("program_sleeps", ctypes.c_uint32),
        ("result", ctypes.c_int64), ("args", ctypes.c_uint64 * MOST_ARGUMENTS), ("site", ctypes.c_char * _SITE_BYTES),
    )  # fmt: skip


class Region:
    """The file and its parts. `memory` and `size` are the addresses of the machine, the same for the program."""

    def __init__(self, memory: int, size: int, refused: int, lost: int, wants_sites: bool) -> None:
        """Lay a file out.

        Args:
            memory: first address of the machine.
            size: bytes of its address range.
            refused: what a call answers that cannot be made.
            lost: what every call answers after the server has ended.
            wants_sites: whether calls say where in the program they are made.
        """
        slots = _HEADER + SLOTS * SLOT_BYTES
        posts = slots + _MAPPINGS * _MAPPING.size
        self.size = posts + POSTS_BYTES
        self._file = BackingFile("npuhal-shim", self.size)
        base = self._file.address
        self.header = Header.from_address(base)
        self._ring = (ctypes.c_char * (_MAPPINGS * _MAPPING.size)).from_address(base + slots)
        header = self.header
        header.posts, header.posts_bytes = posts, POSTS_BYTES
        header.epoch = 1
        header.slots, header.slot_bytes, header.base = SLOTS, SLOT_BYTES, base
        header.memory, header.bytes, header.mappings, header.most_mappings = memory, size, slots, _MAPPINGS
        header.refused, header.lost, header.server = refused, lost, os.getpid()
        header.flags = WANTS_SITES if wants_sites else 0
        header.magic = MAGIC

    @property
    def fd(self) -> int:
        """Descriptor of the file."""
        return self._file.fd

    def holds(self, address: int) -> bool:
        """Whether an address lies in the file as this process has mapped it."""
        return bool(0 <= address - self.header.base < self.size)

    def slot(self, number: int) -> Slot:
        """Return a slot."""
        return Slot.from_address(self.header.base + _HEADER + number * SLOT_BYTES)

    def mapped(self, address: int, size: int, fd: int, offset: int) -> None:
        """The program may touch a range from the return of the present call on (`fd` -1: no longer)."""
        header = self.header
        published = header.published
        if published - header.applied >= _MAPPINGS:
            raise FakeError(f"one call changes more than {_MAPPINGS} mappings")
        file = fd if fd < 0 else fd | (opening(fd) & _FILE_MASK) << 32
        _MAPPING.pack_into(self._ring, published % _MAPPINGS * _MAPPING.size, address, size, file, offset)
        header.published = published + 1
