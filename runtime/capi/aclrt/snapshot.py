"""Snapshots of the process by name (core_spec 16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime import errors
from runtime.capi.aclrt.entry import Out, entry, need_rt
from runtime.capi.aclrt.state import Acl
from runtime.feature.snapshot import Snapshot


@entry
def aclrtSnapShotProcessLock(acl: Acl, pid: int | None, reserve: int | None) -> None:
    """Keep calls out that create or send something."""
    _own(acl, "aclrtSnapShotProcessLock", pid, reserve=reserve).lock()


@entry
def aclrtSnapShotProcessUnlock(acl: Acl, pid: int | None, reserve: int | None) -> None:
    """Let them go on."""
    _own(acl, "aclrtSnapShotProcessUnlock", pid, reserve=reserve).unlock()


@entry
def aclrtSnapShotProcessBackup(acl: Acl, pid: int | None, args: int | None) -> None:
    """Save everything to the host; again replaces what was saved."""
    _own(acl, "aclrtSnapShotProcessBackup", pid, args=args).backup()


@entry
def aclrtSnapShotProcessRestore(acl: Acl, pid: int | None, args: int | None) -> None:
    """Bring back what was saved."""
    _own(acl, "aclrtSnapShotProcessRestore", pid, args=args).restore()


@entry
def aclrtSnapShotCallbackRegister(
    acl: Acl, stage: int | None, callback: Callable[..., Any] | None, args: int | None
) -> None:
    """Have a function called at a stage with (device id, args), once for each open device."""
    rtSnapShotCallbackRegister(acl, stage, callback, args)


@entry
def aclrtSnapShotCallbackUnregister(acl: Acl, stage: int | None, callback: Callable[..., Any] | None) -> None:
    """Call a function no more."""
    rtSnapShotCallbackUnregister(acl, stage, callback)


# -- the same without the checks of the acl layer -------------------------------------------------------------------


@entry
def rtSnapShotProcessLock(acl: Acl) -> None:
    """Keep calls out that create or send something."""
    acl.runtime.snapshot.lock()


@entry
def rtSnapShotProcessUnlock(acl: Acl) -> None:
    """Let them go on."""
    acl.runtime.snapshot.unlock()


@entry
def rtSnapShotProcessBackup(acl: Acl) -> None:
    """Save everything to the host."""
    acl.runtime.snapshot.backup()


@entry
def rtSnapShotProcessRestore(acl: Acl) -> None:
    """Bring back what was saved."""
    acl.runtime.snapshot.restore()


@entry
def rtSnapShotProcessGetState(acl: Acl, state: Out | None) -> None:
    """Return where the process stands: 0 running, 1 locked, 2 backed up."""
    snapshot = acl.runtime.snapshot
    snapshot.check_supported()
    need_rt("rtSnapShotProcessGetState", state=state)
    assert state is not None
    state.value = int(snapshot.state)


@entry
def rtSnapShotCallbackRegister(
    acl: Acl, stage: int | None, callback: Callable[..., Any] | None, args: int | None
) -> None:
    """Have a function called at a stage."""
    snapshot = acl.runtime.snapshot
    snapshot.check_supported()
    if callback is None:
        need_rt("rtSnapShotCallbackRegister", callback=callback)
    else:
        snapshot.callbacks.register(stage or 0, callback, args or 0)


@entry
def rtSnapShotCallbackUnregister(acl: Acl, stage: int | None, callback: Callable[..., Any] | None) -> None:
    """Call a function no more."""
    snapshot = acl.runtime.snapshot
    snapshot.check_supported()
    if callback is None:
        need_rt("rtSnapShotCallbackUnregister", callback=callback)
    else:
        snapshot.callbacks.unregister(stage or 0, callback)


def _own(acl: Acl, call: str, pid: int | None, **reserved: int | None) -> Snapshot:
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
