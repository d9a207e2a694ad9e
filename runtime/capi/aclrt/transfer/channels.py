"""Tensors between threads by name (acl_tdt.h): items, data sets of them, and channels that carry these."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TypeVar

from npuhal.records import dataclass, field
from runtime import errors
from runtime.capi.aclrt.checks import null
from runtime.capi.aclrt.entry import Out, entry, need, object_of, wrong
from runtime.capi.aclrt.kinds import I32, U32, Address, Enum, Handle, Size, Text
from runtime.capi.aclrt.state import Acl
from runtime.driver.message_queue import NAME_BYTES
from runtime.feature.messages import SENDABLE, Channel, Item, ItemKind
from runtime.memory import caller
from runtime.memory.location import Location, locate

Answer = TypeVar("Answer")
_wrong = partial(wrong, hint="see the message")

_MOST_DIMS = 128
_UNDEFINED = -1
_DEFAULT_CAPACITY = 2


@dataclass(slots=True, eq=False)
class DataItem:
    """A tensor or sign: its data is the caller's, or for what was received, `held`."""

    kind: int
    data_type: int
    dims: tuple[int, ...]
    address: int
    size: int
    slices: int = 0
    slice_number: int = 0
    held: object = None


@dataclass(slots=True, eq=False)
class Dataset:
    """Items by handle; those that were received belong to the set."""

    items: list[int] = field(default_factory=list)
    name: str = ""
    received: bool = False
    on_device: bool | None = None


# -- items ---------------------------------------------------------------------------------------------------------


@entry(failure=0)
def acltdtCreateDataItem(
    acl: Acl, tdtType: Enum, dims: Address, dimNum: Size, dataType: Enum, data: Address,
    size: Size,
) -> Handle:  # fmt: skip
    """Make an item and return its handle; NULL when dimensions and kind do not go together."""
    call, kind, count = "acltdtCreateDataItem", tdtType, dimNum

    if bool(dims) != bool(count):
        raise wrong(call, count, "dimNum", f"[1, {_MOST_DIMS}] with dims, 0 without", message="EH0009")
    if count > _MOST_DIMS:
        raise wrong(call, count, "dimNum", f"[0, {_MOST_DIMS}]")
    if kind != ItemKind.TENSOR and dims:
        raise wrong(call, dims, "dims", "NULL for what is no tensor")
    if kind != ItemKind.TENSOR:
        return acl.runtime.handles.add(DataItem(kind, _UNDEFINED, (), 0, 0))
    sizes = tuple(caller.array(ctypes.c_int64, count, dims)) if dims else ()
    return acl.runtime.handles.add(DataItem(kind, dataType, sizes, data, size))


@entry(null("dataItem"))
def acltdtDestroyDataItem(acl: Acl, dataItem: Handle) -> None:
    """Give an item up; its data stays."""
    _item(acl, "acltdtDestroyDataItem", dataItem)
    acl.runtime.handles.remove(dataItem)


@entry(null("dataItem"), failure=-1)
def acltdtGetTensorTypeFromItem(acl: Acl, dataItem: Handle) -> Enum:
    """Return the kind of an item."""
    return _item(acl, "acltdtGetTensorTypeFromItem", dataItem).kind


@entry(null("dataItem"), failure=-1)
def acltdtGetDataTypeFromItem(acl: Acl, dataItem: Handle) -> Enum:
    """Return the type of an item's numbers."""
    return _item(acl, "acltdtGetDataTypeFromItem", dataItem).data_type


@entry(failure=0)
def acltdtGetDataAddrFromItem(acl: Acl, dataItem: Handle) -> Address:
    """Return where an item's data lies."""
    return _item(acl, "acltdtGetDataAddrFromItem", dataItem).address


@entry(null("dataItem"), failure=0)
def acltdtGetDataSizeFromItem(acl: Acl, dataItem: Handle) -> Size:
    """Return the bytes of an item's data."""
    return _item(acl, "acltdtGetDataSizeFromItem", dataItem).size


@entry(null("dataItem"), failure=0)
def acltdtGetDimNumFromItem(acl: Acl, dataItem: Handle) -> Size:
    """Return how many dimensions an item has."""
    return len(_item(acl, "acltdtGetDimNumFromItem", dataItem).dims)


