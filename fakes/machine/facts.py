"""What halGetDeviceInfo answers, by module and item: a number, or why there is none.

Which items a driver knows differs by its tree: the one of STARS v1 (`_FIRST`) and the later one (`_LATER`). A module
answers what it does not know with one code for all its items (`_UNKNOWN`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from npuhal import constants as c

if TYPE_CHECKING:
    from fakes.machine.card import Device

_Fact = Callable[[Any], int]
_LITTLE_ENDIAN, _BY_SYSTEM = 1, 1
_MEGAHERTZ = 1000
_SDID_CHIP, _SDID_DIE = 18, 16
"""Where chip and die stand in a super-pod device id; below is the physical id, above the server."""
_SERVER = 0
"""There is one server, so no super-pod has numbered it."""


def soc_value(device: Device, key: str, default: int) -> int:
    """Return a number of the chip's description, section SoCInfo."""
    value = device.chip.ini.get("SoCInfo", {}).get(key, default)
    return value if isinstance(value, int) else default


def master(device: Device) -> int:
    """Return the physical id of the first card of a pair that shares an operating system."""
    return device.machine.devices[device.index & ~1].identity.physical


def _sdid(device: Device) -> int:
    identity = device.identity
    return identity.chip_id << _SDID_CHIP | identity.die_id << _SDID_DIE | identity.physical


def _bits(count: int) -> int:
    return (1 << count) - 1


def _ai_cpus(device: Device) -> int:
    return soc_value(device, "ai_cpu_cnt", 6)


def _frequency(device: Device) -> int:
    value = device.chip.ini.get("AICoreSpec", {}).get("cube_freq", _MEGAHERTZ)
    return value if isinstance(value, int) else _MEGAHERTZ


_SYSTEM: Mapping[int, _Fact] = {
    c.INFO_TYPE_ENV: lambda d: 0,
    c.INFO_TYPE_VERSION: lambda d: d.chip.chip_value << 8 | d.machine.chip_revision,
    c.INFO_TYPE_MASTERID: master,
    c.INFO_TYPE_CORE_NUM: lambda d: int(d.chip.properties["tsCount"]),
    c.INFO_TYPE_PHY_CHIP_ID: lambda d: d.identity.chip_id,
    c.INFO_TYPE_PHY_DIE_ID: lambda d: d.identity.die_id,
    c.INFO_TYPE_ADDR_MODE: lambda d: c.ADDR_MODE_INDEPENDENT,
    c.INFO_TYPE_RUN_MACH: lambda d: c.RUN_MACHINE_PHYCICAL,
    c.INFO_TYPE_HD_CONNECT_TYPE: lambda d: 2 if d.machine.options.args == "ub" else 0,
    c.INFO_TYPE_SYS_COUNT: lambda d: d.ticks(max(d.engines.now, d.host_time)),
    c.INFO_TYPE_MONOTONIC_RAW: lambda d: max(d.engines.now, d.host_time),
    c.INFO_TYPE_DEV_OSC_FREQUE: lambda d: d.ticks_per_ms * 1000,
    c.INFO_TYPE_HOST_OSC_FREQUE: lambda d: 1_000_000_000,
    c.INFO_TYPE_SDID: _sdid,
    c.INFO_TYPE_SERVER_ID: lambda d: _SERVER,
    c.INFO_TYPE_CUST_OP_ENHANCE: lambda d: 0,
}
_MODULES: Mapping[int, Mapping[int, _Fact]] = {
    c.MODULE_TYPE_SYSTEM: _SYSTEM,
    c.MODULE_TYPE_AICPU: {
        c.INFO_TYPE_CORE_NUM: _ai_cpus,
        c.INFO_TYPE_IN_USED: _ai_cpus,
        c.INFO_TYPE_OCCUPY: lambda d: _bits(_ai_cpus(d)) << 1,
        c.INFO_TYPE_ID: lambda d: 1,
        c.INFO_TYPE_OS_SCHED: lambda d: _BY_SYSTEM,
        c.INFO_TYPE_ERROR_MAP: lambda d: 0,
        c.INFO_TYPE_UTILIZATION: lambda d: 0,
    },
    c.MODULE_TYPE_CCPU: {
        c.INFO_TYPE_CORE_NUM: lambda d: 1,
        c.INFO_TYPE_ID: lambda d: 0,
        c.INFO_TYPE_OCCUPY: lambda d: 1,
        c.INFO_TYPE_ENDIAN: lambda d: _LITTLE_ENDIAN,
        c.INFO_TYPE_OS_SCHED: lambda d: _BY_SYSTEM,
    },
    c.MODULE_TYPE_DCPU: {c.INFO_TYPE_CORE_NUM: lambda d: 0, c.INFO_TYPE_OS_SCHED: lambda d: _BY_SYSTEM},
    c.MODULE_TYPE_TSCPU: {c.INFO_TYPE_CORE_NUM: lambda d: 1, c.INFO_TYPE_OS_SCHED: lambda d: 0},
    c.MODULE_TYPE_AICORE: {
        c.INFO_TYPE_CORE_NUM: lambda d: d.machine.cores["AIC"],
        c.INFO_TYPE_IN_USED: lambda d: d.machine.cores["AIC"],
        c.INFO_TYPE_FREQUE: _frequency,
        c.INFO_TYPE_DIE_NUM: lambda d: d.machine.dies,
        c.INFO_TYPE_ID: lambda d: 0,
        c.INFO_TYPE_UTILIZATION: lambda d: 0,
        c.INFO_TYPE_ERROR_MAP: lambda d: 0,
    },
    c.MODULE_TYPE_VECTOR_CORE: {
        c.INFO_TYPE_CORE_NUM: lambda d: d.machine.cores["AIV"],
        c.INFO_TYPE_FREQUE: _frequency,
        c.INFO_TYPE_UTILIZATION: lambda d: 0,
    },
    c.MODULE_TYPE_HCOM_CPU: {c.INFO_TYPE_CORE_NUM: lambda d: 0},
}
"""Numbers that a card of this machine has."""

