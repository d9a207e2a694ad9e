"""Replay recorded API sequences (golden/api_CHIP.json) and compare what is sent; prints `matched M/N`."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from chips import find_chip
from chips.registry import Plugin, plugin
from fakes.errors import NotModelled
from npuhal.trace import Record
from runtime.core.stream.stream import StreamFlag
from runtime.errors import RuntimeFault, public_code
from tests.tools.api_sends.compare import Mapping, differences
from tests.tools.api_sends.session import Session, machine_of

_CALLS = {"rtEventRecord": "aclrtRecordEvent", "rtEventReset": "aclrtResetEvent",
          "rtStreamWaitEvent": "aclrtStreamWaitEvent"}  # fmt: skip
_NOT_THERE = public_code("RT_ERROR_FEATURE_NOT_SUPPORT")


def perform(session: Session, step: dict[str, Any], streams: dict[int, str]) -> int:
    """Do a step with our API and return its code; LookupError if there is no such step."""
    name, given = step["api"], step["inputs"]
    stream = streams.get(given.get("stream_id", -1), "s1")
    handles = session.handles
    ways: dict[str, Callable[[], Any]] = {
        "rtSetDevice": session.start,
        "rtStreamCreate": lambda: _create_stream(session, given["expect_stream_id"], streams),
        "rtDevBinaryRegister(ELF)": lambda: session.load("aic"),
        "rtFunctionRegister": lambda: None,
        "rtDevBinaryRegister(ELF_AIVEC)": lambda: session.load("aiv"),
        "rtFunctionRegister(aiv)": session.allocate,
        "rtKernelLaunch": lambda: session.launch(stream, "aic", given["block_dim"]),
        "rtKernelLaunch(aiv)": lambda: session.launch(stream, "aiv", given["block_dim"]),
        "rtKernelLaunchWithFlagV2(device args)": lambda: session.launch(
            stream, "aic", given["block_dim"], handles["dev"]
        ),
        "rtMemcpyAsync(H2D)": lambda: session.copy("dev", "host", given["size"]),
        "rtMemcpyAsync(D2H)": lambda: session.copy("host", "dev", given["size"]),
        "rtMemcpyAsync(D2D)": lambda: session.copy("dev2", "dev", given["size"]),
        "rtMemcpyAsync(D2D 96MiB)": lambda: session.copy("dev2", "dev", given["size"]),
        "rtMemsetAsync": lambda: session.stream_call(
            "aclrtMemsetAsync", devPtr=handles["dev"], maxCount=given["size"], value=given["value"],
            count=given["size"],
        ),
        "rtReduceAsync": lambda: session.reduce(given["kind"], given["data_type"], given["size"]),
        "rtEventCreateWithFlag": lambda: session.call("aclrtCreateEventWithFlag", event="&event", flag=given["flag"]),
        "rtEventDestroy": lambda: session.call("aclrtDestroyEvent", event=handles["event"]),
        "rtNotifyCreate": lambda: session.call("aclrtCreateNotify", notify="&notify", flag=0),
        "rtNotifyRecord": lambda: session.stream_call("aclrtRecordNotify", stream, notify=handles["notify"]),
        "rtNotifyWait": lambda: session.stream_call(
            "aclrtWaitAndResetNotify", stream, notify=handles["notify"], timeout=0
        ),
        "rtNotifyWaitWithTimeOut": lambda: session.stream_call(
            "aclrtWaitAndResetNotify", stream, notify=handles["notify"], timeout=given["timeout"]
        ),
        "rtNotifyDestroy": lambda: session.call("aclrtDestroyNotify", notify=handles["notify"]),
        "rtStreamSynchronize": lambda: session.stream_call("aclrtSynchronizeStream"),
        "rtProfilerTraceEx": lambda: session.trace_mark(given["id"], given["model_id"], given["tag"]),
        "rtSubscribeReport": session.subscribe,
        "rtCallbackLaunch": lambda: session.callback(given["is_block"]),
        "rtStreamDestroy": lambda: session.stream_call("aclrtDestroyStream", stream),
        "rtDeviceReset": lambda: session.call("aclrtResetDeviceForce", deviceId=0),
        **{theirs: lambda ours=ours: session.stream_call(ours, stream, event=handles["event"])  # type: ignore[misc]
           for theirs, ours in _CALLS.items()},
    }  # fmt: skip
    ways |= _graph_steps(session, step, stream)
    if name not in ways:
        raise LookupError(name)
    return int(ways[name]() or 0)


def _graph_steps(session: Session, step: dict[str, Any], stream: str) -> dict[str, Callable[[], Any]]:
    """Return the steps that capture a stream into a graph, and build a model by hand."""
    given, call, handles = step["inputs"], session.call, session.handles

    def launch() -> None:
        session.launch("captured", "aic", given["block_dim"], handles["dev"])

    def execute() -> int:
        return call("rtModelExecute", mdl=handles["model"], stm=handles[stream], flag=0)

    def on(function: str, on_stream: str, event: str) -> Callable[[], int]:
        return lambda: session.stream_call(function, on_stream, event=handles[event])

    def of_model(function: str) -> Callable[[], int]:
        return lambda: call(function, mdl=handles["model"])

    def with_kept(function: str, **more: int) -> Callable[[], int]:
        return lambda: call(function, mdl=handles["model"], stm=handles["kept"], **more)

    return {
        "rtStreamBeginCapture": session.begin_capture,
        "capture:rtKernelLaunchWithFlagV2": launch,
        "capture:rtKernelLaunchWithFlagV2 #2": launch,
        "capture:rtEventRecord(fork)": on("aclrtRecordEvent", "captured", "fork"),
        "capture:rtStreamWaitEvent(fork)": on("aclrtStreamWaitEvent", "branch", "fork"),
        "capture:rtKernelLaunch(branch)": lambda: session.launch("branch", "aiv", given["block_dim"]),
        "capture:rtMemcpyAsync D2D(branch)": lambda: session.copy("dev2", "dev", given["size"], stream="branch"),
        "capture:rtEventRecord(join)": on("aclrtRecordEvent", "branch", "join"),
        "capture:rtStreamWaitEvent(join)": on("aclrtStreamWaitEvent", "captured", "join"),
        "rtStreamEndCapture": lambda: call("aclmdlRICaptureEnd", stream=handles["captured"], modelRI="&model"),
        "rtModelExecute (1st)": execute,
        "rtModelExecute (2nd)": execute,
        "rtModelExecute(classic)": execute,
        "rtModelExecute(classic) #2": execute,
        "rtModelDestroy(captured)": of_model("rtModelDestroy"),
        "rtModelCreate": lambda: call("rtModelCreate", mdl="&model", flag=0),
        "rtStreamCreateWithFlags(PERSISTENT)": lambda: call(
            "rtStreamCreateWithFlags", stm="&kept", priority=0, flags=int(StreamFlag.PERSISTENT)
        ),
        "rtModelBindStream(HEAD)": with_kept("rtModelBindStream", flag=0),
        "model:rtKernelLaunch": lambda: session.launch("kept", "aic", given["block_dim"], handles["dev"]),
        "rtEndGraph": with_kept("rtEndGraph"),
        "rtModelLoadComplete": of_model("rtModelLoadComplete"),
        "rtModelUnbindStream": with_kept("rtModelUnbindStream"),
        "rtModelDestroy": of_model("rtModelDestroy"),
        "rtStreamDestroy(model)": lambda: session.stream_call("aclrtDestroyStream", "kept"),
    }


def _create_stream(session: Session, number: int, streams: dict[int, str]) -> int:
    streams[number] = f"s{len(streams) + 1}"
    return session.call("aclrtCreateStream", stream=f"&{streams[number]}")


def sends(records: list[Record]) -> list[tuple[int, list[bytes]]]:
    """Return queue and entries of every send, in order."""
    found = []
    for record in records:
        if record.name == "halSqTaskSend" and record.rc == 0:
            raw = bytes.fromhex(record.payload)
            found.append((record.before["info"]["sqId"], [raw[at : at + 64] for at in range(0, len(raw), 64)]))
    return found


def replay(path: Path) -> tuple[int, int, list[str], list[str]]:
    """Replay one file; returns matched and compared steps, what differs, and the steps that were not compared.

    Those are steps which the chip's support refuses by name (docs/differences.md), and what needs their outcome.
    """
    chip = path.stem.removeprefix("api_")
    try:
        soc, options = machine_of(chip)
    except LookupError as unknown:
        raise SystemExit(f"{path}: {unknown}") from None
    layouts = plugin(find_chip(soc))
    session = Session(soc, options=options)
    try:
        session.open()
    except NotModelled as missing:
        raise SystemExit(f"{path}: {missing}") from None
    mapping, streams, skipped = Mapping(), dict[int, str](), Counter[int]()
    matched, compared, findings, absent = 0, 0, list[str](), list[str]()
    try:
        for number, step in enumerate(json.loads(path.read_text())):
            if step["api"] == "rtEventCreateWithFlag":
                mapping.forget("event")
                mapping.forget("notify")  # which events are on some chips
            if step["api"] == "rtStreamWaitEvent" and not step["sends"]:
                session.look("event")  # by then the recorded runtime knew that the event was done
            if step["api"] == "rtStreamBeginCapture":
                mapping.forget("address")  # blocks of arguments have come back
            if step["api"] == "rtModelCreate":
                for kind in ("sq", "stream", "model", "notify"):
                    mapping.forget(kind)
            code, reason = _tried(session, step, streams)
            if reason and step["ret"] == 0:
                absent.append(f"{chip}[{number}] {step['api']}: {reason}")
                skipped.update(each["sq"] for each in step["sends"] for _ in each["sqe_hex"])
                session.taken()
                continue
            problems = [] if code == step["ret"] else [f"ret: recorded {step['ret']}, ours {code}"]
            recorded = entries(layouts, ((each["sq"], map(bytes.fromhex, each["sqe_hex"])) for each in step["sends"]))
            made = entries(layouts, sends(session.taken()))
            if len(made) != len(recorded):
                problems.append(f"entries: recorded {_text(recorded)}, ours {_text(made)}")
            else:
                for (queue, theirs), (own, ours) in zip(recorded, made, strict=True):
                    if not mapping.agrees("sq", queue, own):
                        problems.append(f"queue: recorded {queue}, ours {own}")
                    problems += differences(layouts, theirs, ours, mapping, skipped[queue])
            compared += 1
            matched += not problems
            findings += [f"{chip}[{number}] {step['api']} {step['inputs']}: {problem}" for problem in problems]
    finally:
        session.close()
    return matched, compared, findings, absent


def _tried(session: Session, step: dict[str, Any], streams: dict[int, str]) -> tuple[int, str]:
    """Do a step; returns its code, and why it is not there where it is refused as a feature or needs one that is."""
    try:
        code = perform(session, step, streams)
    except RuntimeFault as refused:
        return refused.code, refused.message if refused.code == _NOT_THERE else ""
    except KeyError as unmade:
        return _NOT_THERE, f"needs {unmade.args[0]!r}, which was refused"
    return code, f"refused with {code}" if code == _NOT_THERE else ""


def entries(layouts: Plugin, sent: Iterable[tuple[int, Iterable[bytes]]]) -> list[tuple[int, bytes]]:
    """Return queue and entry, in order, whichever call has brought it; how many one call brings is the sender's choice.

    Behind the entry of a DMA over UB comes the driver's own part, which is left out.
    """
    found: list[tuple[int, bytes]] = []
    for queue, given in sent:
        first, *more = given
        found.append((queue, first))
        if layouts.decode(first).layout != "async_dma":
            found += [(queue, entry) for entry in more]
    return found


def _text(found: list[tuple[int, bytes]]) -> str:
    return "; ".join(f"sq {queue}: {entry[:16].hex()}" for queue, entry in found)


def main(arguments: list[str] | None = None) -> int:
    """Replay files; 1 when something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.api_sends", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="api_910B1.json, api_950.json")
    matched, compared = 0, 0
    for path in parser.parse_args(arguments).files:
        right, total, findings, absent = replay(path)
        for finding in [*findings, *absent]:
            print(finding)
        print(f"{path.name}: matched {right}/{total}" + (f", {len(absent)} not there" if absent else ""))
        matched, compared = matched + right, compared + total
    print(f"matched {matched}/{compared}")
    return 0 if matched == compared else 1


if __name__ == "__main__":
    sys.exit(main())
