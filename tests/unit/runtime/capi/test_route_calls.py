"""Routes between message queues by name: bound, asked for, taken back; messages pass along them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from runtime.capi.aclrt import Acl, Out

CHIPS = ("ascend910b3", "ascend950")


@pytest.fixture(params=CHIPS)
def acl(request: pytest.FixtureRequest) -> Iterator[Acl]:
    process = Acl(f"fake://{request.param}?devices=2")
    assert process.call("aclInit") == process.call("aclrtSetDevice", deviceId=0) == 0
    yield process
    process.close()


def made(acl: Acl, function: str, output: str, **given: object) -> int:
    out = Out()
    assert acl.call(function, **given, **{output: out}) == 0
    return int(out.value)


def queue(acl: Acl, depth: int = 8) -> int:
    attributes = acl.call("acltdtCreateQueueAttr")
    size = ctypes.c_uint32(depth)
    acl.call("acltdtSetQueueAttr", attr=attributes, type=1, len=4, param=ctypes.addressof(size))
    return made(acl, "acltdtCreateQueue", "qid", attr=attributes)


def listed(acl: Acl, *pairs: tuple[int, int]) -> int:
    routes = acl.call("acltdtCreateQueueRouteList")
    for source, target in pairs:
        assert acl.call("acltdtAddQueueRoute", routeList=routes,
                        route=acl.call("acltdtCreateQueueRoute", srcId=source, dstId=target)) == 0  # fmt: skip
    return int(routes)


def told(acl: Acl, routes: int) -> list[tuple[int, int, int]]:
    """Source, target and status of each route of a list."""
    found = []
    for index in range(acl.call("acltdtGetQueueRouteNum", routeList=routes)):
        route, words = acl.call("acltdtCreateQueueRoute", srcId=0, dstId=0), []
        assert acl.call("acltdtGetQueueRoute", routeList=routes, index=index, route=route) == 0
        for kind in range(3):
            word = ctypes.c_int32()
            assert acl.call("acltdtGetQueueRouteParam", route=route, type=kind, len=4, paramRetSize=Out(),
                            param=ctypes.addressof(word)) == 0  # fmt: skip
            words.append(word.value)
        found.append((words[0], words[1], words[2]))
    return found


def asked(acl: Acl, mode: int, source: int | None = None, target: int | None = None) -> list[tuple[int, int, int]]:
    question, routes = acl.call("acltdtCreateQueueRouteQueryInfo"), listed(acl, (9, 9))
    for kind, number in enumerate((mode, source, target)):
        if number is not None:
            word = ctypes.c_uint32(number)
            assert acl.call("acltdtSetQueueRouteQueryInfo", param=question, type=kind, len=4,
                            value=ctypes.addressof(word)) == 0  # fmt: skip
    assert acl.call("acltdtQueryQueueRoutes", queryInfo=question, qRouteList=routes) == 0
    return told(acl, routes)


def put(acl: Acl, number: int, text: bytes, timeout: int = 0) -> int:
    data = ctypes.create_string_buffer(text, len(text))
    return int(acl.call("acltdtEnqueueData", qid=number, data=ctypes.addressof(data), dataSize=len(text), userData=0,
                        userDataSize=0, timeout=timeout, rsv=0))  # fmt: skip


def taken(acl: Acl, number: int) -> bytes | int:
    data, size = ctypes.create_string_buffer(64), Out()
    code = acl.call("acltdtDequeueData", qid=number, data=ctypes.addressof(data), dataSize=64, retDataSize=size,
                    userData=0, userDataSize=0, timeout=0)  # fmt: skip
    return int(code) if code else data.raw[: size.value]


def test_messages_pass_along_routes_until_they_are_taken_back(acl: Acl) -> None:
    first, second, third = queue(acl), queue(acl), queue(acl)
    routes = listed(acl, (first, second), (first, third))
    assert put(acl, first, b"before") == 0
    for _ in range(2):  # again changes nothing
        assert acl.call("acltdtBindQueueRoutes", qRouteList=routes) == 0
        assert told(acl, routes) == [(first, second, 1), (first, third, 1)]
    assert put(acl, first, b"after") == 0
    assert [taken(acl, second), taken(acl, third), taken(acl, second)] == [b"before", b"before", b"after"]
    assert asked(acl, 0, first) == [(first, second, 1), (first, third, 1)]
    assert asked(acl, 1, None, third) == asked(acl, 2, first, third) == [(first, third, 1)]
    assert asked(acl, 0, second) == asked(acl, 2, second, first) == asked(acl, 100) == []
    for _ in range(2):
        assert acl.call("acltdtUnbindQueueRoutes", qRouteList=routes) == 0
        assert told(acl, routes) == [(first, second, 0), (first, third, 0)]
    assert put(acl, first, b"stays") == 0
    assert [taken(acl, first), taken(acl, second)] == [b"stays", 207013]
    assert acl.call("acltdtDestroyQueue", qid=first) == 0


def test_a_full_target_holds_messages_up(acl: Acl) -> None:
    source, target = queue(acl), queue(acl, depth=2)
    assert acl.call("acltdtBindQueueRoutes", qRouteList=listed(acl, (source, target))) == 0
    for number in range(5):
        assert put(acl, source, b"%d" % number) == 0
    assert [taken(acl, target) for _ in range(6)] == [b"0", b"1", b"2", b"3", b"4", 207013]


def test_what_cannot_be_bound_is_refused_and_the_rest_is_bound(acl: Acl) -> None:
    first, second, third = queue(acl), queue(acl), queue(acl)
    assert acl.call("acltdtBindQueueRoutes", qRouteList=listed(acl, (first, second))) == 0
    for source, target in ((first, first), (second, third), (third, first), (first, 77), (9999, first)):
        routes = listed(acl, (source, target))
        assert acl.call("acltdtBindQueueRoutes", qRouteList=routes) == 500001
        assert told(acl, routes) == [(source, target, 0)]
        assert not acl.reports.message_ids()
    mixed = listed(acl, (first, first), (first, third))
    assert acl.call("acltdtBindQueueRoutes", qRouteList=mixed) == 500001
    assert asked(acl, 0, first) == [(first, second, 1), (first, third, 1)]
    assert acl.call("acltdtBindQueueRoutes", qRouteList=listed(acl)) == 500001  # a list without routes
    for number in (first, second):
        assert acl.call("acltdtDestroyQueue", qid=number) == 500001
    assert acl.call("acltdtUnbindQueueRoutes", qRouteList=listed(acl, (first, second), (first, third))) == 0
    assert acl.call("acltdtDestroyQueue", qid=second) == 0


def test_routes_belong_to_a_device_and_end_with_it(acl: Acl) -> None:
    first, second = queue(acl), queue(acl)
    assert acl.call("acltdtBindQueueRoutes", qRouteList=listed(acl, (first, second))) == 0
    assert acl.call("aclrtSetDevice", deviceId=1) == 0
    assert asked(acl, 0, first) == []
    assert acl.call("aclrtResetDevice", deviceId=1) == acl.call("aclrtSetDevice", deviceId=0) == 0
    assert asked(acl, 0, first) == [(first, second, 1)]
    assert acl.call("aclrtResetDeviceForce", deviceId=0) == 0
    assert acl.call("acltdtBindQueueRoutes", qRouteList=listed(acl, (first, second))) == 107002
    assert acl.call("aclrtSetDevice", deviceId=0) == 0
    assert asked(acl, 0, first) == []
