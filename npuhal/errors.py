"""What a HAL call's error code means, as a tree of exceptions, and the errors of finding and loading the library.

The numbers themselves are in the tables (ascend_hal_error.h, enum tagDrvError); here each name gets a class and a cure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from npuhal.words import shortened


class NpuhalError(Exception):
    """Base of everything this package raises."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[NpuhalError], args: tuple[Any, ...], state: dict[str, Any]) -> NpuhalError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class LoadError(NpuhalError):
    """The library behind a URL cannot be used."""


class ForeignPackage(LoadError):
    """A package of another origin is found under a name of ours; `found` holds its path by name."""

    def __init__(self, found: dict[str, str], home: str) -> None:
        self.found, self.home = found, home
        told = "; ".join(
            f"`import {name}` finds {path}" if path else f"there is no package {name}"
            for name, path in found.items()
        )
        super().__init__(
            f"{told}, not the one in {home}. Rename the file or remove the package that is in the way, or start Python "
            f"with PYTHONPATH={home}"
        )


class BadUrl(LoadError):
    """A HAL URL is malformed, or has an unknown scheme or option."""

    def __init__(self, text: str) -> None:
        super().__init__(shortened(text))  # it quotes the URL, which may be anything


class LibraryNotFound(LoadError):
    """No libascend_hal.so could be loaded; `searched` holds (path, why it failed) pairs."""

    def __init__(self, searched: tuple[tuple[str, str], ...]) -> None:
        self.searched = searched
        lines = "\n".join(f"  {path}: {reason}" for path, reason in searched)
        super().__init__(
            f"libascend_hal.so was not found. Searched:\n{lines}\n"
            "Install the Ascend driver, or name the library with ASCEND_HAL_LIB or NPUHAL_URL=hal:///path/to/it; "
            "without an NPU run on the fake: NPUHAL_URL=fake://ascend910b3"
        )


class MissingSymbols(LoadError):
    """The library lacks functions that the runtime cannot do without."""

    def __init__(self, library: str, names: tuple[str, ...], generation: str = "") -> None:
        self.library = library
        self.names = names
        self.generation = generation
        what = f"for chip generation {generation} " if generation else ""
        super().__init__(
            f"{library} lacks {len(names)} function(s) needed {what}by this runtime: {', '.join(names)}. "
            "The driver is too old or of another product: install the driver package of this machine's NPU."
        )


class StubLibrary(LoadError):
    """The library is the toolkit's link-time stub, in which every function answers success and does nothing."""

    def __init__(self, library: str) -> None:
        self.library = library
        super().__init__(
            f"{library} is the toolkit's link stub: its functions answer 0 without filling their outputs. "
            "Take the stub folder (devlib/*/stub) out of LD_LIBRARY_PATH, or name the driver's own library, usually "
            "/usr/local/Ascend/driver/lib64/driver/libascend_hal.so, with ASCEND_HAL_LIB."
        )


class HalError(NpuhalError):
    """A HAL call answered with an error code.

    Attributes: `code` (drvError_t), `name` (its C name), `call` (the function), `detail` (what was asked), `hint`.
    """

    cure: ClassVar[str] = "see the driver's log (dmesg and /root/ascend/log or $ASCEND_PROCESS_LOG_PATH)"

    def __init__(self, code: int, call: str, detail: str = "") -> None:
        self.code = code
        self.name = error_name(code)
        self.call = call
        self.detail = detail
        self.hint = HINTS.get(self.name, self.cure)
        if call in _LISTED_CALLS and isinstance(self, PermissionDenied):
            self.hint = _NOT_LISTED
        about = f" ({detail})" if detail else ""
        super().__init__(f"{call} answered {self.name} ({code}){about}: {self.hint}")


class InvalidArgument(HalError):
    """The HAL refused an argument."""

    cure = "an argument is out of its range, NULL, or belongs to no open object"


class OutOfMemory(HalError):
    """Host or device memory is used up."""

    cure = "free memory on that side, or ask for less"


class NoCredit(HalError):
    """The queue has no free slots now (NO_RESOURCES); flow control rather than a fault."""

    cure = "no free slots or resources at the moment: let the device consume, then try again"


