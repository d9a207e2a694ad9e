"""Memory by name: allocation, release, what an address is, what there is of it (core_spec 13.1 to 13.4, 13.10)."""

from __future__ import annotations

import ctypes
import struct

from npuhal import constants as c
from runtime import errors
from runtime.api.memory import DeviceMemory
from runtime.capi.aclrt.checks import context, live, null, refuse, visible, written, zero
from runtime.capi.aclrt.entry import Out, entry, need, need_rt, own_stream_of
from runtime.capi.aclrt.kinds import I32, U32, U64, Address, Enum, Handle, Size
from runtime.capi.aclrt.layouts import LIST, MALLOC_ATTRIBUTE
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.driver.memory import MemoryDriver
from runtime.driver.vmm import VirtualDriver
from runtime.launch.copy.cmo import queue_cache
from runtime.memory import caller
from runtime.memory.information import space
from runtime.memory.location import Location, locate

_LARGEST = (1 << 64) - 33
"""Most bytes that can be rounded to what the driver takes."""
_MODULE, _DEVICE, _UNIFIED = 1, 2, 3
"""aclrtMallocAttrType: the module that is charged, the device, and whether host memory gets a unified address."""
_POINTER_ATTRIBUTES = struct.Struct("<III")
"""aclrtPtrAttributes: location id, location type, page size; 16 reserved bytes follow."""
_USAGE = struct.Struct("<32sQQ64x")
"""aclrtMemUsageInfo: name, bytes now, peak bytes."""
_MEMORY_TYPES = c.MEM_DEV_TYPE | c.MEM_DVPP_TYPE | c.MEM_RESERVE_TYPE


def device_of(acl: Acl) -> DeviceMemory:
    """Return the device of the calling thread's context; 107002 with EE1018 without one."""
    device = acl.runtime.current_context().device
    assert isinstance(device, DeviceMemory)
    return device


def virtual_driver(acl: Acl) -> VirtualDriver:
    """Return the driver of the thread's device; without a context that of the first one, as these calls need none."""
    if acl.runtime.find_context() is None:
        return VirtualDriver(acl.runtime.hal, 0, acl.runtime.virtual_memory)
    return device_of(acl).virtual


def need_size(call: str, size: int, name: str = "size") -> int:
    """Return a size, or raise the acl layer's answer to 0: 100000 with EH0007."""
    if not size or size < 0:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is {size}; it must be more than 0", ee="EH0007",
            params=(call, size, name, "more than 0"), hint="pass a positive number of bytes",
        )
    return size


def _attributes(call: str, cfg: int) -> dict[int, int]:
    """Read aclrtMallocConfig: an array of attributes, and how many."""
    if not cfg:
        return {}
    rows, count = LIST.unpack(caller.read(cfg, LIST.size))
    need_rt(call, **{"cfg->attrs": rows})
    return dict(caller.rows(MALLOC_ATTRIBUTE, count, rows))


# -- device memory -------------------------------------------------------------------------------------------------


