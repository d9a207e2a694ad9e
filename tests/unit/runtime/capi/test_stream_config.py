"""Streams by a config handle: each setting, what is refused, and what the stream becomes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from runtime.capi.aclrt import Acl, Out
from tests.unit.runtime.machines import V100


@pytest.fixture(scope="module")
def acl() -> Iterator[Acl]:
    with closing(Acl(f"fake://{V100}")) as made:
        made.call("aclInit", configPath=None)
        made.call("aclrtSetDevice", deviceId=0)
        yield made


def put(acl: Acl, handle: int, attribute: int, value: int, size: int) -> int:
    place = ctypes.c_uint64(value)
    given = {"attr": attribute, "attrValue": ctypes.addressof(place), "valueSize": size}
    return int(acl.call("aclrtSetStreamConfigOpt", handle=handle, **given))


def made(acl: Acl, handle: int | None) -> Any:
    stream = Out()
    code = acl.call("aclrtCreateStreamV2", stream=stream, handle=handle)
    return code or stream.value


@pytest.mark.parametrize(("attribute", "value", "size", "code"), [
    (0, 0, 8, 0), (0, 0, 4, 100000), (1, 0, 8, 0), (2, 1, 8, 0), (2, 1, 4, 100000), (3, 7, 4, 0), (3, 8, 4, 100000),
    (3, 7, 8, 100000), (4, 0, 8, 100000),
])  # fmt: skip
def test_settings_are_checked_one_by_one(acl: Acl, attribute: int, value: int, size: int, code: int) -> None:
    handle = acl.call("aclrtCreateStreamConfigHandle")
    assert put(acl, handle, attribute, value, size) == code
    assert acl.call("aclrtDestroyStreamConfigHandle", handle=handle) == 0
    assert put(acl, handle, 3, 0, 4) == 107017
    assert put(acl, 0, 3, 0, 4) == 100000


def test_a_stream_is_what_its_settings_say(acl: Acl) -> None:
    handle = acl.call("aclrtCreateStreamConfigHandle")
    assert [put(acl, handle, 2, 0x2, 8), put(acl, handle, 3, 5, 4)] == [0, 0]
    flags, priority = Out(), Out()
    stream = made(acl, handle)
    assert acl.call("aclrtStreamGetFlags", stream=stream, flags=flags) == 0
    assert acl.call("aclrtStreamGetPriority", stream=stream, priority=priority) == 0
    assert (flags.value, priority.value) == (0x2, 5)
    plain = made(acl, None)
    assert acl.call("aclrtStreamGetPriority", stream=plain, priority=priority) == 0
    assert priority.value == 0


def test_memory_to_work_in_is_refused(acl: Acl) -> None:
    handle = acl.call("aclrtCreateStreamConfigHandle")
    assert put(acl, handle, 1, 4096, 8) == 0
    assert made(acl, handle) == 207000
    assert acl.call("aclrtCreateStreamV2", stream=None, handle=None) == 100000