class NoIds(HalError):
    """Ids of a kind (stream, event, notify, model) are used up."""

    cure = "all ids of this kind are taken: destroy objects that are no longer needed"


class Timeout(HalError):
    """A bounded wait ended without its event."""

    cure = "the wait ended before its event came"


class DeviceLost(HalError):
    """The device, its link, or a process on it is gone or not ready."""

    cure = "the device or its link is down: check npu-smi info and dmesg, then reset the device"


class NotSupported(HalError):
    """This driver or this product cannot do it."""

    cure = "this driver version or product does not offer it"

    @classmethod
    def missing(cls, name: str, library: str) -> NotSupported:
        """Return the error for calling a function that the library does not export."""
        return cls(error_code("DRV_ERROR_NOT_SUPPORT"), name, f"{library} does not export this function")


class RepeatedInit(HalError):
    """It is already initialised, opened or subscribed."""

    cure = "already done in this process, possibly by another runtime living in it"


class NotInitialised(HalError):
    """The device or module has not been opened."""

    cure = "open the device first"


class NotFound(HalError):
    """What the call names does not exist."""

    cure = "no such object: it was never created, or is already freed"


class Busy(HalError):
    """The object or the device side is in use."""

    cure = "in use at the moment: end the other use, or try again"


class PermissionDenied(HalError):
    """The process may not do this."""

    cure = "check the device nodes' group (usually HwHiAiUser), the container's device list, and who owns the object"


class StateError(HalError):
    """The object is in a state that does not allow the call."""

    cure = "the object is stopped, paused or in another mode"


class ChannelError(HalError):
    """Communication between host and device processes failed."""

    cure = "the host-device channel failed: check that the device-side services run (npu-smi info)"


_CLASSES: tuple[tuple[type[HalError], str], ...] = (
    (
        InvalidArgument,
        "INVALID_DEVICE INVALID_VALUE INVALID_HANDLE INVALID_MALLOC_TYPE PARA_ERROR OVER_LIMIT BAD_ADDRESS"
        " DST_PATH_ILLEGAL THREAD_EXCEEDS_SPEC DUP_CONFIG EVENT_NOT_MATCH PROCESS_NOT_MATCH NON_SCHED_GRP_MUL_THREAD"
        " GROUP_NON_SCHED",
    ),
    (OutOfMemory, "OUT_OF_MEMORY MALLOC_FAIL NO_FREE_SPACE MBIND_FAIL"),
    (NoCredit, "NO_RESOURCES OUT_OF_CMD_SLOT QUEUE_FULL SQID_FULL"),
    (
        NoIds,
        "NO_EVENT_RESOURCES NO_STREAM_RESOURCES NO_NOTIFY_RESOURCES NO_MODEL_RESOURCES NO_CDQ_RESOURCES",
    ),
    (Timeout, "WAIT_TIMEOUT SUBSCRIBE_THREAD_TIMEOUT TRANS_LINK_ACK_TIMEOUT_ERR"),
    (
        DeviceLost,
        "NO_DEVICE BUS_DOWN DEVICE_NOT_READY PROCESS_EXIT DEV_PROCESS_HANG HOT_RESET_IN_PROGRESS POWER_OP_FAIL"
        " NET_UNREACH TRANS_LINK_ABNORMAL BIST_HW_ERR BIST_SW_ERR SOCKET_CLOSE",
    ),
    (NotSupported, "NOT_SUPPORT RUNTIME_ON_OTHER_PLAT"),
    (
        RepeatedInit,
        "REPEATED_INIT REPEATED_USERD REPEATED_SUBSCRIBED SERVER_HAS_BEEN_CREATED GROUP_EXIST PROCESS_REPEAT_ADD",
    ),
    (NotInitialised, "UNINIT OPEN_FAILED"),
    (
        NotFound,
        "NOT_EXIST NO_PROCESS NO_GROUP NO_EVENT NO_SUBSCRIBE_THREAD DST_NO_SUCH_FILE CDQ_NOT_EXIST QUEUE_EMPTY",
    ),
    (Busy, "BUSY CLIENT_BUSY SERVER_BUSY TRY_AGAIN NON_BLOCK RESOURCE_OCCUPIED DST_FILE_IS_BEING_WRITTEN"),
    (
        PermissionDenied,
        "OPER_NOT_PERMITTED PERMISSION DST_PERMISSION_DENIED UNAUTHORIZED_ACCESS_DEVICE PARTITION_NOT_RIGHT",
    ),
    (
        StateError,
        "STATUS_FAIL THREAD_NOT_RUNNIG WAIT_INTERRUPT RESUME CDQ_ABNORMAL CDQ_QUIT EPOLL_CLOSE"
        " RUN_IN_ILLEGAL_CPU CALL_NO_RETRY",
    ),
    (
        ChannelError,
        "SOCKET_CREATE SOCKET_CONNECT SOCKET_BIND SOCKET_LISTEN SOCKET_ACCEPT SOCKET_SET RECV_MESG SEND_MESG"
        " SERVER_CREATE_FAIL REMOTE_NOT_LISTEN REMOTE_NO_SESSION CONNECT",
    ),
)