@entry(null("dataItem"))
def acltdtGetDimsFromItem(acl: Acl, dataItem: Handle, dims: Address, dimNum: Size) -> None:
    """Write an item's dimensions to `dims`, which must have space for all."""
    call, count = "acltdtGetDimsFromItem", dimNum
    item = _item(acl, call, dataItem)
    if bool(dims) != bool(count) or count < len(item.dims):
        raise wrong(call, count, "dimNum", f"{len(item.dims)} or more with dims, 0 without", message="EH0009")
    if dims:
        caller.write(dims, (ctypes.c_int64 * count)(*item.dims), 8 * len(item.dims))


@entry(null("dataItem", "sliceNum", "sliceId"))
def acltdtGetSliceInfoFromItem(acl: Acl, dataItem: Handle, sliceNum: Out[Size], sliceId: Out[Size]) -> None:
    """Return of how many parts an item is one, and which."""
    call = "acltdtGetSliceInfoFromItem"
    item = _item(acl, call, dataItem)
    need(call, sliceNum=sliceNum, sliceId=sliceId)
    sliceNum.value, sliceId.value = item.slices, item.slice_number


# -- data sets -----------------------------------------------------------------------------------------------------


@entry()
def acltdtCreateDataset(acl: Acl) -> Handle:
    """Make an empty set and return its handle."""
    return acl.runtime.handles.add(Dataset())


@entry(null("dataset"))
def acltdtDestroyDataset(acl: Acl, dataset: Handle) -> None:
    """Give a set up, and with it the items that it received."""
    _forget(acl, _dataset(acl, "acltdtDestroyDataset", dataset))
    acl.runtime.handles.remove(dataset)


@entry(null("dataset", "dataItem"))
def acltdtAddDataItem(acl: Acl, dataset: Handle, dataItem: Handle) -> None:
    """Add an item to a set of one's own, all of whose data is on the host or all on a device."""
    call = "acltdtAddDataItem"
    target, item = _dataset(acl, call, dataset), _item(acl, call, dataItem)
    if target.received:
        raise errors.fault(
            "ACL_ERROR_FEATURE_UNSUPPORTED", f"{call}: the set holds what was received", ee="EH0006",
            params=(call, "the set holds what was received"),
            hint="add items to a set of their own",
        )
    if item.address:
        on_device = _is_on_device(acl, item.address)
        if target.on_device not in (None, on_device):
            raise wrong(call, hex(item.address), "dataItem", "data where that of the others is", message="EH0009")
        target.on_device = on_device
    target.items.append(dataItem)


@entry(failure=0)
def acltdtGetDataItem(acl: Acl, dataset: Handle, index: Size) -> Handle:
    """Return the handle of an item of a set by its index, NULL beyond the last."""
    call = "acltdtGetDataItem"
    items = _dataset(acl, call, dataset).items
    if index >= len(items):
        raise wrong(call, index, "index", f"less than {len(items)}", message="EH0009")
    return items[index]


@entry(null("dataset"), failure=0)
def acltdtGetDatasetSize(acl: Acl, dataset: Handle) -> Size:
    """Return how many items a set has."""
    return len(_dataset(acl, "acltdtGetDatasetSize", dataset).items)


@entry(failure="")
def acltdtGetDatasetName(acl: Acl, dataset: Handle) -> Text:
    """Return the name that came with what was received."""
    return _dataset(acl, "acltdtGetDatasetName", dataset).name


# -- channels ------------------------------------------------------------------------------------------------------


@entry(failure=0)
def acltdtCreateChannel(acl: Acl, deviceId: U32, name: Text | None) -> Handle:
    """Make a channel of the default capacity and return its handle; NULL when it cannot be made."""
    return _create(acl, "acltdtCreateChannel", deviceId, name, _DEFAULT_CAPACITY)


@entry(failure=0)
def acltdtCreateChannelWithCapacity(acl: Acl, deviceId: U32, name: Text | None, capacity: Size) -> Handle:
    """Make a channel for so many messages and return its handle; NULL when it cannot be made."""
    return _create(acl, "acltdtCreateChannelWithCapacity", deviceId, name, capacity)


