"""Functions beside the C API that torch_npu calls: options of the operator compiler, set-up of collectives, profiling.

What is here has sense without a device; of what is not, `absent` says the name, and the call fails.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from npuhal.late import logger
from npuhal.loader import URL_VARIABLE
from runtime import errors
from runtime.capi.aclrt import Out
from runtime.capi.pyacl.binding import process
from runtime.capi.shim import declarations as c
from runtime.errors import tables

if TYPE_CHECKING:
    from runtime.capi.shim.bridge import Carrier

_LOG = logger(__name__)

DEFAULT_URL = "fake://ascend910b3"
"""The machine where none is named."""
QUEUE = "TASK_QUEUE_ENABLE"
"""torch_npu's variable: whether a thread of its own submits operators."""
FIRST = 0x10000
"""The number of the first of these functions at the boundary."""
PREPARE, RUN, RUN_BY_NAME, ABSENT = range(0x20000, 0x20004)
"""Numbers of what objects.c calls."""

_JIT = 10
"""ACL_OP_JIT_COMPILE of aclCompileOpt."""
_ATTRIBUTES = {0: 1, 1: 1, 2: 1}
"""Features of CANN (aclCannAttr) that torch_npu asks for: infinities and NaN as IEEE 754 has them, BF16, and no
compiling of operators at their first call."""
_attribute_list = (ctypes.c_int32 * len(_ATTRIBUTES))(*_ATTRIBUTES)
_options: dict[int, str] = {}
_said: set[str] = set()
_lock = threading.Lock()

Words = tuple[int, ...]


def _set_option(words: Words) -> int:
    option, value = words
    _options[option] = ctypes.string_at(value).decode()
    return 0


def _option(number: int) -> str | None:
    """Return an option of the operator compiler: as set, or the default; generations with STARS do not compile ahead.
    """
    if number == _JIT and number not in _options:
        return "disable"
    return _options.get(number)


def _option_size(words: Words) -> int:
    value = _option(words[0])
    return 0 if value is None else len(value.encode()) + 1


def _get_option(words: Words) -> int:
    option, buffer, size = words
    value = _option(option)
    if value is None or not buffer or size <= len(value.encode()):
        return tables.public_names()["ACL_ERROR_INVALID_PARAM"]
    ctypes.memmove(buffer, value.encode() + b"\0", len(value.encode()) + 1)
    return 0


def _attribute(words: Words) -> int:
    number, value = words
    if number not in _ATTRIBUTES or not value:
        return tables.public_names()["ACL_ERROR_INVALID_PARAM"]
    ctypes.c_int32.from_address(value).value = _ATTRIBUTES[number]
    return 0


def _attributes(words: Words) -> int:
    array, count = words
    ctypes.c_void_p.from_address(array).value = ctypes.addressof(_attribute_list)
    ctypes.c_size_t.from_address(count).value = len(_attribute_list)
    return 0


def _no_version(words: Words) -> int:
    """Say that there is no installation, without a message: it is asked for again and again, and one can do without."""
    return tables.public_names()["ACL_ERROR_INVALID_FILE"]


def _soc_name(words: Words) -> int:
    """Return the SoC's name. torch_npu asks first of all, and takes it unseen: without one the program ends here."""
    from runtime.capi.shim.bridge import lasting

    acl = process()
    name = acl.call("aclrtGetSocName")
    if isinstance(name, str) and name:
        return lasting(name.encode())
    why = acl.call("aclGetRecentErrMsg")
    print(f"npuhal: there is no machine for torch_npu, NPUHAL_URL is {os.environ.get(URL_VARIABLE, 'not set')}: {why}\n"
          f"npuhal: one without a card is NPUHAL_URL={DEFAULT_URL}", file=sys.stderr, flush=True)  # fmt: skip
    os._exit(1)


def _device(words: Words) -> int:
    """Tell the thread's device. torch_npu asks before it sets one: the answer is not what a later failure comes of."""
    acl, found = process(), Out()
    code: int = acl.call("aclrtGetDevice", deviceId=found if words[0] else None)
    if code == tables.public_names()["ACL_ERROR_RT_CONTEXT_NULL"]:
        acl.reports.withdraw("aclrtGetDevice")
    elif not code:
        ctypes.c_int32.from_address(words[0]).value = found.value
    return code


def _nothing(words: Words) -> int:
    """Do nothing, with success."""
    return 0


