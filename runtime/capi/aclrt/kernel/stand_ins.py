"""Variables and functions of a host program that stand for those of a registered binary.

A compiler that translates host and device code together registers each of them by the address of its host-side
stand-in; programs then name the device variable, or the kernel, by that address.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from chips.binary import AicpuProgram, BinaryError
from npuhal.records import dataclass
from runtime import errors
from runtime.launch.source import fault_of, find

if TYPE_CHECKING:
    from runtime.core.device.device import Device
    from runtime.launch.binary import Binary, Function


@dataclass(frozen=True, slots=True)
class Symbol:
    """One variable: the binary that has it, its name there, and its size in bytes as the compiler stated it."""

    binary: Binary
    name: str
    size: int

    def address(self, device: Device) -> int:
        """Return where the variable lies on a device; the binary is loaded there if it is not yet."""
        return int(self.binary.load(device).global_variable(self.name).address)


class SymbolTable:
    """The registered variables of a process, by the address of their host-side stand-ins."""

    def __init__(self) -> None:
        self._symbols: dict[int, Symbol] = {}
        self._lock = threading.Lock()

    def add(self, stand_in: int, symbol: Symbol) -> None:
        """Register a variable; a stand-in that has one keeps it, unless its binary was unloaded.

        Raises:
            InvalidArgument 107000: the binary is an AICPU library.
            KernelError 107042: the binary has no variable of that name.
        """
        content = symbol.binary.content
        if isinstance(content, AicpuProgram):
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{symbol.binary!r} is an AICPU library: its variables are its own",
                hint="register variables of binaries for AI cores",
            )
        try:
            content.global_variable(symbol.name)
        except BinaryError as error:
            raise fault_of(error, symbol.binary.name) from error
        with self._lock:
            known = self._symbols.get(stand_in)
            if known is None or known.binary.closed:
                self._symbols[stand_in] = symbol

    def find(self, stand_in: int, call: str) -> Symbol:
        """Return the variable of a stand-in.

        Raises:
            KernelError 107043: none is registered there, or its binary was unloaded (EE1017).
        """
        with self._lock:
            found = self._symbols.get(stand_in)
        if found is None or found.binary.closed:
            why = "no device variable is registered for it" if found is None else f"{found.binary!r} was unloaded"
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_SYMBOL", f"{call}: symbol {stand_in:#x}: {why}", ee="EE1017",
                params=(call, "symbol", why), hint="pass the address of the host variable that was compiled as __gm__",
            )
        return found

    def __len__(self) -> int:
        return len(self._symbols)


class FunctionSymbols:
    """The registered kernels of a process, by the address of their host-side stand-ins."""

    def __init__(self) -> None:
        self._symbols: dict[int, tuple[Binary, str]] = {}
        self._lock = threading.Lock()

    def add(self, stand_in: int, binary: Binary, kernel: str) -> None:
        """Register a kernel; a stand-in that has one keeps it, unless its binary was unloaded.

        Raises:
            InvalidArgument 107000: the binary has no kernel of that name.
        """
        find(binary.content, kernel, binary.name)
        with self._lock:
            known = self._symbols.get(stand_in)
            if known is None or known[0].closed:
                self._symbols[stand_in] = binary, kernel

    def find(self, stand_in: int, device: Device) -> Function | None:
        """Return the kernel of a stand-in, its binary loaded on a device; None where none is registered any more."""
        with self._lock:
            found = self._symbols.get(stand_in)
        return None if found is None or found[0].closed else found[0].function(found[1], device)
