"""Addresses of registers that entries name: those of events and notifies, by chip, die and number."""

from __future__ import annotations

from chips.env import EncodeEnv

_BY_DEVICE_INFO = "STARS_RESOURCE_ADDR_CALCULATE_BY_DEVICE_INFO"
_CHIP_STRIDE = 0x80000000000
_FLAT_BASE = 0x200000000000
_FLAT_CHIP_STRIDE = 0x20000000000
_DIE_STRIDE = 0x10000000000

_REGISTERS = 0x1FC05B0000000  # start of the notify registers
_FIELDS = ((4, 5), (5, 12), (8, 21))  # bits of an id, low ones first, and where they stand in a register's address
IPC_BY_ADDRESS = 3
"""Sub type of a value write that goes to the register of a notify."""


def by_device_info(env: EncodeEnv) -> bool:
    """Whether the chip's register addresses depend on the physical chip and die."""
    return bool(env.chip.prop("starsResourceAddrCalculateMethod") == _BY_DEVICE_INFO)


def chip_offset(env: EncodeEnv, chip_id: int | None = None, die_id: int | None = None) -> int:
    """What to add to a register address for a physical chip and die; None means the stream's own."""
    chip = env.phy_chip_id if chip_id is None else chip_id
    die = env.phy_die_id if die_id is None else die_id
    if env.flat_addresses:
        return _FLAT_BASE + chip * _FLAT_CHIP_STRIDE + die * _DIE_STRIDE
    return chip * _CHIP_STRIDE + die * _DIE_STRIDE


def register(notify_id: int) -> int:
    """Return the address of a notify's register."""
    address = _REGISTERS
    for bits, shift in _FIELDS:
        address += (notify_id & (1 << bits) - 1) << shift
        notify_id >>= bits
    return address


def notify_at(address: int) -> int:
    """Return which notify's register lies at an address (the inverse of `register`)."""
    offset, number, low = address - _REGISTERS, 0, 0
    for bits, shift in _FIELDS:
        number |= (offset >> shift & (1 << bits) - 1) << low
        low += bits
    return number
