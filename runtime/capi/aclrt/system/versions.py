"""Versions of an installed toolkit by name (acl.h, aclsys*). This runtime reads none, so their files are not there."""

from __future__ import annotations

import logging

from npuhal.late import logger
from runtime import errors
from runtime.capi.aclrt.checks import null, refuse
from runtime.capi.aclrt.entry import Out, entry
from runtime.capi.aclrt.kinds import I32, U32, Address, Enum, Text
from runtime.capi.aclrt.state import Acl
from runtime.memory import caller

_LOG = logger(__name__)
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
"""aclLogLevel."""
_LINE_BYTES = 1024


@entry(null("version"))
def aclsysGetCANNVersion(acl: Acl, name: Enum, version: Address) -> None:
    """Refuse: there is no installation to read the version of a package from (100003)."""
    raise _no_file("aclsysGetCANNVersion")


@entry(null("versionNum", "pkgName"))
def aclsysGetVersionNum(acl: Acl, pkgName: Text, versionNum: Out[I32]) -> None:
    """Refuse, as `aclsysGetCANNVersion` does."""
    raise _no_file("aclsysGetVersionNum")


@entry(null("versionStr", "pkgName"))
def aclsysGetVersionStr(acl: Acl, pkgName: Text, versionStr: Address) -> None:
    """Refuse, as `aclsysGetCANNVersion` does."""
    raise _no_file("aclsysGetVersionStr")


def _no_file(call: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_INVALID_FILE", f"{call}: there is no version file: this runtime belongs to no toolkit",
        hint="see aclrtGetVersion for the version of the interface",
    )


@entry(failure=0)
def aclAppLog(acl: Acl, logLevel: Enum, func: Text | None, file: Text | None, line: U32, fmt: Text | None) -> Enum:
    """Write a line of the program's own to the log `runtime`; what is longer than 1024 bytes is cut, with a mark.

    The text comes with its arguments put in already.
    """
    text = fmt or ""
    if len(caller.octets(text)) > _LINE_BYTES:
        text = caller.octets(text)[:_LINE_BYTES].decode(errors="replace") + " [cut]"
    level = _LEVELS[logLevel] if 0 <= logLevel < len(_LEVELS) else logging.INFO
    _LOG.log(level, "%s (%s:%d): %s", _printable(func), _printable(file), line, _printable(text))
    return 0


def _printable(text: str | None) -> str | None:
    """Return text that any file takes: half a character, as `\\ud800`, is written out."""
    return text and text.encode(errors="backslashreplace").decode()


_ON_DEVICE_ONLY = refuse(
    "True", "", "a process on the device", "EH0011", code=200001, rule="it is for processes on the device",
)


@entry(_ON_DEVICE_ONLY)
def aclrtSetDeviceWithoutTsdVXX(acl: Acl, deviceId: I32) -> None:
    """Refuse: only processes on the device leave the starter of its processes out."""


@entry(_ON_DEVICE_ONLY, waits_for_snapshot=True)
def aclrtResetDeviceWithoutTsdVXX(acl: Acl, deviceId: I32) -> None:
    """Refuse, as `aclrtSetDeviceWithoutTsdVXX` does."""
