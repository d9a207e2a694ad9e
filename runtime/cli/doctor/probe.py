"""`npuhal doctor --probe`: from loading the library to a completed task, on the driver layer alone.

Nothing of the runtime's core is used, so that a probe tells the driver and the device from the runtime.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable

import npuhal
from chips.env import EncodeEnv, TaskIds
from chips.registry import Plugin, UnsupportedTask, plugin
from chips.tasks import EventRecord, Maintenance, Nop, Task
from npuhal import constants as c
from npuhal import daemon as daemons
from npuhal import quiet
from npuhal import structs as s
from npuhal.loader import URL_VARIABLE, HalUrl, loaded_path
from npuhal.records import dataclass, field
from npuhal.version import decode_version, withheld
from runtime.cli.doctor import nodes
from runtime.cli.doctor.findings import Level
from runtime.cli.doctor.ladder import Doubt, Failed, ProbeStep, Skipped
from runtime.cli.doctor.machine import Machine
from runtime.driver.calls import HalCalls
from runtime.driver.info import DeviceInfo, MachineFacts, device_count, read_machine
from runtime.driver.memory import MemoryDriver
from runtime.driver.queues import NO_ID, SQE_BYTES, QueueDriver, QueueOptions, driver_of
from runtime.driver.resource_table import ResourceTable
from runtime.driver.resources import EVENT, NOTIFY, STREAM, IdDriver

__all__ = ["Probe", "Sent"]

_BYTES = 64 << 10
_POLL_S = 0.001
_ANSWER_S = 5.0
"""How long the device may take for a task that does nothing."""
_WORKING = 1  # drvStatus_t, DRV_STATUS_WORK


@dataclass(frozen=True, slots=True)
class Sent:
    """A queue entry that the probe sent: ring position, what it was meant to be, and its bytes."""

    position: int
    what: str
    sqe: bytes


@dataclass
class Probe:
    """One climb. `steps()` gives the ladder, `tidy()` what undoes it; the rest is what it found on its way."""

    url: str | None
    device_id: int = 0
    machine: Machine = field(default_factory=Machine)
    hal: npuhal.HalApi | None = None
    facts: MachineFacts | None = None
    sq_id: int | None = None
    sent: list[Sent] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self._address = self._stream_id = self._logic_cq = 0
        self._queues: QueueDriver

    def steps(self) -> tuple[ProbeStep, ...]:
        """Return the ladder from the bottom up; limits in seconds."""
        return (
            ProbeStep("nodes", self._nodes, 10),  # before the library is loaded, which waits for some of them
            ProbeStep("load", self._load, 60),
            ProbeStep("dependencies", self._dependencies, 10),
            ProbeStep("versions", self._versions, 10),
            ProbeStep("enumerate", self._enumerate, 30),
            ProbeStep("daemon", self._daemon, 120),
            ProbeStep("open", self._open, 300),  # the driver waits up to 240 s for a process that is being recycled
            ProbeStep("memory", self._memory, 30),
            ProbeStep("copy", self._copy, 30),
            ProbeStep("stream", self._stream, 30),
            ProbeStep("no-op", self._no_op, 30),
            ProbeStep("event", self._event, 30),
        )

    def tidy(self) -> ProbeStep:
        """Return the step that gives everything back, last taken first; what cannot be given back is named."""
        return ProbeStep("close", self._close, 120)

    def _load(self) -> str:
        began = time.monotonic()
        self.hal = npuhal.open_hal(self.url)
        self._undo.append(("door", self.hal.close))
        told, took = getattr(self.hal, "path", "") or self.hal.url, time.monotonic() - began
        if took > quiet.SLOW_S and isinstance(self._inner(), npuhal.LibraryApi):
            cause = quiet.expected_wait(str(self.machine.root)) or "its constructors waited for a device node"
            raise Doubt(f"{told}, after {took:.0f} s: {cause}", nodes.CHANNEL_CURE)
        return told

    def _dependencies(self) -> str:
        if not isinstance(self._inner(), npuhal.LibraryApi):
            raise Skipped("this backend needs no library")
        client = daemons.find_daemon()
        found = [path for name in ("libc_sec.so", "libmmpa.so") if (path := loaded_path(name))]
        if isinstance(client, daemons.Absent):
            raise Doubt(
                f"{', '.join(found)}; no {daemons.LIBRARY}: {client.reason}",
                "install the CANN toolkit or runtime package and source its set_env.sh",
            )
        return ", ".join((*found, loaded_path(daemons.LIBRARY) or client.path))

    def _versions(self) -> str:
        shaken = npuhal.shake_hands(self._hal)
        if not shaken.library:
            raise Doubt("the library tells no API version", "it is older than this binding; update the driver")
        missing = withheld(shaken.client)
        told = f"driver API {decode_version(shaken.library)}, ours {decode_version(shaken.client)}"
        return f"{told}; withheld: {', '.join(missing)}" if missing else told

    def _nodes(self) -> str:
        if HalUrl.parse(self.url or os.environ.get(URL_VARIABLE) or "hal://").scheme != "hal":
            raise Skipped("this backend needs no device nodes")
        for finding in nodes.check(self.machine):
            if finding.level is Level.PROBLEM:
                raise Failed(f"{finding.situation}: {finding.evidence}", finding.cure)
        told = ", ".join(nodes.device_nodes(self.machine))
        if wait := quiet.expected_wait(str(self.machine.root)):
            raise Doubt(f"{told}; {wait}", nodes.CHANNEL_CURE)
        return told

    def _enumerate(self) -> str:
        count = device_count(self._hal)
        if self.device_id >= count:
            raise Failed(
                f"device {self.device_id} does not exist: the driver shows {count}",
                "check the container's devices and npu-smi info" if not count else f"choose one below {count}",
            )
        self.facts = read_machine(self._hal)
        told = f"{count} device(s), {self.facts.chip.soc}, version word {self.facts.version_word:#x}"
        status = DeviceInfo(self._hal, self.device_id).status()
        if status != _WORKING:
            raise Doubt(f"{told}; device {self.device_id} is in state {status}, not working", "see npu-smi info")
        return told

    def _daemon(self) -> str:
        starter = self._hal.daemon()
        if starter is None and isinstance(self._inner(), npuhal.LibraryApi):
            found = daemons.find_daemon()
            starter = None if isinstance(found, daemons.Absent) else found
        if starter is None:
            raise Doubt("nobody starts the device's processes", f"install what {daemons.LIBRARY} belongs to")
        mode = 0 if self._facts.chip.has("DEVICE_TS_DEAMON_OPEN_EX") else None
        starter.open(self.device_id, 0, mode)
        self._undo.append(("daemon", lambda: starter.close(self.device_id)))
        return "device processes started"

    def _open(self) -> str:
        rc = self._hal.halDeviceOpen(
            self.device_id, ctypes.byref(s.hal_dev_open_in()), ctypes.byref(s.hal_dev_open_out())
        )
        self._calls.check(rc, "halDeviceOpen", f"device {self.device_id}")
        self._undo.append(("device", lambda: self._calls.call("halDeviceClose", None)))
        ssid = ctypes.c_uint32(0)
        self._calls.check(self._hal.drvMemSmmuQuery(self.device_id, ctypes.byref(ssid)), "drvMemSmmuQuery")
        return f"device {self.device_id} open, SSID {ssid.value}"

    def _memory(self) -> str:
        memory = MemoryDriver(self._hal, self.device_id)
        free, total = memory.space()
        self._address = memory.alloc(_BYTES, c.MEM_DEV | c.MEM_TYPE_HBM)
        self._undo.append(("memory", lambda: memory.free(self._address)))
        return f"{_BYTES >> 10} KiB at {self._address:#x}; {free >> 20} MiB free of {total >> 20} MiB"

    def _copy(self) -> str:
        memory = MemoryDriver(self._hal, self.device_id)
        pattern = os.urandom(_BYTES)
        memory.write(self._address, pattern)
        back = memory.read(self._address, _BYTES)
        wrong = next((at for at, (ours, theirs) in enumerate(zip(pattern, back, strict=True)) if ours != theirs), None)
        if wrong is not None:
            raise Failed(
                f"what was read back differs from what was written, first at byte {wrong}",
                "the device's memory or the link is faulty: see dmesg and npu-smi info -t health",
            )
        return f"{_BYTES >> 10} KiB to the device and back"

    def _stream(self) -> str:
        ids, limits, traits = IdDriver(self._calls), self._facts.chip.limits, self._facts.chip.traits
        queues = self._queues = driver_of(self._calls, traits.completion, ResourceTable())
        self._undo.append(("what queues share", queues.close))
        depth = limits.rtsq_depth
        stream_id = self._stream_id = ids.alloc(STREAM)
        self._undo.append(("stream id", lambda: ids.free(STREAM, stream_id)))
        sq_id, cq_id = queues.create(
            QueueOptions(stream_id),
            depth=depth,
            cqe_bytes=limits.cqe_size,
            cq_depth=depth,
            extended=self._facts.chip.generation != "v100",
        )
        self.sq_id = sq_id
        self._undo.append(("queues", lambda: queues.free(sq_id, cq_id)))
        logic = self._logic_cq = queues.create_logic_cq(stream_id, 0)
        if logic == NO_ID:  # reports come in the CQ of the queues
            return f"stream id {stream_id}, sq {sq_id}, cq {cq_id}, depth {depth}"
        self._undo.append(("logic queue", lambda: queues.free_logic_cq(logic)))
        ids.bind_logic_cq(stream_id, logic)
        return f"stream id {stream_id}, sq {sq_id}, cq {cq_id}, logic cq {logic}, depth {depth}"

    def _no_op(self) -> str:
        task = next((task for task in (Nop(), Maintenance()) if self._has(task)), None)
        if task is None:
            raise Skipped(f"{self._facts.chip.generation} has no task that does nothing")
        head = self._await_head(self._send(task))
        return f"{task.type.name} executed, head moved to {head}"

    def _event(self) -> str:
        kind = EVENT if self._facts.chip.generation == "v100" else NOTIFY
        ids = IdDriver(self._calls)
        event_id = ids.alloc(kind)
        self._undo.append(("event id", lambda: ids.free(kind, event_id)))
        self._await_head(self._send(EventRecord(event_id=event_id, timeline=True, report=True)))
        if self._plugin.commands is not None:
            return f"event {event_id} recorded"
        began, queues = time.monotonic(), self._queues
        while time.monotonic() - began < _ANSWER_S:
            entries = queues.receive(self._logic_cq, self._stream_id, 100)
            self.received += entries
            if entries:
                cqe = self._plugin.parse_cqe(entries[-1])
                if cqe.failed:
                    raise Failed(
                        f"the event failed: error type {cqe.error_type:#x}, code {cqe.error_code:#x}",
                        f"npuhal explain {cqe.error_code:#x}",
                        cqe.error_code,
                    )
                return f"event {event_id} recorded, completion entry of sq {cqe.sq_id} at head {cqe.sq_head}"
        raise Failed(
            f"the event was executed, but no completion entry came within {_ANSWER_S:g} s",
            "completion interrupts do not arrive: see dmesg; in a virtual machine check its interrupt set-up",
        )

    def _close(self) -> str:
        left = []
        for what, undo in reversed(self._undo):
            try:
                undo()
            except Exception as problem:
                left.append(f"{what} ({problem})".partition("\n")[0])
        self._undo.clear()
        if left:
            raise Doubt(f"could not give back: {'; '.join(left)}", "the driver gives back what is left at process end")
        return "everything given back"

    def _send(self, task: Task) -> int:
        """Send a task and return the tail, which the head reaches in the end; the queue is ours from slot 0 on."""
        sq_id = self.sq_id
        assert sq_id is not None
        facts = self._facts
        env = EncodeEnv(
            chip=facts.chip,
            stream_id=self._stream_id,
            sq_id=sq_id,
            device_id=self.device_id,
            online=facts.on_host,
        )
        number = len(self.sent)
        sqe = self._plugin.encode(task, env, TaskIds(number, number, number))
        sender = self._queues.sender(sq_id, len(sqe) // SQE_BYTES)
        sender.buffer[:] = sqe
        rc = sender.send(sender.device_id, sender.reference)
        self._calls.check(rc, "halSqTaskSend", f"{task.type.name} on sq {sq_id}")
        rows = [sqe[at : at + SQE_BYTES] for at in range(0, len(sqe), SQE_BYTES)]
        self.sent += [Sent(number + offset, task.type.name, row) for offset, row in enumerate(rows)]
        return len(self.sent)

    def _await_head(self, wanted: int) -> int:
        assert self.sq_id is not None
        began, queues = time.monotonic(), self._queues
        while (head := queues.head(self.sq_id)) != wanted:
            if time.monotonic() - began > _ANSWER_S:
                raise Failed(
                    f"the head stays at {head} instead of {wanted} after {_ANSWER_S:g} s; tail "
                    f"{queues.tail(self.sq_id)}, queue {'enabled' if queues.enabled(self.sq_id) else 'disabled'}",
                    "the task scheduler does not execute: see dmesg and npu-smi info, then reset the device",
                )
            time.sleep(_POLL_S)
        return head

    def _has(self, task: Task) -> bool:
        try:
            self._plugin.ops(task)
        except UnsupportedTask:
            return False
        return True

    def _inner(self) -> npuhal.HalApi:
        """The backend below a tracing one."""
        hal = self._hal
        inner: npuhal.HalApi = getattr(hal, "inner", hal)
        return inner

    @property
    def _hal(self) -> npuhal.HalApi:
        assert self.hal is not None
        return self.hal

    @property
    def _facts(self) -> MachineFacts:
        assert self.facts is not None
        return self.facts

    @property
    def _calls(self) -> HalCalls:
        return HalCalls(self._hal, self.device_id)

    @property
    def _plugin(self) -> Plugin:
        return plugin(self._facts.chip)
