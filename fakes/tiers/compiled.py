"""null:// with its hot calls in C (`compiled=1`): what a launch costs when it has to cross ctypes.

The C compiler makes the library in a temporary folder; everything but the calls of a launch stays that of null://.
"""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakes.tiers.null import NullApi, referred
from npuhal import constants as c
from npuhal.api import held
from npuhal.compiler import BuildError, compile_library
from npuhal.errors import BadUrl

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakes.machine.machine import Machine
    from fakes.machine.queues import SubmissionQueue

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
            return self._asking(super().raw(prototype.name))
        call = super()._bind(prototype)
        if prototype.name == "halSqCqAllocate":
            return self._showing(call)
        return self._receiving(call) if prototype.name == "halCqReportRecv" else call

    def _showing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Let a call that makes queues tell the library of them."""

        def allocate(devid: int, info: Any, out: Any) -> Any:
            answer = call(devid, info, out)
            if not answer and (given := referred(info)).type == c.DRV_NORMAL_TYPE:
                self._library.null_open(devid << _SQ_BITS | referred(out).sqId, given.sqeDepth)
            return answer

        return allocate

    def _asking(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Let a call that asks about a queue find it as the library has it."""

        def query(devid: int, info: Any) -> Any:
            if 0 <= devid < len(self.fake.devices):
                sq_id = referred(info).sqId
                if (sq := self.fake.devices[devid].queues.get(sq_id)) is not None:
                    self._follow(devid, sq)
            return call(devid, info)

        return query

    def _receiving(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Let a call that takes reports find all queues as the library has them."""

        def receive(devid: int, info: Any) -> Any:
            for number, device in enumerate(self.fake.devices):
                for sq in device.queues.values():
                    self._follow(number, sq)
            return call(devid, info)

        return receive

    def _follow(self, number: int, sq: SubmissionQueue) -> None:
        key = number << _SQ_BITS | sq.sq_id
        sq.sent = self._library.null_sent(key)
        if sq.sent and sq.sq_id not in self._begun[number]:
            self._begun[number][sq.sq_id] = sq
            self._look(number, sq, self._library.null_first(key).to_bytes(8, "little"))
