"""Dumps of operators' data by name (acl_mdl.h, acl_dump.h).

Arguments and order of calls are checked as the vendor's; the dump itself is not part of this runtime, and says so: the
call that would start it fails. Kernels on a fake are Python functions, and a trace records what they are given.
"""

from __future__ import annotations

from pathlib import Path

from runtime import errors
from runtime.capi.aclrt.checks import null, refuse
from runtime.capi.aclrt.entry import entry
from runtime.capi.aclrt.kinds import I32, U32, Address, Callback, Enum, Size, Text
from runtime.capi.aclrt.state import Acl
from runtime.capi.aclrt.system import configuration

_INITIALISED = refuse(
    "not acl.initialised", "", "aclInit first", "", code=100001, rule="aclInit has not been called"
)
_STARTED = refuse(
    "not acl.dumping", "", "aclmdlInitDump first", "", code=100045, rule="no dump is initialised"
)
_ARGUMENTS = 1
"""Bit of a dump type: arguments of operators."""


@entry(
    _INITIALISED,
    refuse("acl.dumping", "", "aclmdlFinalizeDump first", "", code=100002, rule="a dump is initialised already"),
)
def aclmdlInitDump(acl: Acl) -> None:
    """Let a configuration be given; nothing is dumped yet."""
    acl.dumping = True


@entry(_INITIALISED, _STARTED, null("dumpCfgPath"))
def aclmdlSetDump(acl: Acl, dumpCfgPath: Text | None) -> None:
    """Read a configuration, and refuse it: there is no dump (500000).

    A file that cannot be read is 100003 with EH0003, one that is no JSON object 100006 with EH0004.
    """
    if not configuration.read(Path(dumpCfgPath or "")):
        raise errors.fault("ACL_ERROR_PARSE_FILE", f"aclmdlSetDump: {dumpCfgPath} is empty", ee="EH0004",
                           params=(dumpCfgPath, "it is empty"), hint="pass a file with a JSON object")  # fmt: skip
    raise errors.fault(
        "ACL_ERROR_INTERNAL_ERROR", "aclmdlSetDump: this runtime dumps no operators", hint="record a trace instead",
    )


@entry(_INITIALISED, _STARTED)
def aclmdlFinalizeDump(acl: Acl) -> None:
    """End what `aclmdlInitDump` has begun."""
    acl.dumping = False


@entry()
def aclopStartDumpArgs(acl: Acl, dumpType: U32, path: Text | None) -> None:
    """Refuse: there is no dump of arguments (500001)."""
    raise _no_dump("aclopStartDumpArgs")


@entry()
def aclopStopDumpArgs(acl: Acl, dumpType: U32) -> None:
    """Succeed where no dump of arguments is asked to stop; otherwise none runs (500001)."""
    if dumpType & _ARGUMENTS:
        raise _no_dump("aclopStopDumpArgs")


@entry()
def acldumpRegCallback(acl: Acl, messageCallback: Callback, flag: I32) -> None:
    """Refuse: nothing is dumped (500001)."""
    raise _no_dump("acldumpRegCallback")


@entry(failure=0)
def acldumpUnregCallback(acl: Acl) -> Enum:
    """Do nothing: no function is registered."""
    return 0


@entry()
def acldumpGetPath(acl: Acl, dumpType: Enum) -> Text | None:
    """Return NULL: nothing is dumped."""
    return None


@entry()
def acldumpGetExceptionInfoPath(acl: Acl, path: Address, maxLen: Size) -> None:
    """Refuse: failed tasks are not dumped to files (500001)."""
    raise _no_dump("acldumpGetExceptionInfoPath")


@entry()
def acldumpSaveExceptionInfo(
    acl: Acl, fileName: Text | None, userTag: Text | None, tensors: Address, tensorCount: Size
) -> None:
    """Refuse, as `acldumpGetExceptionInfoPath` does."""
    raise _no_dump("acldumpSaveExceptionInfo")


def _no_dump(call: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_FAILURE", f"{call}: this runtime dumps no data of operators", hint="record a trace instead",
    )
