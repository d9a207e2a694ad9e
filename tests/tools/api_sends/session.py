"""The calls that the recordings are made of, done through our own API on a machine that is being traced.

The recordings come from a driver that executed nothing: waits for marks that nobody sets passed. So does `null://`.
"""

from __future__ import annotations

import threading
from typing import Any

from chips import UnknownChip, all_socs, find_chip
from chips.tasks import ProfilerTraceEx
from npuhal.trace import Record
from runtime.capi.aclrt import Acl, Out
from runtime.core.stream.stream import Stream
from runtime.launch.copy.reduce import queue_reduce
from runtime.launch.program import Program
from tests.tools.elf_writer import ElfWriter, u32

SOCS = {"910B1": "ascend910b1", "950": "ascend950pr_9599", "950_ub": "ascend950pr_9599", "310B": "ascend310b1"}
"""The fake of each chip that was recorded."""
OPTIONS = {"950_ub": "args=ub"}
"""What else its machine was like."""


def machine_of(chip: str) -> tuple[str, str]:
    """Return the SoC and the options of the machine that a recording is named for: any chip of the catalog.

    Args:
        chip: a SoC, or a generation or overlay, which stands for the first SoC that has it; `_ub` behind it: arguments
            over UB.

    Raises:
        LookupError: the catalog has neither.
    """
    if chip in SOCS:
        return SOCS[chip], OPTIONS.get(chip, "")
    name, over_ub = chip.removesuffix("_ub"), chip.endswith("_ub")
    try:
        soc = find_chip(name).soc
    except UnknownChip:
        soc = next((each for each in all_socs() if name in (find_chip(each).generation, find_chip(each).overlay)), "")
    if not soc:
        raise LookupError(f"the catalog has no chip, generation or overlay {name!r}")
    return soc.lower(), "args=ub" if over_ub else ""
_FUNC_TYPE, _AIC, _AIV = 1, 2, 3
_ARGUMENT_BYTES = 64
_DEVICE_BYTES = 256 << 20
_HOST_BYTES = 4 << 20
_HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE = 1, 2, 3


class Session:
    """One process on a fresh machine, with two streams, two kernels and memory of each kind."""

    def __init__(self, soc: str, tier: str = "null", options: str = "") -> None:
        self.acl = Acl(f"trace+{tier}://{soc}?seed=1&kernels=noop&swsq=0" + (f"&{options}" if options else ""))
        self.handles: dict[str, Any] = {}
        self.programs: dict[str, Program] = {}

    def open(self) -> None:
        """Open the machine, which the first call would otherwise; the fake may not have the chip's entries."""
        self.acl.runtime.hal.records.clear()

    def taken(self) -> list[Record]:
        """Return the calls of the driver since the last time."""
        if not self.acl.started:
            return []
        recorded = self.acl.runtime.hal.records
        taken = list(recorded)
        recorded.clear()
        return taken

    def call(self, name: str, **arguments: Any) -> int:
        """Call a C function; an argument `x="&y"` is an output kept as handle y."""
        outputs = {key: Out() for key, value in arguments.items() if isinstance(value, str) and value[:1] == "&"}
        code = int(self.acl.call(name, **(arguments | outputs)))
        for key, out in outputs.items():
            if code:
                self.handles.pop(arguments[key][1:], None)
            else:
                self.handles[arguments[key][1:]] = out.value
        return code

    def start(self) -> int:
        """Initialise and set device 0."""
        return self.call("aclInit") or self.call("aclrtSetDevice", deviceId=0)

    def stream(self, name: str) -> Stream:
        """Return a stream object."""
        found: Stream = self.acl.runtime.handles.get(self.handles[name], Stream)
        return found

    def load(self, kind: str) -> None:
        """Register a kernel for cube ("aic") or vector ("aiv") cores that takes 8 words."""
        meta = u32(_FUNC_TYPE, _AIC if kind == "aic" else _AIV)
        file = ElfWriter().kernel(kind, meta, size=256).build()
        self.programs[kind] = self.acl.runtime.slots[0].device.load(file)

    def launch(self, stream: str, kind: str, blocks: int, arguments: int | None = None) -> None:
        """Launch with 64 bytes of host arguments, or with as many that lie at a device address."""
        kernel = self.programs[kind].kernel(kind)
        if arguments is None:
            kernel.launch(self.stream(stream), blocks, *range(8))
        else:
            kernel.launch_at(self.stream(stream), blocks, arguments, _ARGUMENT_BYTES)

    def allocate(self) -> None:
        """Allocate two device blocks and a host block."""
        for name in ("dev", "dev2"):
            self.call("aclrtMalloc", devPtr=f"&{name}", size=_DEVICE_BYTES, policy=0)
        self.call("aclrtMallocHost", hostPtr="&host", size=_HOST_BYTES)

    def copy(self, dst: str, src: str, size: int, *, now: bool = False, stream: str = "s1") -> int:
        """Copy between blocks."""
        kinds = {("dev", "host"): _HOST_TO_DEVICE, ("dev", "pageable"): _HOST_TO_DEVICE,
                 ("host", "dev"): _DEVICE_TO_HOST}  # fmt: skip
        kind = kinds.get((dst, src), _DEVICE_TO_DEVICE)
        given = {"dst": self.handles[dst], "destMax": size, "src": self.handles[src], "count": size, "kind": kind}
        if now:
            return self.call("aclrtMemcpy", **given)
        return self.call("aclrtMemcpyAsync", **given, stream=self.handles[stream])

    def reduce(self, kind: int, data_type: int, size: int) -> None:
        """Queue a reduction; data_type is an rtDataType_t."""
        queue_reduce(self.stream("s1"), self.handles["dev2"], self.handles["dev"], size, kind, data_type, "reduce")

    def trace_mark(self, trace_id: int, model_id: int, tag: int) -> None:
        """Put a mark into the profiling trace."""
        self.stream("s1").submit(ProfilerTraceEx(trace_id=trace_id, model_id=model_id, tag_id=tag))

    def begin_capture(self) -> int:
        """Make the events of a fork and a join and a stream for the branch, then capture another stream."""
        for name in ("fork", "join"):
            self.call("aclrtCreateEventExWithFlag", event=f"&{name}", flag=1)
        for name in ("captured", "branch"):
            self.call("aclrtCreateStream", stream=f"&{name}")
        self.taken()
        return self.stream_call("aclmdlRICaptureBegin", "captured", mode=0)

    def look(self, event: str) -> None:
        """Ask whether an event is complete, so that the runtime knows."""
        self.call("aclrtQueryEventStatus", event=self.handles[event], status="&status")

    def subscribe(self) -> int:
        """Let this thread take the calls of stream s1."""
        return self.call("aclrtSubscribeReport", threadId=threading.get_ident(), stream=self.handles["s1"])

    def callback(self, blocking: int) -> int:
        """Queue a call on the host."""
        return self.call(
            "aclrtLaunchCallback", fn=lambda data: None, userData=0x5678, blockType=blocking,
            stream=self.handles["s1"],
        )

    def stream_call(self, name: str, stream: str = "s1", **arguments: Any) -> int:
        """Call a C function that takes a stream."""
        return self.call(name, stream=self.handles[stream], **arguments)

    def close(self) -> None:
        """End the process."""
        self.acl.close()
