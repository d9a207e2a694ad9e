"""null:// with its hot calls in C (`compiled=1`): what a launch costs when it has to cross ctypes.

The C compiler makes the library in a temporary folder; everything but the calls of a launch stays that of null://.
"""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakes.tiers.null import NullApi
from npuhal import constants as c
from npuhal.api import held
from npuhal.compiler import BuildError, compile_library
from npuhal.errors import BadUrl

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakes.machine.machine import Machine

HOT = ("halSqTaskSend", "halSqCqQuery", "halMemcpySumbit", "halMemcpyWait", "drvMemcpy")
"""The calls that the library has."""
_DEVICES = 8
_SQ_BITS = 13


class CompiledNullApi(NullApi):
    """The backend of null://...?compiled=1."""

    def __init__(self, url: str, machine: Machine) -> None:
        """Compile the library.

        Raises:
            BadUrl: this machine has no C compiler, the compiler fails, or there are more than 8 devices.
        """
        if len(machine.devices) > _DEVICES:
            raise BadUrl(f"HAL URL {url!r}: compiled=1 takes at most {_DEVICES} devices")
        with tempfile.TemporaryDirectory(prefix="npuhal-null-") as folder:
            self._library = self._compile(url, Path(folder) / "libnull.so")  # stays loaded without its file
        self._library.null_sent.restype = self._library.null_first.restype = ctypes.c_uint64
        self._library.null_setup(
            c.DRV_SQCQ_PROP_SQ_HEAD, c.DRV_SQCQ_PROP_SQ_TAIL, c.DRV_SQCQ_PROP_SQ_CQE_STATUS
        )
        self._shown: dict[int, Any] = {}
        super().__init__(url, machine)

    @staticmethod
    def _compile(url: str, target: Path) -> ctypes.CDLL:
        try:
            compile_library(target, [Path(__file__).with_name("null.c")])
        except BuildError as problem:
            raise BadUrl(f"HAL URL {url!r}: compiled=1: {problem}; leave it away") from None
        return ctypes.CDLL(str(target))

    def raw(self, name: str) -> Any:
        """Return the compiled function where there is one."""
        return self._library[name] if name in HOT else super().raw(name)

    def raw_held(self, name: str) -> Any:
        """Return the compiled function for a call under the interpreter's lock."""
        return held(self._library, name) if name in HOT else super().raw_held(name)

    def _bind(self, prototype: Any) -> Any:
        if prototype.name == "halSqCqQuery":
            return self._before(super().raw(prototype.name))
        call = super()._bind(prototype)
        if prototype.name == "halSqCqAllocate":
            return self._after(call, self._show)
        return self._before(call) if prototype.name == "halCqReportRecv" else call

    @staticmethod
    def _after(call: Callable[..., Any], then: Callable[[], None]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            answer = call(*arguments)
            then()
            return answer

        return wrapped

    def _before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            for number, device in enumerate(self.fake.devices):
                for sq_id, sq in device.queues.items():
                    key = number << _SQ_BITS | sq_id
                    sq.sent = self._library.null_sent(key)
                    if sq.sent and sq_id not in self._begun[number]:
                        self._begun[number][sq_id] = sq
                        self._look(number, sq, self._library.null_first(key).to_bytes(8, "little"))
            return call(*arguments)

        return wrapped

    def _show(self) -> None:
        """Tell the library of queues that are new, or were created again."""
        for number, device in enumerate(self.fake.devices):
            for sq_id, sq in device.queues.items():
                key = number << _SQ_BITS | sq_id
                if self._shown.get(key) is not sq:
                    self._shown[key] = sq
                    self._library.null_open(key, sq.depth)
