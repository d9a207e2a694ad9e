"""Snapshots of the process by name (core_spec 16)."""

from __future__ import annotations

from runtime import errors
from runtime.capi.aclrt.checks import feature, null_rt
from runtime.capi.aclrt.entry import Out, entry, need_rt
from runtime.capi.aclrt.kinds import I32, U32, U64, Address, Callback, Enum
from runtime.capi.aclrt.state import Acl
from runtime.feature.snapshot import Snapshot


@entry()
def aclrtSnapShotProcessLock(acl: Acl, pid: I32, reserve: Address) -> None:
    """Keep calls out that create or send something."""
    _own(acl, "aclrtSnapShotProcessLock", pid, reserve=reserve).lock()


@entry()
def aclrtSnapShotProcessUnlock(acl: Acl, pid: I32, reserve: Address) -> None:
    """Let them go on."""
    _own(acl, "aclrtSnapShotProcessUnlock", pid, reserve=reserve).unlock()


@entry()
def aclrtSnapShotProcessBackup(acl: Acl, pid: I32, args: Address) -> None:
    """Save everything to the host; again replaces what was saved."""
    _own(acl, "aclrtSnapShotProcessBackup", pid, args=args).backup()


@entry()
def aclrtSnapShotProcessRestore(acl: Acl, pid: I32, args: Address) -> None:
    """Bring back what was saved."""
    _own(acl, "aclrtSnapShotProcessRestore", pid, args=args).restore()


@entry(feature("DFX_PROCESS_SNAPSHOT"))
def aclrtSnapShotCallbackRegister(acl: Acl, stage: Enum, callback: Callback, args: Address) -> None:
    """Have a function called at a stage with (device id, args), once for each open device."""
    rtSnapShotCallbackRegister(acl, stage, callback, args)


@entry(feature("DFX_PROCESS_SNAPSHOT"))
def aclrtSnapShotCallbackUnregister(acl: Acl, stage: Enum, callback: Callback) -> None:
    """Call a function no more."""
    rtSnapShotCallbackUnregister(acl, stage, callback)


# -- the same without the checks of the acl layer -------------------------------------------------------------------


@entry()
def rtSnapShotProcessLock(acl: Acl) -> None:
    """Keep calls out that create or send something."""
    acl.runtime.snapshot.lock()


@entry()
def rtSnapShotProcessUnlock(acl: Acl) -> None:
    """Let them go on."""
    acl.runtime.snapshot.unlock()


@entry()
def rtSnapShotProcessBackup(acl: Acl) -> None:
    """Save everything to the host."""
    acl.runtime.snapshot.backup()


@entry()
def rtSnapShotProcessRestore(acl: Acl) -> None:
    """Bring back what was saved."""
    acl.runtime.snapshot.restore()


@entry(null_rt("state"))
def rtSnapShotProcessGetState(acl: Acl, state: Out[U32]) -> None:
    """Return where the process stands: 0 running, 1 locked, 2 backed up."""
    snapshot = acl.runtime.snapshot
    snapshot.check_supported()
    need_rt("rtSnapShotProcessGetState", state=state)
    state.value = int(snapshot.state)


@entry()
def rtSnapShotCallbackRegister(acl: Acl, stage: U64, callback: Callback, args: Address) -> None:
    """Have a function called at a stage."""
    snapshot = acl.runtime.snapshot
    snapshot.check_supported()
    if callback is None:
        need_rt("rtSnapShotCallbackRegister", callback=callback)
    else:
        snapshot.callbacks.register(stage, callback, args)


@entry()
def rtSnapShotCallbackUnregister(acl: Acl, stage: U64, callback: Callback) -> None:
    """Call a function no more."""
    snapshot = acl.runtime.snapshot
    snapshot.check_supported()
    if callback is None:
        need_rt("rtSnapShotCallbackUnregister", callback=callback)
    else:
        snapshot.callbacks.unregister(stage, callback)


def _own(acl: Acl, call: str, pid: int, **reserved: int | None) -> Snapshot:
    """Return the snapshot of this very process; another process cannot be named, nor anything in reserved parameters.
    """
    if pid != acl.runtime.pid:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"{call}: pid is {pid}; only this process, {acl.runtime.pid}, can be named",
            ee="EH0009", params=(call, pid, "pid", "that of the calling process"), hint="pass os.getpid()",
        )
    for name, value in reserved.items():
        if value:
            raise errors.fault(
                "ACL_ERROR_INVALID_PARAM", f"{call}: {name} is reserved and must be NULL", ee="EH0012",
                params=(call, name), hint=f"pass NULL for {name}",
            )
    return acl.runtime.snapshot
