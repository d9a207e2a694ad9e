"""Tensors through a channel, a channel that is full, and message queues, between threads of one program."""

from __future__ import annotations

import ctypes
import threading

import numpy as np

from runtime.api import Device
from runtime.capi.aclrt import Out
from tests.examples.conftest import CApi

TENSOR, FLOAT = 0, 0
NAME, DEPTH = 0, 1


def test_a_tensor_through_a_channel(c: CApi) -> None:
    channel = c.answer("acltdtCreateChannelWithCapacity", deviceId=0, name="simple_tdt_channel", capacity=2)
    numbers = np.array([1, 2, 3, 4], "f4")
    sent, received = data_set(c, numbers), c.answer("acltdtCreateDataset")
    assert first_value(c, sent) == 1.0

    c("acltdtSendTensor", handle=channel, dataset=sent, timeout=1000)
    assert c("acltdtQueryChannelSize", handle=channel, size=Out()) == 1
    c("acltdtReceiveTensor", handle=channel, dataset=received, timeout=1000)
    assert first_value(c, received) == 1.0
    assert c("acltdtQueryChannelSize", handle=channel, size=Out()) == 0

    for name in ("acltdtCleanChannel", "acltdtStopChannel", "acltdtDestroyChannel"):
        c(name, handle=channel)
    c("acltdtDestroyDataset", dataset=received)
    destroy(c, sent)


def test_a_channel_that_is_full(c: CApi) -> None:
    channel = c.answer("acltdtCreateChannelWithCapacity", deviceId=0, name="capacity", capacity=2)
    sent, received = data_set(c, np.ones(4, "f4")), c.answer("acltdtCreateDataset")
    for size in (1, 2):
        c("acltdtSendTensor", handle=channel, dataset=sent, timeout=1000)
        assert c("acltdtQueryChannelSize", handle=channel, size=Out()) == size
    c("acltdtSendTensor", handle=channel, dataset=sent, timeout=10, code=207014)

    c("acltdtReceiveTensor", handle=channel, dataset=received, timeout=0)
    item = c.answer("acltdtGetDataItem", dataset=received, index=0)
    assert c("acltdtGetSliceInfoFromItem", dataItem=item, sliceNum=Out(), sliceId=Out()) == [0, 0]
    assert c.answer("acltdtGetDatasetName", dataset=received) == ""
    c("acltdtCleanChannel", handle=channel)
    c("acltdtReceiveTensor", handle=channel, dataset=received, timeout=0, code=207013)
    c("acltdtDestroyChannel", handle=channel)
    c("acltdtDestroyDataset", dataset=received)
    destroy(c, sent)


def test_a_message_queue(c: CApi) -> None:
    attributes = c.answer("acltdtCreateQueueAttr")
    name, depth = ctypes.c_char_p(b"simple_queue"), ctypes.c_uint32(4)
    for kind, value in ((NAME, name), (DEPTH, depth)):
        c("acltdtSetQueueAttr", attr=attributes, type=kind, len=ctypes.sizeof(value), param=ctypes.addressof(value))
    told, number = ctypes.c_char_p(), ctypes.c_uint32()
    for kind, value in ((NAME, told), (DEPTH, number)):
        size = c("acltdtGetQueueAttr", attr=attributes, type=kind, len=8, paramRetSize=Out(),
                 param=ctypes.addressof(value))  # fmt: skip
        assert size == ctypes.sizeof(value)
    assert (told.value, number.value) == (b"simple_queue", 4)

    queue = c("acltdtCreateQueue", attr=attributes, qid=Out())
    message, aside = ctypes.create_string_buffer(b"message"), ctypes.create_string_buffer(b"aside")
    c("acltdtEnqueueData", qid=queue, data=ctypes.addressof(message), dataSize=8, userData=ctypes.addressof(aside),
      userDataSize=6, timeout=0, rsv=0)  # fmt: skip
    taken, beside = ctypes.create_string_buffer(16), ctypes.create_string_buffer(96)
    size = c("acltdtDequeueData", qid=queue, data=ctypes.addressof(taken), dataSize=16, retDataSize=Out(),
             userData=ctypes.addressof(beside), userDataSize=96, timeout=0)  # fmt: skip
    assert (size, taken.value, beside.value) == (8, b"message", b"aside")
    c("acltdtDestroyQueue", qid=queue)
    c("acltdtDestroyQueueAttr", attr=attributes)


