"""Shared buffers by name (aclrt*Buf): data, lengths, private areas, references, chains, and what is no buffer."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from npuhal import constants as c
from runtime.capi.aclrt import Acl, Out


@pytest.fixture(params=["fake://ascend910b3", "fake-abi://ascend950"])
def acl(request: pytest.FixtureRequest) -> Iterator[Acl]:
    made = Acl(request.param)
    yield made
    made.close()


def output(acl: Acl, call: str, name: str, **given: Any) -> Any:
    """Return an output of a call, which must succeed."""
    out = Out()
    assert acl.call(call, **given, **{name: out}) == 0
    return out.value


def alloc(acl: Acl, size: int = 64) -> int:
    made: int = output(acl, "aclrtAllocBuf", "buf", size=size)
    return made


def length(acl: Acl, buf: int) -> int:
    found: int = output(acl, "aclrtGetBufDataLen", "len", buf=buf)
    return found


def test_a_buffer_is_filled_and_read_again(acl: Acl) -> None:
    buf = alloc(acl, np.int64(100))
    where, size = Out(), Out()
    assert acl.call("aclrtGetBufData", buf=buf, dataPtr=where, size=size) == 0
    assert (size.value, length(acl, buf)) == (100, 0)
    ctypes.memmove(where.value, b"text", 4)
    assert [acl.call("aclrtSetBufDataLen", buf=buf, len=n) for n in (0, 101, 4)] == [107000, 107000, 0]
    copy = output(acl, "aclrtCopyBufRef", "newBuf", buf=buf)
    assert length(acl, copy) == 4
    assert acl.call("aclrtFreeBuf", buf=buf) == 0
    assert acl.call("aclrtGetBufData", buf=copy, dataPtr=where, size=size) == 0
    assert ctypes.string_at(where.value, 4) == b"text"
    assert acl.call("aclrtFreeBuf", buf=copy) == 0


def test_the_private_area(acl: Acl) -> None:
    buf, host = alloc(acl), ctypes.create_string_buffer(b"abcd", 96)
    given = {"buf": buf, "dataPtr": ctypes.addressof(host)}
    assert acl.call("aclrtSetBufUserData", size=4, offset=92, **given) == 0
    ctypes.memset(host, 0, 96)
    assert acl.call("aclrtGetBufUserData", size=96, offset=0, **given) == 0
    assert host.raw == bytes(92) + b"abcd"
    for call in ("aclrtSetBufUserData", "aclrtGetBufUserData"):
        assert acl.call(call, size=5, offset=92, **given) == 100000
        assert acl.reports.message_ids()[-1] == "EH0009"
        assert acl.call(call, size=0, offset=96, **given) == 0


def test_chains_are_copied_and_given_back_whole(acl: Acl) -> None:
    members = [alloc(acl, n) for n in (1, 2, 3)]
    for each in members[1:]:
        assert acl.call("aclrtAppendBufChain", headBuf=members[0], buf=each) == 0
    assert acl.call("aclrtAppendBufChain", headBuf=members[0], buf=members[0]) == 507899
    assert output(acl, "aclrtGetBufChainNum", "num", headBuf=members[0]) == 3
    assert [output(acl, "aclrtGetBufFromChain", "buf", headBuf=members[0], index=n) for n in range(3)] == members
    assert acl.call("aclrtGetBufFromChain", headBuf=members[0], index=3, buf=Out()) == 507899
    copy = output(acl, "aclrtCopyBufRef", "newBuf", buf=members[0])
    last = output(acl, "aclrtGetBufFromChain", "buf", headBuf=copy, index=2)
    assert last not in members
    assert acl.call("aclrtFreeBuf", buf=last) == 107000, "only the first of a chain"
    assert acl.call("aclrtFreeBuf", buf=members[0]) == 0
    assert [acl.call("aclrtFreeBuf", buf=each) for each in members] == [107017] * 3
    assert acl.call("aclrtSetBufDataLen", buf=last, len=3) == 0
    assert acl.call("aclrtFreeBuf", buf=copy) == 0
    assert acl.call("aclrtSetBufDataLen", buf=last, len=3) == 107017


@pytest.mark.parametrize("call", [
    "aclrtFreeBuf", "aclrtSetBufDataLen", "aclrtGetBufDataLen", "aclrtGetBufData", "aclrtGetBufUserData",
    "aclrtSetBufUserData", "aclrtCopyBufRef", "aclrtAppendBufChain", "aclrtGetBufChainNum", "aclrtGetBufFromChain",
])  # fmt: skip
def test_what_is_no_buffer(acl: Acl, call: str) -> None:
    from runtime.capi.aclrt.entry import find

    entry, host = find(call), ctypes.create_string_buffer(8)
    assert entry is not None
    given = {each.name: Out() if each.output else ctypes.addressof(host) for each in entry.arguments}
    given |= {
        name: 1 for name in ("len", "size", "offset", "index") if name in given and not isinstance(given[name], Out)
    }
    assert acl.call(call, **given) == 107017
    assert acl.reports.message_ids()[-1] == "EE1017"
    assert not any(isinstance(value, Out) and isinstance(value.value, int) for value in given.values())


def test_memory_runs_out_and_comes_back(acl: Acl) -> None:
    assert acl.call("aclrtAllocBuf", buf=Out(), size=1 << 63) == 207001
    assert acl.call("aclrtAllocBuf", buf=Out(), size=(256 << 30) + 1) == 207001
    assert acl.call("aclrtFreeBuf", buf=alloc(acl)) == 0


def test_a_group_that_was_made_before_is_used(acl: Acl) -> None:
    from runtime.driver.mbuf import BufferDriver

    BufferDriver(acl.runtime.hal, 0).join()
    assert acl.call("aclrtFreeBuf", buf=alloc(acl)) == 0


@pytest.mark.parametrize(("rule", "code"), [
    ("halGrpCreate", c.DRV_ERROR_NOT_SUPPORT), ("halGrpAttach", c.DRV_ERROR_INVALID_VALUE),
    ("halMbufAlloc", c.DRV_ERROR_NO_RESOURCES),
])  # fmt: skip
def test_a_driver_that_refuses(acl: Acl, rule: str, code: int) -> None:
    acl.runtime.hal.fake.faults.on_call(rule, code)
    out = Out()
    expected = {c.DRV_ERROR_NOT_SUPPORT: 207000, c.DRV_ERROR_INVALID_VALUE: 107000, c.DRV_ERROR_NO_RESOURCES: 207005}
    assert acl.call("aclrtAllocBuf", buf=out, size=8) == expected[code]
    assert not isinstance(out.value, int)
    assert acl.call("aclrtFreeBuf", buf=alloc(acl)) == 0, "asked again, it goes on where it had stopped"


def test_threads_give_a_buffer_back_once(acl: Acl) -> None:
    buf, answers = alloc(acl), []
    threads = [threading.Thread(target=lambda: answers.append(acl.call("aclrtFreeBuf", buf=buf))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers)[0] == 0
    assert answers.count(0) == 1
