"""``npuhal top``: what of each device is in use, again and again: load, memory by page kind, queues, ids, processes."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from npuhal.words import count
from runtime.cli import UsageError
from runtime.cli.info import device_facts, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from npuhal import HalApi
    from runtime.cli.output import Output

HELP = (
    "Show for each device its load, memory by page kind, queues, streams, events, notifies and models in use, of all "
    "processes together, as used/total; of a fake machine that processes share (shared=NAME) also which process holds "
    "what. In a terminal the picture is drawn again every second until Ctrl-C; in a pipe, or with --once, it is "
    "written once. The driver's library reports neither temperature nor the processes of a card; `npu-smi info` does."
)
EXAMPLES = (
    ("npuhal top", "the machine of $NPUHAL_URL, or the driver's"),
    ("npuhal top --once --json", "once, for scripts"),
    ("npuhal top --url 'fake://ascend910b3?devices=2&shared=ci'", "who uses a machine that processes share"),
)

_COLUMNS = {
    "device": "device", "state": "state", "soc": "chip", "cube_load_percent": "load %",
    "memory_huge_mib": "2 MiB pages", "memory_normal_mib": "4 KiB pages", "memory_giant_mib": "1 GiB pages",
    "queues": "queues", "streams": "streams", "events": "events", "notifies": "notifies", "models": "models",
}  # fmt: skip
"""Facts that are shown, and their column heads; memory is in MiB."""
_LEAST_S = 0.1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--url", help="backend to look behind (default: $NPUHAL_URL or hal://)")
    parser.add_argument("--once", action="store_true", help="write one picture and leave")
    parser.add_argument("--interval", metavar="SECONDS", type=float, default=1.0, help="between two pictures (1)")
    parser.add_argument("--json", action="store_true", help="write JSON, once")


def run(args: argparse.Namespace, out: Output) -> int:
    """Show what is in use until somebody ends it."""
    import npuhal

    if not _LEAST_S <= args.interval <= 3600:
        raise UsageError(f"--interval is {args.interval}; it must be {_LEAST_S} to 3600 seconds", "--interval 1")
    hal = npuhal.open_hal(args.url)
    try:
        if args.json:
            out.json({"backend": hal.url, "devices": read(hal)})
        elif args.once or not out.is_terminal:
            _write(hal.url, read(hal), out)
        else:
            _live(hal, args.interval, out)
    finally:
        hal.close()
    return 0


def read(hal: HalApi) -> list[dict[str, Any]]:
    """Return what of each device is in use, and by whom, where that can be known."""
    from runtime.driver.info import device_count
    from runtime.driver.visible import VARIABLE, read_mask

    number = device_count(hal)
    visible = read_mask(os.environ.get(VARIABLE), number)
    machine = getattr(hal, "fake", None) or getattr(getattr(hal, "inner", None), "fake", None)
    devices = []
    for device_id in range(number):
        facts = device_facts(hal, device_id, visible.ids)
        users = [] if machine is None else machine.users(device_id)
        facts["processes"] = [
            {"pid": one.pid, "program": _program(one.pid), "memory_mib": one.memory >> 20, **_ids(one.ids)}
            for one in users if one.pid != os.getpid()
        ]  # fmt: skip
        devices.append(facts)
    return devices


def _ids(ids: dict[str, int]) -> dict[str, int]:
    return {name: ids.get(name, 0) for name in sorted(ids)}


def _program(pid: int) -> str:
    """Return the command line of a process, as far as it is short; "" where the system does not say."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4096).decode("utf-8", "replace").split("\0")
    except OSError:
        return ""
    return " ".join(words).strip()[:60]


def _rows(devices: list[dict[str, Any]]) -> list[list[str]]:
    return [[shown(device[name]) for name in _COLUMNS] for device in devices]


def _processes(devices: list[dict[str, Any]]) -> Iterator[list[str]]:
    for device in devices:
        for one in device["processes"]:
            ids = ", ".join(f"{used} {name}" for name, used in one.items()
                            if name not in ("pid", "program", "memory_mib") and used)  # fmt: skip
            yield [str(device["device"]), str(one["pid"]), str(one["memory_mib"]), ids or "-", one["program"]]


_PROCESS_HEADS = ("device", "process", "memory (MiB)", "ids", "program")


def _write(url: str, devices: list[dict[str, Any]], out: Output) -> None:
    out.line(f"{url}: {count(len(devices), 'device')}, used/total, memory in MiB")
    out.table(list(_COLUMNS.values()), _rows(devices))
    processes = list(_processes(devices))
    if processes:
        out.line()
        out.table(_PROCESS_HEADS, processes)


def _live(hal: HalApi, interval_s: float, out: Output) -> None:
    """Draw again and again, until Ctrl-C."""
    from rich.console import Console
    from rich.live import Live

    console = Console(file=out.stream)
    with Live(console=console, screen=True, auto_refresh=False) as live:
        try:
            while True:
                live.update(picture(hal.url, read(hal), console.height), refresh=True)
                time.sleep(interval_s)
        except KeyboardInterrupt:
            return


def picture(url: str, devices: list[dict[str, Any]], height: int) -> RenderableType:
    """Return what a terminal shows: bars for what is in use, or lines where these do not fit, and the processes."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(f"{url}   {time.strftime('%H:%M:%S')}   Ctrl-C ends", style="dim")]
    in_bars = len(devices) * (len(_COLUMNS) - 2) + 2 <= height
    if not in_bars:
        parts.append(_table(list(_COLUMNS.values()), _rows(devices)))
    for device in devices if in_bars else ():
        parts.append(Text(f"device {device['device']}  {device['soc']}  {device['state']}", style="bold"))
        table = Table.grid(padding=(0, 2))
        for name in list(_COLUMNS)[3:]:
            value = device[name]
            if name == "cube_load_percent" and isinstance(value, int):
                value = {"used": value, "capacity": 100}
            if isinstance(value, dict):
                table.add_row(_COLUMNS[name], _bar(value["used"], value["capacity"]), shown(value))
            else:
                table.add_row(_COLUMNS[name], "", str(value))
        parts.append(table)
    rows = list(_processes(devices))
    if rows:
        parts.append(_table(_PROCESS_HEADS, rows))
    return Group(*parts)


def _table(heads: Sequence[str], rows: list[list[str]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _bar(used: int, capacity: int) -> RenderableType:
    from rich.progress_bar import ProgressBar

    style = "red" if capacity and used > 0.9 * capacity else "green"
    return ProgressBar(total=max(capacity, 1), completed=used, width=30, complete_style=style, finished_style="red")