@entry(
    null("devPtr"), zero("size"),
    refuse("size > 0xFFFF_FFFF_FFFF_FFDF", "size", "at most 2^64 - 33", "", code=100000), context(),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMalloc(acl: Acl, devPtr: Out[Address], size: Size, policy: Enum) -> None:
    """Allocate device memory, padded as the chip wants it."""
    _malloc(acl, "aclrtMalloc", devPtr, size, policy, "malloc")


@entry(null("devPtr"), zero("size"), waits_for_snapshot=True)
def aclrtMallocAlign32(acl: Acl, devPtr: Out[Address], size: Size, policy: Enum) -> None:
    """Allocate device memory, rounded up to 32 bytes only."""
    _malloc(acl, "aclrtMallocAlign32", devPtr, size, policy, "malloc_align32")


@entry(null("devPtr"), zero("size"), waits_for_snapshot=True)
def aclrtMallocCached(acl: Acl, devPtr: Out[Address], size: Size, policy: Enum) -> None:
    """The same as aclrtMalloc."""
    _malloc(acl, "aclrtMallocCached", devPtr, size, policy, "malloc_cached")


_LISTED = refuse(
    "cfg and word_at(cfg + 8) and not address_at(cfg)", "cfg->attrs", "the attributes that are counted", "EH0009",
    rule="cfg counts attributes and has none",
)
"""What calls with a configuration refuse of it in the acl layer."""


@entry(null("devPtr"), _LISTED, zero("size"), passes_snapshot=True)
def aclrtMallocWithCfg(acl: Acl, devPtr: Out[Address], size: Size, policy: Enum, cfg: Address) -> None:
    """Allocate device memory without padding; policies can be combined, attributes choose the module."""
    _malloc(acl, "aclrtMallocWithCfg", devPtr, size, policy, "malloc_with_cfg", cfg)


@entry(null("devPtr"), _LISTED, zero("size"), passes_snapshot=True)
def aclrtMallocForTaskScheduler(acl: Acl, devPtr: Out[Address], size: Size, policy: Enum, cfg: Address) -> None:
    """Allocate device memory that the task scheduler reads."""
    _malloc(acl, "aclrtMallocForTaskScheduler", devPtr, size, policy, "malloc_for_task_scheduler", cfg)


def _malloc(
    acl: Acl, call: str, devPtr: Out[int], size: int, policy: int, rule: str, cfg: int = 0
) -> None:
    need(call, devPtr=devPtr)
    asked = need_size(call, size)
    attributes = _attributes(call, cfg)
    for number in attributes:
        if number not in (_MODULE, _DEVICE, _UNIFIED):
            raise _bad_attribute(call, number)
    device = device_of(acl)
    wanted = attributes.get(_DEVICE, device.user_id)
    if wanted != device.user_id:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: attribute DEVICE_ID is {wanted}, the thread works on device "
            f"{device.user_id}", ee="EE1003", params=(call, wanted, "DEVICE_ID", device.user_id),
            hint="set that device first",
        )
    if rule == "malloc_for_task_scheduler" and asked > _LARGEST:
        raise errors.fault("ACL_ERROR_RT_PARAM_INVALID", f"{call}: the driver has no {asked} bytes at one address")
    device.deferred_frees.sweep()
    devPtr.value = 0  # what a refusal of the driver leaves
    devPtr.value = device.allocator.device(asked, policy, rule, attributes.get(_MODULE))


def _bad_attribute(call: str, number: int) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: attribute {number} does not go with this call", ee="EE1003",
        params=(call, number, "attr", "MODULE_ID 1 or VA_FLAG 3"), hint="leave it out",
    )


@entry(null("devPtr"), waits_for_snapshot=True)
def aclrtFree(acl: Acl, devPtr: Address) -> None:
    """Free device memory, or pinned host memory, at once."""
    _free(acl, devPtr)


@entry(null("devPtr"), context(), waits_for_snapshot=True)
def aclrtFreeWithDevSync(acl: Acl, devPtr: Address) -> None:
    """Wait for the device, then free."""
    acl.runtime.current_context().synchronize()
    _free(acl, devPtr)


def _free(acl: Acl, address: int) -> None:
    """Give memory back by the device that has it in its ledger; the driver decides about everything else.

    A block that went with its device may be freed once more afterwards (core_spec 3.3), unless the driver says that
    nothing is there (507899).
    """
    left_behind = address in acl.runtime.left_behind
    acl.runtime.left_behind.discard(address)
    for device in acl.runtime.open_devices():
        if isinstance(device, DeviceMemory) and device.ledger.find(address) is not None:
            device.allocator.free(address)
            return
    try:
        MemoryDriver(acl.runtime.hal, 0).free(address)
    except errors.InvalidArgument:
        if not left_behind:
            raise


# -- host memory ---------------------------------------------------------------------------------------------------

_MOST_PINNED = 0xFFFF_FFFF_FFFF_FFC0
"""Beyond it a size wraps once it is padded."""


