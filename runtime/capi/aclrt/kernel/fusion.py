"""Fusion launches by name (core_spec 15)."""

from __future__ import annotations

import struct
from typing import Any

from chips.tasks import CcuPart
from runtime import errors
from runtime.capi.aclrt.entry import entry, need_rt, own_stream_of
from runtime.capi.aclrt.kernel.binary import binary_of
from runtime.capi.aclrt.kinds import U64, Handle
from runtime.capi.aclrt.layouts import PLACEHOLDER
from runtime.capi.aclrt.state import Acl
from runtime.core.stream.stream import Stream
from runtime.feature import fusion
from runtime.feature.fusion.parts import CALL, MOST_MISSIONS, MOST_PARTS, Part, check_supported
from runtime.launch.aicpu.cpu import CpuKernel
from runtime.launch.block import HostBlock
from runtime.launch.options import LaunchOptions
from runtime.memory import caller

_HCOM_CPU, _AICPU, _AICORE, _CCU = range(4)
"""rtFusionType_t."""
_COUNT = struct.Struct("<I4x")
"""rtFunsionTaskInfo_t begins so: number of parts."""
_PART_BYTES = 976
"""rtFusionSubTaskInfo_t: u32 type, 4 bytes, a union of the three structs below."""
_CORES = struct.Struct("<QQQQ")
"""rtAicoreFusionInfo_t: binary handle, tiling key, configuration, stub function."""
_CPU = struct.Struct("<III")
"""rtAicpuFusionInfo_t: kernel type, flags, blocks."""
_MISSION = struct.Struct("<BBHHHII13Q")
"""rtCcuTaskInfo_t: die, mission, time limit in seconds, first instruction, instructions, key, number of arguments."""
_CONFIG = struct.Struct("<QI")
"""rtLaunchConfig_t: address and number of attributes."""
_ATTRIBUTE = struct.Struct("<III")
"""rtLaunchAttribute_t: id, and a value of 8 bytes."""
_BLOCKS, _DYNAMIC, _QOS, _PART, _SCHEDULE, _DUMP = 0, 1, 3, 4, 5, 7
"""rtLaunchAttributeId_t, those that mean something here."""
_DUMP_FLAG = 2
_OWN_SCHEDULE = 3
"""Behind the last schedule mode: as the kernel was compiled."""
_ARGUMENTS = struct.Struct("<QQIHBBHHHH")
"""rtFusionArgsEx_t: arguments, host inputs, bytes, number of host inputs, of AICPU parts, whether they lie on the
device, and of the AICPU part the offsets of format, library name and function name."""


@entry(waits_for_snapshot=True)
def rtFusionLaunch(acl: Acl, fusionInfo: U64, stm: Handle, argsInfo: U64) -> None:
    """Launch up to two parts as one task, with arguments that all of them share."""
    check_supported(acl.runtime.machine.chip)
    need_rt("rtFusionLaunch", fusionInfo=fusionInfo)
    stream = own_stream_of(acl, "rtFusionLaunch", stm)
    (count,) = _COUNT.unpack(caller.read(fusionInfo, _COUNT.size))
    if not 1 <= count <= MOST_PARTS:
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{CALL}: {count} parts; 1 or {MOST_PARTS} can be fused", ee="EE1012",
            params=(CALL, count, "number of parts", f"allowed are 1 to {MOST_PARTS}"), hint="fuse two at most",
        )
    first = fusionInfo + _COUNT.size
    parts = [_part(acl, stream, caller.read(first + index * _PART_BYTES, _PART_BYTES)) for index in range(count)]
    alone = count == 1 and isinstance(parts[0], fusion.Missions)
    fusion.launch_with(stream, parts, fusion.FusedArguments() if alone else _arguments(argsInfo))


def _part(acl: Acl, stream: Stream, raw: bytes) -> Part:
    (kind,) = _COUNT.unpack_from(raw)
    if kind in (_HCOM_CPU, _AICPU):
        number, flags, blocks = _CPU.unpack_from(raw, 8)
        made = fusion.HcomCpu if kind == _HCOM_CPU else fusion.Cpu
        return made("", "", blocks, number, flags)
    if kind == _AICORE:
        return _core(acl, stream, *_CORES.unpack_from(raw, 8))
    if kind == _CCU:
        (number,) = _COUNT.unpack_from(raw, 8)
        if not 1 <= number <= MOST_MISSIONS:
            raise _out_of_range("number of missions", number, f"[1, {MOST_MISSIONS}]")
        return fusion.Missions(tuple(_mission(*_MISSION.unpack_from(raw, 16 + index * _MISSION.size))
                                     for index in range(number)))  # fmt: skip
    raise errors.fault(
        "RT_ERROR_INVALID_VALUE", f"{CALL}: there is no part of type {kind}", ee="EE1012",
        params=(CALL, kind, "type of a part", "allowed are 0 to 3"), hint="0 HCOM, 1 AICPU, 2 AI cores, 3 CCU",
    )