_KNOWN: Mapping[int, frozenset[int]] = {
    c.MODULE_TYPE_SYSTEM: frozenset((
        c.INFO_TYPE_SCALE_TYPE, c.INFO_TYPE_SUPER_POD_ID, c.INFO_TYPE_MAINBOARD_ID, c.INFO_TYPE_PRODUCT_TYPE,
        c.INFO_TYPE_CHASSIS_ID, c.INFO_TYPE_SUPER_POD_TYPE, c.INFO_TYPE_BOARD_ID, c.INFO_TYPE_VNIC_IP,
        c.INFO_TYPE_SPOD_VNIC_IP, c.INFO_TYPE_SLOT_ID, c.INFO_TYPE_SWPLUGIN_UPGRADE_POLICY,
        c.INFO_TYPE_SUPER_POD_INTERCON_TYPE,
    )),
    c.MODULE_TYPE_AICPU: frozenset((c.INFO_TYPE_PF_CORE_NUM, c.INFO_TYPE_PF_OCCUPY, c.INFO_TYPE_WORK_MODE)),
    c.MODULE_TYPE_CCPU: frozenset((c.INFO_TYPE_IP,)),
    c.MODULE_TYPE_AICORE: frozenset((c.INFO_TYPE_CORE_NUM_LEVEL, c.INFO_TYPE_FREQUE_LEVEL)),
    c.MODULE_TYPE_TSCPU: frozenset((c.INFO_TYPE_FFTS_TYPE,)),
    c.MODULE_TYPE_PCIE: frozenset((c.INFO_TYPE_ID, c.INFO_TYPE_P2P_CAPABILITY)),
    c.MODULE_TYPE_COMPUTING: frozenset((0,)),
}  # fmt: skip
"""Items that the driver has a way to ask for, and that a card of this machine has no number for: NOT_SUPPORT."""

_ALL_NOT_SUPPORTED = frozenset((c.MODULE_TYPE_HCOM_CPU, c.MODULE_TYPE_HOST_AICPU))
"""Modules in which an item that is not known is not supported; elsewhere it is an invalid value."""

_LATER: Mapping[tuple[int, int], _Fact] = {
    (c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_PRODUCT_TYPE): lambda d: c.HAL_PRODUCT_TYPE_A_K,
}
"""What only the later driver tells."""


def fact(device: Device, module: int, info: int) -> tuple[int, int]:
    """Return (code, number) for an item."""
    known = _MODULES.get(module, {}).get(info)
    if known is None and not device.machine.driver.first:
        known = _LATER.get((module, info))
    if known is not None:
        return 0, known(device)
    if module in _ALL_NOT_SUPPORTED or info in _KNOWN.get(module, ()):
        return c.DRV_ERROR_NOT_SUPPORT, 0
    return c.DRV_ERROR_INVALID_VALUE, 0
