"""Fixtures of the runtime's unit tests."""

from tests.unit.runtime.machines import chip, device, machine, make_kernel, open_machine, python_sends, stream

__all__ = ["chip", "device", "machine", "make_kernel", "open_machine", "python_sends", "stream"]
