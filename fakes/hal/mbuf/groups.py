"""HAL chapter "mbuf": the group that gives a process shared memory (ascend_hal_external.h, ascend_hal_base.h).

Order of the checks and their codes: the driver's share_fd_adp/grp_mng.c. One process has one group; sharing it with
another process, and groups with a cache, are not modelled.
"""

from __future__ import annotations

import ctypes
from typing import Any

from fakes.errors import NotModelled
from fakes.hal.chapter import Chapter
from fakes.machine.shared_buffers import LARGEST_GROUP, SMALLEST_GROUP, Group
from npuhal import constants as c
from npuhal import structs as s

_KIB = 1024
_LONGEST_WAIT_MS = 10_000
_GROUP_ID = 0
_ONLY = "the fake has one process to a group"


class GroupCalls(Chapter):
    """Functions about groups, and halBuffInit."""

    def halGrpCreate(self, name: int, config: Any) -> int:
        """Make the one group of the process; a second one is REPEATED_INIT."""
        text = self._name(name)
        if text is None or "/" in text or config is None or config.maxMemSize * _KIB > LARGEST_GROUP:
            return c.DRV_ERROR_INVALID_VALUE
        if config.cacheAllocFlag == 1:
            if not config.maxMemSize:
                return c.DRV_ERROR_INVALID_VALUE
            raise NotModelled("halGrpCreate with cacheAllocFlag", "groups here have no cache")
        if self.machine.buffers.group is not None:
            return c.DRV_ERROR_REPEATED_INIT
        limit = max(config.maxMemSize * _KIB, SMALLEST_GROUP) if config.maxMemSize else LARGEST_GROUP
        self.machine.buffers.group = Group(text, limit)
        return 0

    def halGrpAddProc(self, name: int, pid: int, rights: Any) -> int:
        """Let a process into the group, with all of read, write and alloc."""
        text = self._name(name)
        if text is None or not (rights.read and rights.write and rights.alloc):
            return c.DRV_ERROR_INVALID_VALUE
        group = self.machine.buffers.group
        if group is not None and pid in group.rights:
            return c.DRV_ERROR_REPEATED_INIT
        if group is None or group.name != text:
            return c.DRV_ERROR_INVALID_VALUE
        if pid != self.machine.pid:
            raise NotModelled("halGrpAddProc of another process", _ONLY)
        group.rights[pid] = int.from_bytes(bytes(rights), "little")
        return 0

    def halGrpAttach(self, name: int, timeout: int) -> int:
        """Take part in the group that the process was added to; the time-out in ms is 1 to 10000."""
        text = self._name(name)
        group = self.machine.buffers.group
        if text is None or "/" in text or not 0 < timeout <= _LONGEST_WAIT_MS:
            return c.DRV_ERROR_INVALID_VALUE
        if group is not None and group.attached:
            return c.DRV_ERROR_INVALID_VALUE
        if group is None:
            raise NotModelled("halGrpAttach to the group of another process", _ONLY)
        if group.name != text or self.machine.pid not in group.rights:
            return c.DRV_ERROR_INVALID_VALUE
        group.attached = True
        return 0

    def halGrpQuery(self, command: int, asked: int, _asked_bytes: int, told: int, told_bytes: Any) -> int:
        """Tell the processes of a group, the groups of a process, or the id of a group."""
        if not asked or not told or told_bytes is None:
            return c.DRV_ERROR_INVALID_VALUE
        query = {
            c.GRP_QUERY_GROUP: self._members, c.GRP_QUERY_GROUPS_OF_PROCESS: self._groups,
            c.GRP_QUERY_GROUP_ID: self._identity,
        }.get(command)  # fmt: skip
        if query is None:
            if command == c.GRP_QUERY_GROUP_ADDR_INFO:
                raise NotModelled("halGrpQuery(GRP_QUERY_GROUP_ADDR_INFO)", "groups have no addresses of their own")
            return c.DRV_ERROR_NOT_SUPPORT
        answer = query(asked)
        if answer is None:
            return c.DRV_ERROR_INVALID_VALUE
        self.machine.memory.write(told, answer, "halGrpQuery to")
        told_bytes.value = len(answer)
        return 0

    def halBuffInit(self, config: Any) -> int:
        """Take the zones that buffers are cut from; sound ones make no difference here. Again does nothing."""
        if config is None:
            return c.DRV_ERROR_INVALID_VALUE
        largest: dict[int, int] = {}
        for number, zone in enumerate(config.cfg):
            if not zone.cfg_id and not zone.total_size:
                break
            if zone.cfg_id != number or not _is_sound(zone) or zone.max_buf_size <= largest.get(zone.page_type, 0):
                return c.DRV_ERROR_INVALID_VALUE
            largest[zone.page_type] = zone.max_buf_size
        return 0

    def _members(self, asked: int) -> bytes | None:
        group = self._asked_group(asked)
        if group is None:
            return None
        entries = [s.GrpQueryGroupInfo(pid=pid, attr=_rights(bits)) for pid, bits in group.rights.items()]
        return b"".join(map(bytes, entries))

    def _groups(self, asked: int) -> bytes:
        pid = int.from_bytes(self.machine.memory.read(asked, 4, "halGrpQuery of"), "little", signed=True)
        group = self.machine.buffers.group
        if group is None or pid not in group.rights:
            return b""
        return bytes(s.GrpQueryGroupsOfProcInfo(groupName=group.name.encode(), attr=_rights(group.rights[pid])))

    def _identity(self, asked: int) -> bytes | None:
        return None if self._asked_group(asked) is None else _GROUP_ID.to_bytes(4, "little")

    def _asked_group(self, asked: int) -> Group | None:
        name, group = self._name(asked), self.machine.buffers.group
        return group if group is not None and name == group.name else None

    def _name(self, address: int) -> str | None:
        """Return a name of 1 to 31 bytes; None where there is none, or another one."""
        if not address:
            return None
        for length in range(c.BUFF_GRP_NAME_LEN):
            data: bytes = self.machine.memory.read(address + length, 1, "a group's name at")
            if data == b"\0":
                text = self.machine.memory.read(address, length, "a group's name at") if length else b""
                return text.decode(errors="replace") or None
        return None


def _is_sound(zone: Any) -> bool:
    """Tell whether a zone can be divided into blocks of its size: a power of two, for buffers smaller than the zone."""
    block: int = zone.blk_size
    return (
        block > 0 and not block & block - 1 and not zone.total_size % block
        and block <= zone.max_buf_size < zone.total_size and not (zone.elasticEnable and zone.elasticLowLevel < 0)
    )  # fmt: skip


def _rights(bits: int) -> s.GroupShareAttr:
    return s.GroupShareAttr.from_buffer_copy(bits.to_bytes(ctypes.sizeof(s.GroupShareAttr), "little"))