_ROWS: dict[str, Callable[[Words], int]] = {
    "aclSetCompileopt(int opt, const char* value)": _set_option,
    "aclGetCompileopt(int opt, char* value, size_t length)": _get_option,
    "aclGetCompileoptSize(int opt) -> size_t": _option_size,
    "aclrtGetDevice(int32_t* deviceId)": _device,
    "aclrtGetSocName() -> const char*": _soc_name,
    "aclGetCannAttribute(aclCannAttr attribute, int32_t* value)": _attribute,
    "aclGetCannAttributeList(const aclCannAttr** attributes, size_t* count)": _attributes,
    "aclsysGetCANNVersion(aclCANNPackageName name, void* version)": _no_version,
    "aclsysGetVersionStr(char* package, char* version)": _no_version,
    # collectives are not there; that their determinism may be set is asked for at the start
    "HcclSetConfig(int config, uint64_t value)": _nothing,
    # nobody profiles
    "MsprofRegisterCallback(uint32_t module, void* handle)": _nothing,
    "MsprofReportApi(uint32_t aging, const void* api)": _nothing,
    "MsprofReportCompactInfo(uint32_t aging, const void* data, uint32_t length)": _nothing,
    "MsprofReportAdditionalInfo(uint32_t aging, const void* data, uint32_t length)": _nothing,
    "MsprofGetHashId(const char* text, size_t length) -> uint64_t": _nothing,
    "MsprofSysCycleTime() -> uint64_t": _nothing,
    # the log of an installation is not kept
    "aclAppLog(int level, const char* function, const char* file, uint32_t line, const char* format) -> void": _nothing,
}


@cache
def functions() -> tuple[c.CFunction, ...]:
    """Return these functions; the position of one, counted from FIRST, is its number at the boundary."""
    return tuple(c.parse(row) for row in _ROWS)


def bind(number: int) -> Carrier:
    """Return what carries the calls of a number."""
    from runtime.capi.shim.bridge import interrupts

    failed = tables.public_names()["ACL_ERROR_INTERNAL_ERROR"]
    if number in _INNER:
        name, count, function = f"call {number:#x}", *_INNER[number]
    else:
        row, declared = list(_ROWS)[number - FIRST], functions()[number - FIRST]
        name, count, function, failed = declared.name, len(declared.parameters), _ROWS[row], declared.failure
    kind = ctypes.c_uint64 * count

    def call(address: int, answers: list[int]) -> None:
        try:
            words = tuple(kind.from_address(address)) if count else ()
            answers.append(failed)
            answers.append(function(words))
        except errors.RuntimeFault as fault:
            answers.append(fault.code)
            lost(fault)
            process().reports.post(fault)
        except BaseException as problem:
            if interrupts(name, problem, answers):
                raise
            answers.append(failed)
            _LOG.exception("%s failed in npuhal itself", name)
            process().reports.post(errors.fault("ACL_ERROR_INTERNAL_ERROR", f"{type(problem).__name__}: {problem}"))

    return call


def absent(name: str, case: str = "") -> errors.RuntimeFault:
    """Return what a function that is not there fails with; the first time its name is logged as well.

    With a case, the function is there, and only that of it is not.
    """
    operator = name.startswith(("aclnn", "aclop "))
    what = "operator" if operator else "function"
    hint = "`npuhal shim torch --operators` lists what is computed" if operator else "docs/torch.md says what there is"
    text = f"{name}: {case} is not computed" if case else f"{name}: npuhal has no such {what} of CANN"
    with _lock:
        first = text not in _said
        _said.add(text)
    if first:
        _LOG.warning("%s; %s", text, hint)
    return errors.fault("ACL_ERROR_RT_FEATURE_NOT_SUPPORT", text, ee="EE1006", params=(name, name, text), hint=hint)


def _absent(words: Words) -> int:
    raise absent(ctypes.string_at(words[0]).decode())


def lost(fault: errors.RuntimeFault) -> None:
    """Let everything that would use the results of a call fail like it, where nobody hears of the call itself.

    With TASK_QUEUE_ENABLE other than 0, a thread of torch_npu's makes the calls. It tells the program of the first
    failure, and drops what is queued behind it without a word: results would be silently wrong from there on.
    """
    from runtime.capi.shim.torch.session import call_lost

    if os.environ.get(QUEUE, "1") != "0" and sys._getframe(2).f_back is None:
        call_lost(fault)


def _launching(name: str) -> Callable[[Words], int]:
    """Return a function of `launching`, which imports torch, when it is called."""

    def call(words: Words) -> int:
        from runtime.capi.shim.torch import launching

        done: int = getattr(launching, name)(*words)
        return done

    return call


_INNER: dict[int, tuple[int, Callable[[Words], int]]] = {
    PREPARE: (2, _launching("prepare")), RUN: (5, _launching("run")), RUN_BY_NAME: (5, _launching("run_by_name")),
    ABSENT: (1, _absent),
}  # fmt: skip
