"""Checks of the driver's and the toolkit's libraries: there, real, of one installation, and which one wins."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from npuhal import daemon, loader
from npuhal.errors import BadUrl
from runtime.cli.doctor.findings import Finding, Level
from runtime.cli.doctor.machine import Machine

__all__ = ["check"]

# What the vendor's runtime is made of; a program that uses one of them should get all from one toolkit.
RUNTIME_PARTS = (
    "libacl_rt.so",
    "libascendcl.so",
    "libruntime.so",
    "libruntime_common.so",
    "libruntime_v100.so",
    "libruntime_v200.so",
    daemon.LIBRARY,
)
_STUB_FOLDERS = frozenset({"devlib", "stub"})
_MOUNTS = " ".join(f"-v {path}:{path}:ro" for path in ("/usr/local/Ascend/driver", "/etc/ascend_install.info"))


def check(machine: Machine) -> Iterator[Finding]:
    """Look for the driver library, what it needs, and the parts of the toolkit."""
    findings = list(_driver(machine))
    yield from findings
    yield from _toolkit(machine)
    if any(finding.level is Level.OK for finding in findings):
        yield from _daemon(machine)


def _named(machine: Machine) -> tuple[str, str]:
    """Return the file that is named instead of being looked for, and the variable that names it."""
    with contextlib.suppress(BadUrl):  # which is a finding of its own
        url = loader.HalUrl.parse(machine.environ.get(loader.URL_VARIABLE) or "hal://")
        if url.scheme == "hal" and url.target:
            return url.target, loader.URL_VARIABLE
    return machine.environ.get(loader.LIBRARY_VARIABLE, ""), loader.LIBRARY_VARIABLE


def _driver(machine: Machine) -> Iterator[Finding]:
    named, variable = _named(machine)
    if named:
        if not machine.exists(named):
            yield Finding(
                Level.PROBLEM, f"{variable} names a file that is not there", named, f"correct or unset {variable}"
            )
            return
        yield from _chosen(machine, named, variable)
        return
    found = machine.find_library(loader.LIBRARY)
    on_path = {path for path, _ in found}
    search = loader.Search(root=str(machine.root), environ=machine.environ)
    beside = [machine.name(machine.root / path) for path in search.candidates() if "/" in path]
    found += [(path, "the driver's install folder") for path in beside if path not in on_path and machine.exists(path)]
    if not found:
        yield _no_driver(machine, beside)
        return
    path, origin = found[0]
    yield from _chosen(machine, path, origin)
    others = [other for other, _ in found[1:] if not _is_stub(other) and other in on_path]
    if others:
        yield Finding(
            Level.WARNING,
            "there is more than one driver library on the loader's path; the first one wins",
            ", ".join((path, *others)),
            f"keep one folder with {loader.LIBRARY} on LD_LIBRARY_PATH, the one of the loaded kernel driver",
        )


def _no_driver(machine: Machine, searched: list[str]) -> Finding:
    if machine.container():
        cure = f"map the host's driver into the container: {_MOUNTS}"
    else:
        cure = "install the Ascend driver package of this card"
    return Finding(
        Level.PROBLEM,
        f"{loader.LIBRARY} is not on this machine",
        f"not on the loader's path, not in {', '.join(searched)}",
        f"{cure}; or run on the fake: NPUHAL_URL=fake://ascend910b3",
    )


def _chosen(machine: Machine, path: str, origin: str) -> Iterator[Finding]:
    if _is_stub(path):
        yield Finding(
            Level.PROBLEM,
            "the driver library that would be loaded is the toolkit's link stub, whose functions do nothing",
            f"{path} (from {origin})",
            f"take {PurePosixPath(path).parent} out of {origin}, or put the driver's lib64/driver before it",
        )
        return
    if not machine.may(path, "r"):
        yield Finding(
            Level.PROBLEM,
            "the driver library may not be read by this user",
            f"{path}: {machine.ownership(path)}",
            f"make it readable (its usual mode is 0444), or join its group {machine.group_of(path)}",
        )
        return
    version = machine.version_of(path)
    yield Finding(Level.OK, f"driver library {path}", f"version {version or 'not stated'}, from {origin}")
    folder = PurePosixPath(path).parent
    needed = [str(folder.parent / "common" / "libc_sec.so"), str(folder / "libc_sec.so")]
    if not any(machine.exists(path) for path in needed) and not machine.find_library("libc_sec.so"):
        yield Finding(
            Level.PROBLEM,
            "libc_sec.so, which the driver library needs, is not there",
            f"not in {', '.join(needed)}, not on the loader's path",
            f"install the driver whole; in a container map all of its folder: {_MOUNTS}",
        )


def _toolkit(machine: Machine) -> Iterator[Finding]:
    first: dict[str, str] = {}
    shadowed: list[str] = []
    for part in RUNTIME_PARTS:
        paths = [path for path, _ in machine.find_library(part)]
        if paths:
            first[part] = paths[0]
            shadowed += paths[1:]
    if not first:
        yield Finding(Level.NOTE, "no part of the CANN runtime is on the loader's path; this runtime does not need one")
        return
    folders = {str(PurePosixPath(path).parent) for path in first.values()}
    told = ", ".join(
        f"{part} in {PurePosixPath(path).parent} ({machine.version_of(path) or 'no version stated'})"
        for part, path in first.items()
    )
    versions = {machine.version_of(path) for path in first.values()}
    if len(folders) > 1:
        mixed = "of different versions" if len(versions) > 1 else "of different folders"
        yield Finding(
            Level.WARNING,
            f"parts of the CANN runtime {mixed} would be mixed in one process",
            told,
            "begin a fresh shell and source the set_env.sh of one toolkit only",
        )
    elif shadowed:
        yield Finding(
            Level.NOTE,
            "a second CANN runtime stands further down the loader's path and is not used",
            f"used: {told}; not used: {', '.join(shadowed)}",
        )
    else:
        yield Finding(Level.OK, f"CANN runtime in {folders.pop()}", told)


def _daemon(machine: Machine) -> Iterator[Finding]:
    if not machine.find_library(daemon.LIBRARY):
        yield Finding(
            Level.WARNING,
            f"{daemon.LIBRARY} is not on the loader's path: nobody starts the device's processes",
            "without them a device opens, but memory and kernels do not work",
            "install the CANN toolkit or runtime package and source its set_env.sh",
        )


def _is_stub(path: str) -> bool:
    return not _STUB_FOLDERS.isdisjoint(PurePosixPath(path).parts)