_LISTED_CALLS = frozenset((
    "halShmemOpenHandle", "halShmemOpenHandleByDevId", "halShrIdOpen", "halMemImportFromShareableHandle",
    "halMemImportFromShareableHandleV2",
))  # fmt: skip
"""Calls that open what another process has shared with those on its list."""
_NOT_LISTED = (
    "this process is not on the owner's list: let the owner allow the bare process id of this one (what bare_pid() or "
    "aclrtDeviceGetBareTgid gives here), or share with everybody (pids=None, everyone=True)"
)

HINTS: Mapping[str, str] = {
    "DRV_ERROR_NO_DEVICE": "no NPU is visible: check the driver, /dev/davinci* and the visible-device settings",
    "DRV_ERROR_INVALID_DEVICE": "no such device: logical ids run from 0 to the count drvGetDevNum gives, minus one",
    "DRV_ERROR_REPEATED_INIT": "this process has opened the device already, possibly by another runtime living in it",
    "DRV_ERROR_IOCRL_FAIL": "the kernel driver refused: its reason is in dmesg",
    "DRV_ERROR_BUS_DOWN": "the task scheduler does not answer (heartbeat lost): reset the device",
    "DRV_ERROR_STATUS_FAIL": "the queue is paused or disabled: resume or re-enable it first",
    "DRV_ERROR_INNER_ERR": "the driver or the device failed inside this call: see dmesg and the device log",
    "DRV_ERROR_OPEN_FAILED": "the device is not open in this process, or its node cannot be opened",
    "DRV_ERROR_PROCESS_EXIT": "the device-side process has ended: reset the device in this process and begin again",
    "DRV_ERROR_RESOURCE_OCCUPIED": "the device is in use elsewhere, or is being recycled after another process's exit",
    "DRV_ERROR_NOT_SUPPORT": "this driver version or product does not offer it",
    "DRV_ERROR_HOT_RESET_IN_PROGRESS": "the device is being reset: wait until npu-smi info shows it again",
}
"""Cures of single codes where the class's own is too general."""


@cache
def _codes() -> Mapping[int, str]:
    from npuhal import constants

    return {value: name for name, value in constants.enum("drvError_t").items()}


@cache
def _class_of() -> Mapping[str, type[HalError]]:
    return {name: kind for kind, names in _CLASSES for name in names.split()}


def error_name(code: int) -> str:
    """Return the C name of a drvError_t, or `drvError_t(<code>)` for a number the header does not define."""
    return _codes().get(code, f"drvError_t({code})")


def error_code(name: str) -> int:
    """Return the number of an error code by its C name; AttributeError if the header has no such name."""
    from npuhal import constants

    value: int = getattr(constants, name)
    return value


def error_class(code: int) -> type[HalError]:
    """Return the exception class for a drvError_t; `HalError` itself for codes of no particular meaning."""
    _, _, meaning = error_name(code).partition("_ERROR_")
    return _class_of().get(meaning, HalError)


def check(rc: int, call: str, detail: str = "") -> None:
    """Raise the error for `rc` unless it is 0; `call` names the function, `detail` what was asked of it."""
    if rc:
        raise error_class(rc)(rc, call, detail)