@entry(
    null("hostPtr"), zero("size"), context(), written("hostPtr"),
    refuse(f"size > {_MOST_PINNED:#x}", "size", "less", "", code=107000),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtMallocHost(acl: Acl, hostPtr: Out[Address], size: Size) -> None:
    """Allocate pinned host memory."""
    asked = size
    hostPtr.value = device_of(acl).allocator.host(asked)


@entry(null("ptr"), zero("size"), waits_for_snapshot=True)
def aclrtMallocHostWithCfg(acl: Acl, ptr: Out[Address], size: U64, cfg: Address) -> None:
    """Allocate pinned host memory for a module, or at an address that devices share (VA_FLAG 1)."""
    call = "aclrtMallocHostWithCfg"
    asked = size
    attributes = _attributes(call, cfg)
    for number in attributes:
        if number not in (_MODULE, _UNIFIED):
            raise _bad_attribute(call, number)
    device, shared = device_of(acl), bool(attributes.get(_UNIFIED))
    if shared and not device.memory.supports("FEATURE_SVM_MEM_HOST_UVA"):
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: the driver has no host memory at shared addresses",
            hint="leave attribute 3 (VA_FLAG) out, and register the memory for devices",
        )
    rule = "malloc_host_uva" if shared else "malloc_host_with_cfg"
    ptr.value = 0  # what a refusal leaves
    if asked > _MOST_PINNED:
        raise errors.fault("ACL_ERROR_RT_PARAM_INVALID", f"{call}: size is {asked}; at most {_MOST_PINNED} bytes")
    ptr.value = device.allocator.host(asked, rule, attributes.get(_MODULE))


@entry(null("hostPtr"), waits_for_snapshot=True)
def aclrtFreeHost(acl: Acl, hostPtr: Address) -> None:
    """Free pinned host memory; works without a context."""
    _free_host(acl, "aclrtFreeHost", hostPtr)


@entry(null("hostPtr"), context(), waits_for_snapshot=True)
def aclrtFreeHostWithDevSync(acl: Acl, hostPtr: Address) -> None:
    """Wait for the device, then free."""
    acl.runtime.current_context().synchronize()
    _free_host(acl, "aclrtFreeHostWithDevSync", hostPtr)


def _free_host(acl: Acl, call: str, address: int) -> None:
    memory = MemoryDriver(acl.runtime.hal, 0)
    if memory.classifies and locate(memory, address).location not in (Location.HOST, Location.UNREGISTERED):
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {address:#x} is no host memory", ee="EE1011",
            params=(call, f"{address:#x}", "hostPtr", "it is device memory"), hint="use aclrtFree",
        )
    _free(acl, address)


# -- questions -----------------------------------------------------------------------------------------------------


@entry(
    null("free", "total"), refuse("not 0 <= attr <= 17", "attr", "[0, 17]", "EE1003", code=107016),
    context(message="EE1001"),
)  # fmt: skip
def aclrtGetMemInfo(acl: Acl, attr: Enum, free: Out[Size], total: Out[Size]) -> None:
    """Return free and total bytes of one kind of memory."""
    call = "aclrtGetMemInfo"
    context = acl.runtime.find_context()
    if context is None:
        raise errors.fault(
            "ACL_ERROR_RT_CONTEXT_NULL", f"{call}: this thread has no device set", ee="EE1001",
            params=(f"{call}: no context is bound to the thread",), hint="call aclrtSetDevice first",
        )
    free.value, total.value = space(context.device.memory, attr, call)


@entry(
    null("memUsageInfo", "outputNum"), written("outputNum"), zero("inputNum", message="EE1003"), visible("deviceId"),
    context(),
)  # fmt: skip
def aclrtGetMemUsageInfo(
    acl: Acl, deviceId: I32, memUsageInfo: Address, inputNum: Size, outputNum: Out[Size]
) -> None:
    """Write what each component holds of a device: as many rows as there is space for."""
    call = "aclrtGetMemUsageInfo"
    capacity = inputNum
    slot = acl.runtime.slot(deviceId, call)
    rows = MemoryDriver(acl.runtime.hal, acl.runtime.visible.ids[slot.index]).usage(capacity)
    for number, (name, now, peak) in enumerate(rows):
        data = _USAGE.pack(caller.octets(name), now, peak)
        caller.write(memUsageInfo + number * _USAGE.size, data, len(data))
    outputNum.value = len(rows)


