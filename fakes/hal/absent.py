"""Functions that are absent on purpose: they answer as the real library does where a feature is missing.

Most answer NOT_SUPPORT; a few are not exported at all, so that `hal.has(name)` is false, like a weak symbol that the
library does not define.
"""

from __future__ import annotations

from collections.abc import Mapping

from npuhal import prototypes
from npuhal.records import dataclass


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a function is absent, and whether the library exports it (and answers NOT_SUPPORT)."""

    reason: str
    exported: bool = True


_CHAPTERS = {
    "esched": "the event scheduler serves processes on the device; a host asks the queue schedule alone",
    "hdc": "host-device sessions are the profiler's and the log's",
}
"""Chapters that are absent as a whole, but for what `_PRESENT` names."""
_PRESENT = frozenset({"halEschedSubmitEventSync"})
_MESSAGES = "queues that join devices over UB, or that the hardware of some chips serves"
_JETTIES = "made ahead of time only by drivers with a work-queue cache; copies over UB go through halAsyncDmaCreate"
_SUPER_POD = "there is one host: no super-pod, and one route between any two cards"
_BINDING = "processes on the device are bound by their starter (TSD), not by a host process"
_NOT_IN_DRIVER = "the driver's source does not define it"
_BUILD = "in special builds of the driver only"
_VIRTUAL = "cards are not divided into virtual ones"
_L2_BUFFERS = "L2 buffers and programs of the first Ascend chips"
_NAMED_NOTIFIES = "names of notifies before halShrId*"
_OWN_LOG = "the fake logs by Python's logging"

_ABSENT: Mapping[str, Absence] = {
    **dict.fromkeys(
        ("halAsyncDmaJettyCreate", "halAsyncDmaJettyDestroy", "halAsyncDmaJettyQuery", "halAsyncDmaJettyWqeFill",
         "halAsyncDmaWqeConvert"), Absence(_JETTIES),
    ),
    **dict.fromkeys(
        ("halQueueExport", "halQueueUnexport", "halQueueImport", "halQueueUnimport", "halQueueGetDqsQueInfo",
         "halBuffGetDQSPoolInfoById"), Absence(_MESSAGES),
    ),
    "halGrpCacheAlloc": Absence("groups of shared memory have no cache"),
    "halBufEventReport": Absence("groups of shared memory do not grow and shrink"),
    **dict.fromkeys(
        ("halParseSDID", "halShmemSetPodPid", "halShrIdSetPodPid", "halShmemMapRouteCheck"), Absence(_SUPER_POD),
    ),
    "halShmemOpenHandleV2": Absence(_SUPER_POD, exported=False),
    **dict.fromkeys(("drvBindHostPid", "drvUnbindHostPid", "drvQueryProcessHostPid"), Absence(_BINDING)),
    **dict.fromkeys(
        ("halCentreNotifyGet", "halCentreNotifySet", "halMemPoolFree", "halMemPoolMalloc", "halResourceIdInfoGet",
         "halGetNotifyEvent", "drvMemInitSvmDevice", "halMemBindSibling", "halMemGetInfoEx", "halMemInitSvmDevice",
         "halResRead", "halResWrite", "halResourceIdCheck", "halResourceIdRestore", "halSdmaBatchCopy",
         "halTsCmdlistMemMap", "halTsCmdlistMemUnMap"), Absence(_NOT_IN_DRIVER, exported=False),
    ),
    **dict.fromkeys(
        ("halRepairFault", "halResMap", "halResUnmap", "halDrvEventThreadInit", "halDrvEventThreadUninit"),
        Absence(_BUILD),
    ),
    **dict.fromkeys(("halGetDeviceVfMax", "halGetVdevIDs"), Absence(_VIRTUAL, exported=False)),
    "halGetDeviceCountFromChip": Absence("asked by services on the device", exported=False),
    "halShrIdGetAttribute": Absence("asked by services on the device", exported=False),
    "halGetMemModuleName": Absence("components are named by halGetMemUsageInfo", exported=False),
    "halMemRegUbSegment": Absence("memory segments of the UB driver; copies name their memory by address"),
    "halMemUnRegUbSegment": Absence("memory segments of the UB driver; copies name their memory by address"),
    "halGetCapabilityGroupInfo": Absence("cards are not divided into compute groups"),
    "halSetDeviceInfoByBuff": Absence("no fact of a card can be set from a host"),
    "halMemGetAddressReserveRange": Absence("no addresses are set aside for the data cache of the cores"),
}  # fmt: skip
_UNDECLARED: Mapping[str, Absence] = {
    **dict.fromkeys(("drvHdcGetTrustedBasePathV2", "drvHdcSendFileV2"), Absence(_CHAPTERS["hdc"], exported=False)),
    **dict.fromkeys(
        ("drvCreateIpcNotify", "drvDestroyIpcNotify", "drvSetIpcNotifyPid", "drvNotifyIdAddrOffset"),
        Absence(_NAMED_NOTIFIES, exported=False),
    ),
    **dict.fromkeys(
        ("drvLoadProgram", "drvMbindHbm", "drvMemAllocL2buffAddr", "drvMemReleaseL2buffAddr"),
        Absence(_L2_BUFFERS, exported=False),
    ),
    "drvCustomCall": Absence("commands for services on the device", exported=False),
    "halBindCgroup": Absence("control groups of processes on the device", exported=False),
    **dict.fromkeys(
        ("drv_log_report_err_msg_handle_register", "drv_log_report_err_msg_handle_unregister"),
        Absence(_OWN_LOG, exported=False),
    ),
    **dict.fromkeys(
        ("halCdqAllocBatch", "halCdqCreate", "halCdqDestroy", "halMemMapNoAccess", "halUpdateAddress",
         "drvSetPidIpcNotify"), Absence(_NOT_IN_DRIVER, exported=False),
    ),
}  # fmt: skip
"""Functions that no header of the driver declares, and libraries of CANN look for all the same."""
_FIRST_TREE = (
    "halMemManagedAdvise", "halMemManagedPrefetch", "halMemManagedPrefetchBatch", "halMemManagedRangeGetAttributes",
)  # fmt: skip


_FIRST_ONLY = ("halCheckProcessStatusEx", "halGetCurrentThreadNumaNode")
_LATER_ONLY = (
    "halGetMaxResMapType", "halMemGetAddressReserveRange", "halMemPoolGetAttr", "halMemPoolSetAttr",
    "halMemRegUbSegment", "halMemUnRegUbSegment", "halResAddrMapV2", "halResAddrUnmapV2", "halShmemMapRouteCheck",
)  # fmt: skip
"""What only one of the two libraries exports, as seen in builds of both; memory pools need more than that of either."""


def absence(name: str, driver_tree: int) -> Absence | None:
    """Return why a function is absent in a tree of the driver (`SchedulerTraits.driver_tree`); None when it is not.

    Raises KeyError for a name that neither the driver's headers nor the libraries above know.
    """
    if name in _UNDECLARED:
        return _UNDECLARED[name]
    if name in _FIRST_TREE and driver_tree != 1:
        return Absence("managed memory exists on STARS v1 only")
    if name in (_LATER_ONLY if driver_tree == 1 else _FIRST_ONLY):
        return Absence("this chip's driver does not export it", exported=False)
    chapter = None if name in _PRESENT else _CHAPTERS.get(prototypes.chapter_of(name))
    return _ABSENT.get(name) if chapter is None else Absence(chapter)