@entry(null("handle"))
def acltdtDestroyChannel(acl: Acl, handle: Handle) -> None:
    """Give a channel up, with what is in it."""
    _channel(acl, "acltdtDestroyChannel", handle).close()
    acl.runtime.handles.remove(handle)


@entry(null("handle"))
def acltdtStopChannel(acl: Acl, handle: Handle) -> None:
    """Do nothing: who waits here waits with a limit, or until the channel is destroyed."""
    _channel(acl, "acltdtStopChannel", handle)


@entry(null("handle"))
def acltdtCleanChannel(acl: Acl, handle: Handle) -> None:
    """Drop what is in a channel."""
    _channel(acl, "acltdtCleanChannel", handle).clear()


@entry(null("handle", "dataset"))
def acltdtSendTensor(acl: Acl, handle: Handle, dataset: Handle, timeout: I32) -> None:
    """Send a set: -1 waits for space, 0 does not, else milliseconds; 207014 when there was none."""
    call = "acltdtSendTensor"
    channel, source = _channel(acl, call, handle), _dataset(acl, call, dataset)
    items = [_item(acl, call, each) for each in source.items]
    for item in items:
        if item.kind not in SENDABLE:
            raise wrong(call, item.kind, "kind of an item", "a tensor, the end of a sequence, or abnormal")
    channel.send_items(
        [Item(ItemKind(item.kind), item.data_type, item.dims, _read(acl, item)) for item in items],
        timeout_ms=timeout,
    )


@entry(null("handle", "dataset"))
def acltdtReceiveTensor(acl: Acl, handle: Handle, dataset: Handle, timeout: I32) -> None:
    """Receive the next set in the place of what was received before; times as of acltdtSendTensor, 207013 for none."""
    call = "acltdtReceiveTensor"
    channel, target = _channel(acl, call, handle), _dataset(acl, call, dataset)
    if target.items and not target.received:
        raise wrong(call, len(target.items), "items of dataset", "none, or received ones")
    name, items = channel.receive_items(timeout_ms=timeout)
    _forget(acl, target)
    target.received, target.name = True, name
    for item in items:
        held = ctypes.create_string_buffer(item.data, max(len(item.data), 1))
        address = ctypes.addressof(held) if item.data else 0
        target.items.append(acl.runtime.handles.add(DataItem(
            item.kind, item.data_type, item.dims, address, len(item.data), item.slices, item.slice_number, held
        )))  # fmt: skip


@entry(null("handle", "size"))
def acltdtQueryChannelSize(acl: Acl, handle: Handle, size: Out[Size]) -> None:
    """Return how many sets are in a channel."""
    call = "acltdtQueryChannelSize"
    channel = _channel(acl, call, handle)
    need(call, size=size)
    size.value = len(channel)


def _create(acl: Acl, call: str, deviceId: int, name: str | None, capacity: int) -> int:
    if name is None:
        need(call, name=name)
    text = name or ""
    if len(caller.octets(text)) > NAME_BYTES:
        raise wrong(call, text, "name", f"at most {NAME_BYTES} bytes", message="EH0009")
    return acl.runtime.handles.add(Channel(acl.runtime.device(deviceId), text, capacity))


def _read(acl: Acl, item: DataItem) -> bytes:
    if not item.address or not item.size:
        return b""
    if _is_on_device(acl, item.address):
        return bytes(acl.runtime.current_context().device.memory.read(item.address, item.size))
    return caller.read(item.address, item.size)


def _is_on_device(acl: Acl, address: int) -> bool:
    return locate(acl.runtime.current_context().device.memory, address).location is Location.DEVICE


def _forget(acl: Acl, dataset: Dataset) -> None:
    if dataset.received:
        for each in dataset.items:
            if acl.runtime.handles.holds(each):
                acl.runtime.handles.remove(each)
    dataset.items = []


def _item(acl: Acl, call: str, item: int) -> DataItem:
    return object_of(acl, call, DataItem, dataItem=item)


def _dataset(acl: Acl, call: str, dataset: int) -> Dataset:
    return object_of(acl, call, Dataset, dataset=dataset)


def _channel(acl: Acl, call: str, handle: int) -> Channel:
    return object_of(acl, call, Channel, handle=handle)
