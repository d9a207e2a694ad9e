"""aclInit and aclFinalize (core_spec 1.6)."""

from __future__ import annotations

import json
from pathlib import Path

from runtime import errors
from runtime.api.aclrt.entry import Out, entry
from runtime.api.aclrt.state import Acl


@entry
def aclInit(acl: Acl, configPath: str | None) -> None:
    """Initialise; a second call counts, ignores its file, and answers 100002."""
    if acl.initialised:
        acl.init_calls += 1
        raise errors.fault("ACL_ERROR_REPEAT_INITIALIZE")
    if configPath:
        _check_config(Path(configPath))
    if acl.runtime.device_count == 0:
        raise errors.fault("ACL_ERROR_INTERNAL_ERROR", "aclInit: this machine has no devices")
    acl.initialised = True
    acl.init_calls = 1


@entry
def aclFinalize(acl: Acl) -> None:
    """End it, whatever the count; before any aclInit this succeeds, after the end it is 100037."""
    if acl.init_calls == 0 and acl.finalised:
        raise errors.fault("ACL_ERROR_REPEAT_FINALIZE")
    acl.finalised = acl.initialised
    acl.initialised, acl.init_calls = False, 0


@entry
def aclFinalizeReference(acl: Acl, refCount: Out | None) -> None:
    """Take one aclInit back and tell how many are left; 0 left is the end."""
    if acl.init_calls == 0:
        raise errors.fault("ACL_ERROR_REPEAT_FINALIZE")
    acl.init_calls -= 1
    if refCount is not None:
        refCount.value = acl.init_calls
    if acl.init_calls == 0:
        acl.initialised, acl.finalised = False, True


def _check_config(path: Path) -> None:
    try:
        text = path.read_text()
    except OSError as error:
        raise errors.fault(
            "ACL_ERROR_INVALID_FILE", f"configuration file {path}: {error.strerror}", ee="EH0003",
            params=(str(path), error.strerror or "unreadable"),
        ) from error
    if text.strip():
        try:
            json.loads(text)
        except ValueError as error:
            raise errors.fault(
                "ACL_ERROR_PARSE_FILE", f"configuration file {path} is not JSON: {error}", ee="EH0004",
                params=(str(path), str(error)),
            ) from error