def _mission(die: int, mission: int, limit: int, start: int, count: int, key: int, size: int, *args: int) -> CcuPart:
    return CcuPart(
        mission_id=mission, die_id=die, timeout_s=limit, start_id=start, instruction_count=count, key=key,
        args=args[:size],
    )


def _core(acl: Acl, stream: Stream, handle: int, key: int, config: int, stub: int) -> fusion.Core:
    if bool(handle) == bool(stub):
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{CALL}: the AI cores need a binary or a stub function, one of them",
            ee="EE1017", params=(CALL, "stubFunc and hdl", "exactly one of them must be given"),
        )
    if stub:
        function = acl.function_symbols.find(stub, stream.device)
        if function is None:
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"{CALL}: no kernel is registered for the stub function {stub:#x}",
                ee="EE1017", params=(CALL, "stubFunc", "no kernel is registered for it"),
                hint="register it with rtRegisterFuncSymbol, or pass a binary and a tiling key",
            )
        kernel = function.on(stream.device)
    else:
        kernel = binary_of(acl, handle).load(stream.device).entry(key)
    if isinstance(kernel, CpuKernel):
        raise errors.fault(
            "RT_ERROR_INVALID_VALUE", f"{CALL}: {kernel.name} is a kernel of the AICPU", ee="EE1017",
            params=(CALL, "hdl", "it is a program of the AICPU"),
        )
    need_rt("rtFusionLaunch", config=config)
    first, count = _CONFIG.unpack(caller.read(config, _CONFIG.size))
    need_rt("rtFusionLaunch", **{"config->attrs": first})
    rows = caller.rows(_ATTRIBUTE, count, first)
    words: dict[int, int] = {number: value for number, value, _ in rows}
    schedule = words.get(_SCHEDULE, _OWN_SCHEDULE) & 0xFF
    options = LaunchOptions(
        schedule=None if schedule == _OWN_SCHEDULE else schedule, dynamic_ub_bytes=words.get(_DYNAMIC, 0),
        dump=bool(words.get(_DUMP, 0) & _DUMP_FLAG),
    )
    return fusion.Core(
        kernel, words.get(_BLOCKS, 0) & 0xFFFF, options, words.get(_QOS, 0) & 0xFF, words.get(_PART, 0) & 0xFF
    )


def _arguments(address: int) -> fusion.FusedArguments:
    need_rt("rtFusionLaunch", argsInfo=address)
    data = caller.read(address, _ARGUMENTS.size)
    args, inputs, size, count, parts, on_device, form, library, function, _ = _ARGUMENTS.unpack(data)
    if not size:
        raise _out_of_range("argsSize", 0, "at least 1")
    need_rt("rtFusionLaunch", **{"argsInfo->args": args})
    if parts > 1:
        raise _out_of_range("aicpuNum", parts, "[0, 1]")
    shared: dict[str, Any] = {"names": (library, function), "format_offset": form} if parts else {}
    if on_device:
        return fusion.FusedArguments(address=args, size=size, **shared)
    for name, offset in (("soNameAddrOffset", library), ("kernelNameAddrOffset", function)) if parts else ():
        if offset >= size:
            raise errors.fault(
                "RT_ERROR_INVALID_VALUE", f"{CALL}: {name} is {offset}, behind the {size} bytes of arguments",
                ee="EE1017", params=(CALL, name, f"{offset} is not below {size}"),
            )
    placeholders: tuple[tuple[int, int], ...] = ()
    if count:
        need_rt("rtFusionLaunch", **{"argsInfo->hostInputInfoPtr": inputs})
        placeholders = tuple((pointer, data) for pointer, data in caller.rows(PLACEHOLDER, count, inputs))
    return fusion.FusedArguments(HostBlock(caller.read(args, size), placeholders), **shared)


def _out_of_range(what: str, value: int, expected: str) -> errors.RuntimeFault:
    return errors.fault(
        "RT_ERROR_INVALID_VALUE", f"{CALL}: {what} is {value}; expected {expected}", ee="EE1003",
        params=(CALL, value, what, expected), hint=f"pass {expected}",
    )