@entry(null("ptr", "attributes"))
def aclrtPointerGetAttributes(acl: Acl, ptr: Address, attributes: Address) -> None:
    """Write where an address lies, on which device, and the page size; plain host memory is UNREGISTERED."""
    call = "aclrtPointerGetAttributes"
    runtime = acl.runtime
    memory = MemoryDriver(runtime.hal, 0)
    if not memory.classifies:
        raise errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"{call}: this driver does not classify addresses")
    found = locate(memory, ptr, exists=True)
    ids = runtime.visible.ids
    user = ids.index(found.device_id) if found.device_id in ids else found.device_id
    data = _POINTER_ATTRIBUTES.pack(user, found.location, found.page_bytes)
    caller.write(attributes, data, len(data))


@entry(null("ptr"))
def aclrtMemGetAddressRange(acl: Acl, ptr: Address, pbase: Out[Address] | None, psize: Out[Size] | None) -> None:
    """Return the block that holds an address; one of the outputs may be NULL."""
    call = "aclrtMemGetAddressRange"
    if pbase is None and psize is None:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: pbase and psize are both NULL", ee="EE1022",
            params=(call, "NULL", "pbase and psize", "there is nothing to write"), hint="pass at least one",
        )
    if pbase is not None:
        pbase.value = 0  # what a refusal of the driver leaves
    base, size = MemoryDriver(acl.runtime.hal, 0).address_range(ptr)
    if pbase is not None:
        pbase.value = base
    if psize is not None:
        psize.value = size


@entry(null("addrList", "checkResult"))
def aclrtCheckMemType(
    acl: Acl, addrList: Address, size: U32, memType: U32, checkResult: Out[U32], reserve: U32
) -> None:
    """Tell whether all addresses of a list are memory of a type: 2 device, 8 DVPP, 32 reserved."""
    call, count, checkResult.value = "aclrtCheckMemType", size, 0
    for name, value, wrong, expected in (("reserve", reserve, reserve, "0"), ("size", size, not size, "more than 0")):
        if wrong:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name} is {value}; expected {expected}", ee="EE1003",
                params=(call, value, name, expected),
            )
    if memType & ~_MEMORY_TYPES:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: memType is {memType:#x}", ee="EE1006",
            params=(call, f"memType {memType:#x}", "it is an OR of 2, 8 and 32"), hint="pass an OR of 2, 8 and 32",
        )
    addresses = list(caller.array(ctypes.c_uint64, count, addrList))
    checkResult.value = int(device_of(acl).memory.all_of_type(addresses, memType))


# -- cache ---------------------------------------------------------------------------------------------------------


def _touch(call: str, devPtr: int, size: int) -> None:
    need(call, devPtr=devPtr)
    need_size(call, size)


@entry(null("devPtr"), zero("size"), context())
def aclrtMemFlush(acl: Acl, devPtr: Address, size: Size) -> None:
    """Nothing: host caches are coherent with what the driver maps."""
    _touch("aclrtMemFlush", devPtr, size)


@entry(null("devPtr"), zero("size"), context())
def aclrtMemInvalidate(acl: Acl, devPtr: Address, size: Size) -> None:
    """Nothing: host caches are coherent with what the driver maps."""
    _touch("aclrtMemInvalidate", devPtr, size)


@entry(
    null("src"), zero("size"), live("stream", Stream),
    refuse("cmoType not in (0, 1, 2, 3)", "cmoType", "[0, 3]", "", code=207000),
    refuse("is_bound(stream_) and not is_graph(stream_.bound)", "stream", "in no hand-built model", "", code=207000),
    waits_for_snapshot=True,
)  # fmt: skip
def aclrtCmoAsync(acl: Acl, src: Address, size: Size, cmoType: Enum, stream: Handle) -> None:
    """Queue a cache operation: 0 prefetch, 1 write back, 2 invalidate, 3 flush."""
    call = "aclrtCmoAsync"
    queue_cache(own_stream_of(acl, call, stream), src, size, cmoType, call)
