"""Which HAL functions the fake models, answers as absent, or refuses."""

from __future__ import annotations

from enum import Enum

from fakes.hal import modelled
from fakes.hal.absent import absence
from npuhal import prototypes
from npuhal.records import dataclass


class Status(Enum):
    """What becomes of a call."""

    MODELLED = "modelled"
    ABSENT = "absent"
    """Answers as the real library does where the feature is missing: NOT_SUPPORT, or not exported."""
    REFUSED = "refused"
    """Raises NotModelled with the function's name."""


@dataclass(frozen=True, slots=True)
class Row:
    """One function."""

    name: str
    chapter: str
    status: Status
    referenced: bool
    """Whether the vendor's runtime refers to it."""
    reason: str = ""
    """Why it is absent."""
    exported: bool = True
    """Whether the library has the symbol."""


def coverage(driver_tree: int) -> list[Row]:
    """Return every function of the headers, for a tree of the driver (SchedulerTraits.driver_tree)."""
    known, rows = modelled(), []
    for name in sorted(prototypes.names()):
        chapter, referenced = prototypes.prototype(name).chapter, name not in _NOT_REFERENCED
        gap = absence(name, driver_tree)
        if gap is not None:
            rows.append(Row(name, chapter, Status.ABSENT, referenced, gap.reason, gap.exported))
        else:
            rows.append(Row(name, chapter, Status.MODELLED if name in known else Status.REFUSED, referenced))
    return rows


_NOT_REFERENCED = frozenset(
    (
        "drvGetDevIDByLocalDevID", "drvGetDeviceLocalIDs", "drvGetLocalDevIDByHostDevID", "drvGetProcessSign",
        "drvMemInitSvmDevice", "halAsyncDmaWqeCreate", "halAsyncDmaWqeDestory", "halCentreNotifySet", "halCtl",
        "halDeviceDisableP2PNotify", "halDrvEventThreadUninit", "halGetChipCount", "halGetChipList", "halGetDevIDsEx",
        "halGetDevNumEx", "halGetDevProbeList", "halGetDeviceCountFromChip", "halGetDeviceFromChip",
        "halGetDeviceVfList", "halGetDeviceVfMax", "halGetUserConfig", "halGetVdevIDs", "halGetVdevNum",
        "halMemAgentClose", "halMemAgentOpen", "halMemBindSibling", "halMemGetInfoEx", "halMemInitSvmDevice",
        "halMemRegUbSegment", "halMemShareHandleGetAttribute", "halMemUnRegUbSegment", "halNotifyGetInfo",
        "halResAddrUnmapV2", "halResRead", "halResUnmap", "halResWrite", "halResourceDisable", "halResourceEnable",
        "halResourceIdCheck", "halResourceIdRestore", "halSdmaBatchCopy", "halSetUserConfig", "halShmemGetAttribute",
        "halShrIdGetAttribute", "halSubscribeFaultEvent", "halTsCmdlistMemMap", "halTsCmdlistMemUnMap",
    )
)  # fmt: skip
"""Functions of the headers that the vendor's runtime sources never mention."""