def test_batches_from_a_thread_that_loads_them(device: Device) -> None:
    """The same in Python: the loader is at most two batches ahead."""
    with device.create_channel("batches", capacity=2) as channel:

        def load() -> None:
            for number in range(5):
                channel.send([np.full((2, 3), number, "f4"), np.array([number], "i8")])

        loader = threading.Thread(target=load)
        loader.start()
        for number in range(5):
            images, labels = channel.receive(timeout_ms=10_000)
            assert images.shape == (2, 3)
            assert images.sum() == 6 * number
            assert labels.tolist() == [number]
        loader.join()
        assert len(channel) == 0


def test_messages_pass_along_a_route(c: CApi) -> None:
    source, target = (c("acltdtCreateQueue", attr=c.answer("acltdtCreateQueueAttr"), qid=Out()) for _ in range(2))
    routes = c.answer("acltdtCreateQueueRouteList")
    c("acltdtAddQueueRoute", routeList=routes, route=c.answer("acltdtCreateQueueRoute", srcId=source, dstId=target))
    c("acltdtBindQueueRoutes", qRouteList=routes)
    sent, received = ctypes.create_string_buffer(b"hello", 5), ctypes.create_string_buffer(5)
    c("acltdtEnqueueData", qid=source, data=ctypes.addressof(sent), dataSize=5, userData=0, userDataSize=0,
      timeout=1000, rsv=0)  # fmt: skip
    c("acltdtDequeueData", qid=target, data=ctypes.addressof(received), dataSize=5, retDataSize=Out(), userData=0,
      userDataSize=0, timeout=1000)  # fmt: skip
    assert received.raw == b"hello"
    c("acltdtUnbindQueueRoutes", qRouteList=routes)
    for number in (source, target):
        c("acltdtDestroyQueue", qid=number)
    c("acltdtDestroyQueueRouteList", routeList=routes)


def data_set(c: CApi, numbers: np.ndarray) -> int:
    dims = (ctypes.c_int64 * 2)(1, numbers.size)
    item = c.answer("acltdtCreateDataItem", tdtType=TENSOR, dims=ctypes.addressof(dims), dimNum=2, dataType=FLOAT,
                    data=numbers.ctypes.data, size=numbers.nbytes)  # fmt: skip
    made = c.answer("acltdtCreateDataset")
    c("acltdtAddDataItem", dataset=made, dataItem=item)
    return int(made)


def first_value(c: CApi, dataset: int) -> float:
    assert c.answer("acltdtGetDatasetSize", dataset=dataset) == 1
    item = c.answer("acltdtGetDataItem", dataset=dataset, index=0)
    dims = (ctypes.c_int64 * 2)()
    assert c.answer("acltdtGetDimNumFromItem", dataItem=item) == 2
    c("acltdtGetDimsFromItem", dataItem=item, dims=ctypes.addressof(dims), dimNum=2)
    assert (list(dims), c.answer("acltdtGetTensorTypeFromItem", dataItem=item)) == ([1, 4], TENSOR)
    assert c.answer("acltdtGetDataTypeFromItem", dataItem=item) == FLOAT
    assert c.answer("acltdtGetDataSizeFromItem", dataItem=item) == 16
    return float(ctypes.c_float.from_address(c.answer("acltdtGetDataAddrFromItem", dataItem=item)).value)


def destroy(c: CApi, dataset: int) -> None:
    c("acltdtDestroyDataItem", dataItem=c.answer("acltdtGetDataItem", dataset=dataset, index=0))
    c("acltdtDestroyDataset", dataset=dataset)
