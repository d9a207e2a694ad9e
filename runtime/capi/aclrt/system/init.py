"""Initialisation by name, and what is said of the whole machine (core_spec 1.6)."""

from __future__ import annotations

from pathlib import Path

from npuhal.files import read_text
from npuhal.late import logger
from npuhal.words import shown
from runtime import errors
from runtime.capi.aclrt.checks import null, null_rt
from runtime.capi.aclrt.device.topology import known_soc
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I32, U64, Address, Enum, Size, Text
from runtime.capi.aclrt.state import Acl
from runtime.capi.aclrt.system import configuration, hooks

_LOG = logger(__name__)

_VERSION = (1, 17, 0)
"""Of the interface that these functions are (acl_rt.h): major, minor, patch."""
_DEVICE_SIDE, _HOST_SIDE = 0, 1
"""aclrtRunMode."""


@entry()
def aclInit(acl: Acl, configPath: Text | None) -> None:
    """Initialise; a second call counts, ignores its file, and answers 100002."""
    if acl.initialised:
        acl.init_calls += 1
        if (configPath or "") not in ("", acl.config_path):
            first = acl.config_path or "no file"
            _LOG.warning("aclInit with %s is ignored: this process was initialised with %s", shown(configPath), first)
        raise errors.fault("ACL_ERROR_REPEAT_INITIALIZE")
    settings = configuration.read(Path(configPath)) if configPath else {}
    text = read_text(configPath) if configPath else None
    if acl.configuration and text != acl.configuration:
        raise errors.fault(
            "ACL_ERROR_INVALID_PARAM", f"aclInit: {shown(configPath)} says something else than {acl.config_path}, with "
            "which this process was initialised first", ee="EH0004",
            params=(configPath or "NULL", f"it differs from {acl.config_path}"), hint="keep one configuration",
        )
    configuration.check_messages(settings)
    if not acl.runtime.machine.device_count:
        raise errors.fault("ACL_ERROR_INTERNAL_ERROR", "aclInit: this machine has no devices")
    configuration.apply(acl, settings)
    hooks.run_init(acl, text)
    acl.initialised, acl.config_path = True, configPath or ""
    acl.configuration = acl.configuration or text or ""
    acl.init_calls = 1


@entry()
def aclFinalize(acl: Acl) -> None:
    """End it, whatever the count; before any aclInit this succeeds, after the end it is 100037."""
    if acl.init_calls == 0 and acl.finalised:
        raise errors.fault("ACL_ERROR_REPEAT_FINALIZE")
    if acl.initialised:
        hooks.run_end(acl)
    acl.finalised = acl.initialised
    acl.initialised, acl.init_calls = False, 0


@entry()
def aclFinalizeReference(acl: Acl, refCount: Out[U64] | None) -> None:
    """Take one aclInit back and tell how many are left; 0 left is the end."""
    if refCount is not None:
        refCount.value = max(acl.init_calls - 1, 0)
    if acl.init_calls == 0:
        raise errors.fault("ACL_ERROR_REPEAT_FINALIZE")
    if acl.init_calls == 1:
        hooks.run_end(acl)
    acl.init_calls -= 1
    if acl.init_calls == 0:
        acl.initialised, acl.finalised = False, True


@entry(null("majorVersion", "minorVersion", "patchVersion"))
def aclrtGetVersion(acl: Acl, majorVersion: Out[I32], minorVersion: Out[I32], patchVersion: Out[I32]) -> None:
    """Return the version of the interface."""
    for output, number in zip((majorVersion, minorVersion, patchVersion), _VERSION, strict=True):
        assert output is not None
        output.value = number


@entry(null("runMode"))
def aclrtGetRunMode(acl: Acl, runMode: Out[Enum]) -> None:
    """Return 1 where the process runs on a host, 0 where it runs on the device itself."""
    runMode.value = _HOST_SIDE if acl.runtime.machine.on_host else _DEVICE_SIDE


@entry()
def aclrtGetSocName(acl: Acl) -> Text | None:
    """Return the name of the SoC: the one fixed for the process, or the machine's; None without devices."""
    return acl.runtime.soc_name or acl.runtime.machine.soc_name or None


@entry(null_rt("version"))
def rtSetSocVersion(acl: Acl, version: Text) -> None:
    """Fix the SoC for the process; a device that is another one is not opened then (507033)."""
    soc = known_soc("rtSetSocVersion", str(version)).soc
    acl.runtime.soc_name = soc


@entry(null("value"))
def aclGetCannAttribute(acl: Acl, cannAttr: Enum, value: Out[I32]) -> None:
    """Return one feature of the CANN installation; its description is not read here, which is 100003."""
    raise _no_cann()


@entry(null("cannAttrList", "num"))
def aclGetCannAttributeList(acl: Acl, cannAttrList: Out[Address], num: Out[Size]) -> None:
    """Return the features of the CANN installation; see `aclGetCannAttribute`."""
    raise _no_cann()


def _no_cann() -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_INVALID_FILE", "there is no description of a CANN installation", ee="EH0003",
        params=("the description of the CANN installation", "this runtime needs none and reads none"),
    )
