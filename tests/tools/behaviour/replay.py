"""One scenario against our C API on a fake machine: every step run, every comparable answer compared."""

from __future__ import annotations

import ctypes
import json
import os
import queue
import re
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from runtime.capi.aclrt import Acl, Out
from runtime.capi.aclrt.entry import UNTOUCHED, find
from runtime.core.sync import synchronize
from tests.tools.behaviour.hal_log import HalLog
from tests.tools.behaviour.machine import Unsupported, control, opened, url_of
from tests.tools.behaviour.values import Skipped, Values, read_back
from tests.tools.corpus import beside

_MOST_TASKS = 5_000
"""Tasks that a card executes between two calls at most: a model that jumps to its label 0 goes round for ever."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference: what was recorded and what ours gave."""

    step: int
    what: str
    recorded: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.what}: recorded {self.recorded!r}, ours {self.ours!r}"


@dataclass(slots=True)
class Result:
    """How a scenario went; `missing` names C functions that we do not have."""

    matched: int = 0
    compared: int = 0
    findings: list[Finding] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class _Worker:
    """A persistent thread of a scenario; calls run on it one after the other."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.open = False
        self.thread = threading.Thread(target=self._loop, daemon=True)
        self.thread.start()

    def _loop(self) -> None:
        while (job := self._work.get()) is not None:
            try:
                self.done.put(job())
            except BaseException as error:
                self.done.put(error)

    def start(self, job: Any) -> None:
        self.open = True
        self._work.put(job)

    def result(self, timeout_s: float) -> Any:
        try:
            answer = self.done.get(timeout=timeout_s)
        except queue.Empty:
            return None
        self.open = False
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def wait_of_the_runtime(self) -> int:
        """Return which wait of the runtime the thread is in, 0 for none."""
        frame = sys._current_frames().get(self.thread.ident or 0)
        while frame is not None and frame.f_code is not synchronize.wait.__code__:
            frame = frame.f_back
        return 0 if frame is None else id(frame)

    def stop(self) -> None:
        self._work.put(None)


class Replay:
    """The state of one run."""

    CALL_LIMIT_S = 30.0
    STANDS_STILL_S, LOOK_S = 0.15, 0.01

    def __init__(self, scenario: dict[str, Any], tier: str) -> None:
        self.scenario, self.result = scenario, Result()
        self.environment = scenario["setup"].get("env", {})
        self.acl = Acl(url_of(scenario, tier), partial(opened, scenario))
        self._corpus = partial(beside, Path(scenario.get("file", "")))
        self.values = Values(self._callback, self._corpus)
        self.workers: dict[str, _Worker] = {}
        self.callbacks: list[Any] = []
        self.functions: dict[str, Any] = {}
        self.repeated: dict[str, int] = {}
        """How often each thread has repeated its present step."""
        self.pending: dict[str, tuple[dict[str, Any], int]] = {}
        self.hal_log: HalLog | None = None
        self.folder = tempfile.TemporaryDirectory(prefix="scenario")

    def run(self) -> Result:
        saved, started_in = {name: os.environ.get(name) for name in self.environment}, Path.cwd()
        os.environ.update(self.environment)
        os.chdir(self.folder.name)  # recorded programs write files by bare names
        try:
            for number, step in enumerate(self.scenario["steps"]):
                if not self._step(number, step):
                    break
        finally:
            os.chdir(started_in)
            for name, value in saved.items():
                os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
            for worker in self.workers.values():
                worker.stop()
            self.acl.close()
            self.folder.cleanup()
        return self.result

    def _step(self, number: int, step: dict[str, Any]) -> bool:
        """Run one step; False ends the scenario (the vendor's runtime crashed or hung here)."""
        if isinstance(step.get("ret"), str):
            return False
        try:
            if "call" in step:
                self._call(number, step)
            elif "join" in step:
                self._join(number, step)
            elif "hal" in step:
                answer = control(self.acl, self.values, step)
                if "pending" in step:
                    self._compare(number, step, "pending", step["pending"], answer)
            elif "host" in step:
                self._host(number, step)
            elif "check" in step:
                ours, self.callbacks = self.callbacks, []
                self._compare(number, step, "callbacks", step.get("callbacks", []), ours)
        except Skipped as missing:
            if not step.get("skipped"):
                self._compare(number, step, "needs", f"${missing}", "never bound")
        return True

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, number: int, step: dict[str, Any]) -> None:
        if find(step["call"]) is None:
            self.result.missing.append(step["call"])
            if _comparable(step) and "ret" in step:
                self.result.compared += 1
            return
        worker = self._worker(step)
        if step.get("async"):
            assert worker is not None
            self.pending[step["thread"]] = (step, number)
            worker.start(lambda: self._perform(step))
            return
        if worker is None:
            outcome = self._perform(step)
        else:
            worker.start(lambda: self._perform(step))
            outcome = worker.result(self.CALL_LIMIT_S)
            if outcome is None:
                self._compare(number, step, "ret", step.get("ret"), "hang")
                return
        self._judge(number, step, outcome)

    def _worker(self, step: dict[str, Any]) -> _Worker | None:
        name = step.get("thread")
        if name is None:
            return None
        return self.workers.setdefault(name, _Worker())

    def _perform(self, step: dict[str, Any]) -> dict[str, Any]:
        """Make the call, or repeat it until it fails, on the thread it belongs to."""
        if "repeat" not in step:
            return self._once(step, step["args"])
        for done in range(step["repeat"]):
            arguments = {key: _numbered(value, done) for key, value in step["args"].items()}
            self.repeated[step.get("thread", "")] = done
            outcome = self._once(step, arguments)
            if outcome["ret"]:
                return {"ok_count": done, "then": {"ret": outcome["ret"], "err": outcome["err"]}}
        return {"ok_count": step["repeat"], "then": None}

    def _once(self, step: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
        given = {key: self.values.resolve(value) for key, value in arguments.items()}
        if self.scenario["setup"].get("errmsg", True):  # the recording read the messages after each call
            self.acl.reports.take_text()
        if "hal_log" in step:
            self.hal_log = self.hal_log or HalLog(self.acl.runtime.hal)
            self.hal_log.take([])
        code = self.acl.call(step["call"], **given)
        messages = list(self.acl.reports.message_ids())
        if self.acl.started:
            for card in self.acl.runtime.hal.fake.devices:
                card.step(_MOST_TASKS)
        if "ret_str" in step:
            return {"ret": code, "err": messages, "out": {}}
        outputs = {key: value.value for key, value in given.items() if isinstance(value, Out)}
        for key, value in arguments.items():
            if isinstance(value, dict) and "read" in value:
                outputs[key] = read_back(given[key], value)
            if isinstance(value, str) and value.startswith("&") and value not in ("&", "&~"):
                self.values.bind(value, outputs[key])
        below = self.hal_log.take(step["hal_log"]) if self.hal_log is not None and "hal_log" in step else []
        return {"ret": code, "err": messages, "out": outputs, "hal_calls": below}

    def _judge(self, number: int, step: dict[str, Any], outcome: dict[str, Any]) -> None:
        if "ok_count" in outcome:
            self._compare(number, step, "ok_count", step.get("ok_count"), outcome["ok_count"])
            recorded = step.get("then")
            if recorded is not None or outcome["then"] is not None:
                self._compare(number, step, "then", recorded and recorded["ret"],
                              outcome["then"] and outcome["then"]["ret"])
            return
        if "ret_str" in step:
            recorded = step["ret_str"]
            ours = outcome["ret"]
            if not isinstance(recorded, str):  # error messages: their codes
                ours = re.findall(r"\b(E[A-Z]\d{4}):", ours or "") or None
            self._compare(number, step, "ret_str", recorded, ours)
        if "ret" not in step:
            return
        problems: list[tuple[str, Any, Any]] = []
        if outcome["ret"] != step["ret"]:
            problems.append(("ret", step["ret"], outcome["ret"]))
        if step["ret"] and "err" in step and outcome["err"] != step["err"]:
            problems.append(("err", step["err"], outcome["err"]))
        for key, expected in step.get("out", {}).items():
            written = outcome["out"].get(key, UNTOUCHED)
            if not self.values.agrees(expected, step["args"].get(key), written):
                problems.append((f"out {key}", expected, written))
        recorded = [call[:3] for call in step.get("hal_calls", [])]
        if "hal_calls" in step and outcome["hal_calls"] != recorded:
            problems.append(("hal_calls", recorded, outcome["hal_calls"]))
        if not _comparable(step):
            return
        self.result.compared += 1
        if not problems:
            self.result.matched += 1
        for what, recorded, ours in problems:
            self.result.findings.append(Finding(number, f"{step['call']} {what}", recorded, ours))

    def _join(self, number: int, step: dict[str, Any]) -> None:
        name = step["join"]
        worker = self.workers.get(name)
        if worker is None or not worker.open:
            self._compare(number, step, "nothing_pending", step.get("nothing_pending", False), True)
            return
        blocked = step.get("blocked", False)
        outcome = self._result_of_blocked(name, worker) if blocked else worker.result(self.CALL_LIMIT_S)
        if outcome is None:
            self._compare(number, step, "blocked", blocked, True)
            return
        started, _ = self.pending.pop(name)
        if blocked:
            self._compare(number, step, "blocked", True, outcome)
            return
        self._judge(number, {**started, **step, "call": started["call"], "args": started["args"]}, outcome)

    def _result_of_blocked(self, name: str, worker: _Worker) -> Any:
        """Return the answer of a call that was recorded as blocked, None while it is.

        It must not return while nothing changes. It is looked at until it stands in a wait of the runtime, or else
        given a short time, whatever the recorder waited, and longer only while it is repeated and on its way there.
        """
        seen, waits = -1, 0
        while seen != (seen := self.repeated.get(name, 0)):
            for _ in range(round(self.STANDS_STILL_S / self.LOOK_S)):
                outcome = worker.result(self.LOOK_S)
                if outcome is not None:
                    return outcome
                if waits == (waits := worker.wait_of_the_runtime()) != 0:
                    return None
        return None

    # -- surroundings ----------------------------------------------------------------------------------------------

    def _host(self, number: int, step: dict[str, Any]) -> None:
        kind, values = step["host"], self.values
        if kind == "buffer":
            values.bound[step["name"]] = values.pages(bytes([step.get("fill", 0)]) * step["size"])
        elif kind == "pid":
            values.bound[step["name"]] = os.getpid()
        elif kind == "tid":
            worker = self._worker(step)
            values.bound[step["name"]] = worker.thread.ident if worker else threading.get_ident()
        elif kind == "file":
            path = Path(self.folder.name) / step["name"]
            path.write_bytes(bytes.fromhex(step["hex"]) if "hex" in step else step["text"].encode())
            values.bound[step["name"]] = str(path)
        elif kind == "elf":
            data = self._corpus(f"elfs/{step['file']}").read_bytes()
            values.bound[step["name"]] = values.address(data)
            values.bound[step["name"] + "_len"] = len(data)
        elif kind == "write":
            data = bytes.fromhex(step["hex"])
            ctypes.memmove(self._real(values.name(step["ptr"]), len(data)), data, len(data))
        elif kind == "read":
            where = values.name(step["ptr"])
            ours = ctypes.string_at(self._real(where, step["size"]), step["size"]).hex()
            self._compare(number, step, "hex", step["hex"], ours)
        else:
            raise ValueError(f"unknown host step {kind}")

    def _real(self, address: int, size: int) -> int:
        """Return where the host can touch an address: device memory through the fake's own mapping."""
        memory = self.acl.runtime.hal.fake.memory
        return int(memory.device_pointer(address, size, "look")) if memory.find(address) is not None else address

    def _callback(self, text: str) -> Any:
        """Return the function of a name, which notes its calls as the recording did: its name, what it was told."""
        if text in self.functions:
            return self.functions[text]
        kind, _, tag = text.partition(":")

        def called(*arguments: Any) -> int:
            if kind == "hostcall":
                name, _, given = tag.partition(",")
                values = {key: self.values.resolve(value) for key, value in json.loads(given).items()}
                self.callbacks.append([f"hostcall:{name}", self.acl.call(name, **values)])
            elif kind == "host":
                self.callbacks.append([text, arguments[0] or None])
            elif kind == "exc":
                info = arguments[0]
                self.callbacks.append([text, {"error_code": info.error_code, "device": info.device_id}])
            elif kind == "snap":
                self.callbacks.append([text, arguments[0]])
            else:
                self.callbacks.append([text, *arguments[:2]])
            return int(tag.partition("ret=")[2] or 0) if kind == "snap" else 0

        self.functions[text] = called
        return called

    def _compare(self, number: int, step: dict[str, Any], what: str, recorded: Any, ours: Any) -> None:
        if not _comparable(step):
            return
        self.result.compared += 1
        if recorded == ours:
            self.result.matched += 1
        else:
            self.result.findings.append(Finding(number, what, recorded, ours))


def _comparable(step: dict[str, Any]) -> bool:
    return not (step.get("artefact") or step.get("unstable") or step.get("skipped"))


def _numbered(value: Any, number: int) -> Any:
    return value.replace("#", str(number)) if isinstance(value, str) else value


def replay(scenario: dict[str, Any], tier: str = "fake") -> Result:
    """Run one scenario; a set-up that the fake cannot be put into counts as nothing compared."""
    try:
        return Replay(scenario, tier).run()
    except Unsupported as reason:
        return Result(missing=[f"set-up: {reason}"])
