"""Channels and message queues by their C names: what is refused, and how."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from runtime.capi.aclrt import Acl, Out
from tests.unit.runtime.machines import V100

HOST = ctypes.create_string_buffer(64)
DIMS = (ctypes.c_int64 * 2)(2, 2)


@pytest.fixture(scope="module")
def acl() -> Iterator[Acl]:
    with closing(Acl(f"fake://{V100}")) as made:
        made.call("aclInit", configPath=None)
        made.call("aclrtSetDevice", deviceId=0)
        yield made


@pytest.fixture(scope="module")
def known(acl: Acl) -> dict[str, int]:
    """Handles and addresses by name."""
    pointer = Out()
    acl.call("aclrtMalloc", devPtr=pointer, size=64, policy=0)
    found = {
        "host": ctypes.addressof(HOST), "dims": ctypes.addressof(DIMS), "device": pointer.value,
        "channel": acl.call("acltdtCreateChannel", deviceId=0, name="c"), "set": acl.call("acltdtCreateDataset"),
        "received": acl.call("acltdtCreateDataset"), "attr": acl.call("acltdtCreateQueueAttr"),
    }  # fmt: skip
    found["item"] = item(acl, found, "host")
    found["on device"] = item(acl, found, "device")
    found["end"] = acl.call("acltdtCreateDataItem", tdtType=1)
    found["slice"] = acl.call("acltdtCreateDataItem", tdtType=3)
    found["slices"] = acl.call("acltdtCreateDataset")
    assert acl.call("acltdtAddDataItem", dataset=found["slices"], dataItem=found["slice"]) == 0
    assert acl.call("acltdtAddDataItem", dataset=found["set"], dataItem=found["item"]) == 0
    assert acl.call("acltdtSendTensor", handle=found["channel"], dataset=found["set"], timeout=0) == 0
    assert acl.call("acltdtReceiveTensor", handle=found["channel"], dataset=found["received"], timeout=0) == 0
    return found


def item(acl: Acl, known: dict[str, int], place: str) -> int:
    given = {"tdtType": 0, "dims": known["dims"], "dimNum": 2, "dataType": 4, "data": known[place], "size": 4}
    made = acl.call("acltdtCreateDataItem", **given)
    assert made
    return int(made)


@pytest.mark.parametrize(
    ("call", "given", "answer"),
    [
        ("acltdtCreateDataItem", {"tdtType": 0, "dims": None, "dimNum": 2}, 0),
        ("acltdtCreateDataItem", {"tdtType": 0, "dims": "dims", "dimNum": 0}, 0),
        ("acltdtCreateDataItem", {"tdtType": 0, "dims": "dims", "dimNum": 129}, 0),
        ("acltdtCreateDataItem", {"tdtType": 1, "dims": "dims", "dimNum": 2}, 0),
        ("acltdtGetTensorTypeFromItem", {"dataItem": "end"}, 1),
        ("acltdtGetDataTypeFromItem", {"dataItem": "end"}, -1),
        ("acltdtGetDataAddrFromItem", {"dataItem": None}, 0),
        ("acltdtGetDimsFromItem", {"dataItem": "item", "dims": "host", "dimNum": 1}, 100000),
        ("acltdtGetDimsFromItem", {"dataItem": "item", "dims": None, "dimNum": 2}, 100000),
        ("acltdtGetDimsFromItem", {"dataItem": "end", "dims": None, "dimNum": 0}, 0),
        ("acltdtGetSliceInfoFromItem", {"dataItem": "item", "sliceNum": None}, 100000),
        ("acltdtAddDataItem", {"dataset": "set", "dataItem": "on device"}, 100000),
        ("acltdtAddDataItem", {"dataset": "received", "dataItem": "item"}, 200006),
        ("acltdtGetDataItem", {"dataset": "set", "index": 7}, 0),
        ("acltdtGetDatasetSize", {"dataset": None}, 0),
        ("acltdtGetDatasetName", {"dataset": None}, ""),
        ("acltdtCreateChannel", {"deviceId": 0, "name": None}, 0),
        ("acltdtCreateChannelWithCapacity", {"deviceId": 0, "name": "x" * 128, "capacity": 2}, 0),
        ("acltdtCreateChannelWithCapacity", {"deviceId": 0, "name": "x", "capacity": 1}, 0),
        ("acltdtCreateChannelWithCapacity", {"deviceId": 9, "name": "x", "capacity": 2}, 0),
        ("acltdtSendTensor", {"handle": "channel", "dataset": "slices", "timeout": 0}, 100000),
        ("acltdtReceiveTensor", {"handle": "channel", "dataset": "set", "timeout": 0}, 100000),
        ("acltdtReceiveTensor", {"handle": "channel", "dataset": "received", "timeout": 0}, 207013),
        ("acltdtQueryChannelSize", {"handle": "channel", "size": None}, 100000),
        ("acltdtCleanChannel", {"handle": 12345}, 107017),
        ("acltdtSetQueueAttr", {"attr": "attr", "type": 2, "len": 4, "param": "host"}, 100000),
        ("acltdtSetQueueAttr", {"attr": "attr", "type": 1, "len": 5, "param": "host"}, 100000),
        ("acltdtSetQueueAttr", {"attr": "attr", "type": 0, "len": 8, "param": "host"}, 100000),
        ("acltdtGetQueueAttr", {"attr": "attr", "type": 0, "len": 4, "param": "host", "paramRetSize": Out()}, 100000),
        ("acltdtCreateQueue", {"attr": "attr", "qid": None}, 100000),
        ("acltdtDestroyQueue", {"qid": 500}, 100032),
        ("acltdtEnqueueData", {"qid": 500, "data": "host", "dataSize": 4}, 100032),
        ("acltdtEnqueueData", {"qid": 0, "data": None, "dataSize": 4}, 100000),
    ],
)
def test_what_is_refused(acl: Acl, known: dict[str, int], call: str, given: dict[str, Any], answer: object) -> None:
    ctypes.memset(HOST, 0, len(HOST))
    values = {
        name: known[value] if isinstance(value, str) and value in known else value for name, value in given.items()
    }
    assert acl.call(call, **values) == answer


def test_data_on_a_device_goes_through_a_channel_too(acl: Acl, known: dict[str, int]) -> None:
    assert acl.call("aclrtMemset", devPtr=known["device"], maxCount=64, value=9, count=64) == 0
    source = acl.call("acltdtCreateDataset")
    assert acl.call("acltdtAddDataItem", dataset=source, dataItem=known["on device"]) == 0
    assert acl.call("acltdtSendTensor", handle=known["channel"], dataset=source, timeout=0) == 0
    assert acl.call("acltdtReceiveTensor", handle=known["channel"], dataset=known["received"], timeout=0) == 0
    got = acl.call("acltdtGetDataItem", dataset=known["received"], index=0)
    assert ctypes.string_at(acl.call("acltdtGetDataAddrFromItem", dataItem=got), 4) == b"\x09" * 4


def test_a_message_that_is_too_large_stays_and_tells_its_size(acl: Acl, known: dict[str, int]) -> None:
    number, size = Out(), Out()
    assert acl.call("acltdtCreateQueue", attr=None, qid=number) == 0
    queue, host = number.value, known["host"]
    assert acl.call("acltdtEnqueueData", qid=queue, data=host, dataSize=32, timeout=0) == 0
    given = {"qid": queue, "data": host, "retDataSize": size, "timeout": 0}
    assert acl.call("acltdtDequeueData", dataSize=16, **given) == 100000
    assert size.value == 32
    assert acl.call("acltdtDequeueData", dataSize=32, **given) == 0
    assert acl.call("acltdtDequeueData", dataSize=32, **given) == 207013
    assert acl.call("acltdtDestroyQueue", qid=queue) == 0
