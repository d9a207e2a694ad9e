"""What the tests of the C API of memory share: a process with one of each kind of memory, and a stream."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.capi.aclrt import Acl, Out
from tests.unit.runtime.machines import CHIPS

MiB = 1 << 20
D, D2, H, P, S = "device", "device 2", "host", "plain", "stream"
"""Stand for an address or handle of the fixture."""


class Bench:
    """A C API on a fake, with one of each kind of memory."""

    def __init__(self, soc: str, options: str = "") -> None:
        self.acl = Acl(f"fake://{soc}?seed=2&devices=2{options}")
        assert self.acl.call("aclrtSetDevice", deviceId=0) == 0
        self.plain = ctypes.create_string_buffer(b"\x11" * 4096, 4096)
        self.named = {
            D: self.made("aclrtMalloc", "devPtr", size=4096), D2: self.made("aclrtMalloc", "devPtr", size=4096),
            H: self.made("aclrtMallocHost", "hostPtr", size=4096), P: ctypes.addressof(self.plain),
            S: self.made("aclrtCreateStream", "stream"),
        }  # fmt: skip

    def made(self, call: str, output: str, **arguments: Any) -> int:
        out = Out()
        assert self.acl.call(call, **{output: out}, **arguments) == 0
        return int(out.value)

    def call(self, name: str, **arguments: Any) -> tuple[int, list[str]]:
        self.acl.reports.take_text()
        given = {key: self.named.get(value, value) if isinstance(value, str) else value
                 for key, value in arguments.items()}  # fmt: skip
        return self.acl.call(name, **given), list(self.acl.reports.message_ids())


@pytest.fixture(params=CHIPS)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(str(request.param))
    yield made
    made.acl.close()


@pytest.fixture(params=CHIPS, scope="module")
def refusing(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """One for all calls of a module that are refused: whatever one of them changed would fail the others."""
    made = Bench(str(request.param))
    yield made
    made.acl.close()


def words(*values: int) -> Any:
    return (ctypes.c_uint64 * len(values))(*values)


Row = tuple[str, dict[str, Any], Any, list[str]]
"""Function, arguments, code and messages."""


def refused(rows: list[Row]) -> list[Row]:
    """Return the rows whose call is refused."""
    return [row for row in rows if row[2] != 0]


def taken(rows: list[Row]) -> list[Row]:
    """Return the rows whose call is not refused."""
    return [row for row in rows if row[2] == 0]


_LARGEST_NUMBER = 1 << 41
"""Numbers in the tables are smaller, but for one that means "too much"."""


def row_id(row: Row) -> str:
    """Name a row for pytest; addresses, which differ from process to process, are left out."""
    given = ",".join(f"{key}={_shown(value)}" for key, value in row[1].items() if not isinstance(value, Out))
    return f"{row[0]}-{row[2]}-{given}"


def _shown(value: object) -> object:
    return "address" if isinstance(value, int) and value > _LARGEST_NUMBER else value
