"""Machines for the situations that users have reported."""

from tests.unit.runtime.machines import chip, device, machine, make_kernel, open_machine, stream

__all__ = ["chip", "device", "machine", "make_kernel", "open_machine", "stream"]
