"""The machine as the checks see it: a root folder, an environment and the rights of the user; all replaceable."""

from __future__ import annotations

import os
import re
import resource
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from npuhal import ioctl
from npuhal.records import dataclass, field

__all__ = ["Machine"]

_LOADER_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


@dataclass(frozen=True)
class Machine:
    """The machine that the checks read; tests give a folder that stands for `/` and a user of their own."""

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    uid: int = field(default_factory=os.geteuid)
    gids: frozenset[int] = field(default_factory=lambda: frozenset({os.getegid(), *os.getgroups()}))
    address_limit: int = field(default_factory=lambda: resource.getrlimit(resource.RLIMIT_AS)[0])
    """Soft RLIMIT_AS in bytes; `resource.RLIM_INFINITY` when there is none."""

    probe: Callable[[str], list[ioctl.NodeState]] = ioctl.probe_nodes
    """Opens and closes every device node below a root; what permission bits do not tell."""

    def node_states(self) -> list[ioctl.NodeState]:
        """Return the device nodes as they open; none when the checks are about another user than this process."""
        return self.probe(str(self.root)) if self.uid == os.geteuid() else []

    def path(self, absolute: str) -> Path:
        """Return where a path of the machine lies below the root."""
        return self.root / absolute.lstrip("/")

    def name(self, path: Path) -> str:
        """Return a path below the root as the machine calls it."""
        return "/" + str(path.relative_to(self.root))

    def exists(self, absolute: str) -> bool:
        """Whether there is such a file; one that cannot be reached does not count."""
        try:
            return self.path(absolute).exists()
        except OSError:
            return False

    def text(self, absolute: str) -> str:
        """Return the text of a file, or "" when it is not there or not readable."""
        try:
            return self.path(absolute).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def glob(self, folder: str, pattern: str) -> list[str]:
        """Return the names in a folder that match, sorted; a folder that is not readable is empty."""
        try:
            return sorted(self.name(path) for path in self.path(folder).glob(pattern))
        except OSError:
            return []

    def may(self, absolute: str, rights: str) -> bool:
        """Whether the user has the rights (letters of `rwx`) by owner, group and mode; root may everything."""
        try:
            status = self.path(absolute).stat()
        except OSError:
            return False
        if self.uid == 0:
            return True
        if status.st_uid == self.uid:
            shift = 6
        elif status.st_gid in self.gids:
            shift = 3
        else:
            shift = 0
        wanted = sum(bit for letter, bit in (("r", 4), ("w", 2), ("x", 1)) if letter in rights)
        return status.st_mode >> shift & wanted == wanted

    def ownership(self, absolute: str) -> str:
        """Return mode, owner and group of a file as text, e.g. `crw-rw---- uid 0 group HwHiAiUser`."""
        status = self.path(absolute).stat()
        return f"{stat.filemode(status.st_mode)} uid {status.st_uid} group {self.group(status.st_gid)}"

    def group_of(self, absolute: str) -> str:
        """Return the name of a file's group."""
        return self.group(self.path(absolute).stat().st_gid)

    def group(self, gid: int) -> str:
        """Return the name of a group by /etc/group, or its number."""
        for line in self.text("/etc/group").splitlines():
            name, _, rest = line.partition(":")
            if rest.split(":")[1:2] == [str(gid)]:
                return name
        return str(gid)

    def container(self) -> str:
        """Return by what sign this is a container, or "" on a host."""
        for sign in ("/.dockerenv", "/run/.containerenv"):
            if self.exists(sign):
                return sign
        cgroup = self.text("/proc/1/cgroup")
        found = re.search(r"docker|kubepods|containerd|lxc|podman", cgroup)
        return f"/proc/1/cgroup names {found[0]}" if found else ""

    def library_folders(self) -> Iterator[tuple[str, str]]:
        """Yield (folder, who names it) in the order of the dynamic loader."""
        for folder in filter(None, self.environ.get("LD_LIBRARY_PATH", "").split(":")):
            yield folder, "LD_LIBRARY_PATH"
        for conf in ("/etc/ld.so.conf", *self.glob("/etc/ld.so.conf.d", "*.conf")):
            for line in self.text(conf).splitlines():
                folder = line.partition("#")[0].strip()
                if folder.startswith("/"):
                    yield folder, conf
        for folder in _LOADER_FOLDERS:
            yield folder, "the loader's own folders"

    def find_library(self, file: str) -> list[tuple[str, str]]:
        """Return (path, who names the folder) of every library of that name on the loader's path, first one first."""
        found: dict[str, str] = {}
        for folder, origin in self.library_folders():
            path = f"{folder.rstrip('/')}/{file}"
            if path not in found and self.exists(path):
                found[path] = origin
        return list(found.items())

    def version_of(self, path: str) -> str:
        """Return the version that the installation around a file states (version.info, version.cfg), or ""."""
        for parent in Path(path).parents:
            for info in ("version.info", "version.cfg"):
                stated = re.search(r"^\w*[Vv]ersion=\[?([^\]\s:]+)", self.text(str(parent / info)), re.MULTILINE)
                if stated:
                    return stated[1]
        return ""

    def processes_holding(self, devices: frozenset[str]) -> dict[str, str]:
        """Return the command of every visible process that has one of these files open, by process id."""
        holders = {}
        for folder in self.glob("/proc", "[0-9]*"):
            try:
                targets = {os.readlink(link) for link in self.path(folder + "/fd").iterdir()}
            except OSError:  # ended meanwhile, or another user's
                continue
            if targets & devices:
                holders[folder.rpartition("/")[2]] = self.text(folder + "/comm").strip()
        return holders
