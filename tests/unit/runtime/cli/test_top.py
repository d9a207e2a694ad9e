"""`npuhal top`: what is in use and by whom, once for a pipe, again and again in a terminal."""

from __future__ import annotations

import io
import json
import os
import time
from typing import Any

import pytest

import npuhal
from runtime.api import Runtime
from runtime.cli import main, top
from runtime.cli.output import Output
from tests.tools.processes import Line, processes, shared_name

URL = "fake://ascend910b3?devices=2"


def test_a_pipe_gets_one_picture_of_all_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--url", URL]) == 0
    first, heads, *rows = capsys.readouterr().out.splitlines()
    assert first == f"{URL}: 2 devices, used/total, memory in MiB"
    assert heads.split("  ")[0] == "device"
    assert [row.split()[0] for row in rows] == ["0", "1"]
    assert all(len(line) <= 120 for line in (first, heads, *rows))


def hold(line: Line, url: str) -> None:
    """Hold memory and a stream of the second card until told to end."""
    machine = Runtime(url)
    device = machine.device(1)
    device.alloc(300 << 20)
    line.send(os.getpid())
    line.hear()
    machine.close(force=True)


def test_processes_of_a_shared_machine_are_named_with_what_they_hold(capsys: pytest.CaptureFixture[str]) -> None:
    url = f"{URL}&shared={shared_name('top')}"
    with processes((hold, url)) as (holder,):
        pid = holder.hear()
        assert main(["top", "--url", url, "--json"]) == 0
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert main(["top", "--url", url]) == 0
        text = capsys.readouterr().out
        holder.send("end")
        holder.end()
    first, second = told["devices"]
    assert first["processes"] == []
    (process,) = second["processes"]
    assert process["pid"] == pid
    assert process["memory_mib"] >= 300
    assert process["stream"] >= 1
    assert second["memory_huge_mib"]["used"] >= 300
    assert second["queues"]["used"] >= 1
    assert f"1       {pid}" in text


def test_a_terminal_is_drawn_again_until_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", pause)
    shown, hal = Terminal(), npuhal.open_hal(URL)
    top._live(hal, 0.5, Output(shown, io.StringIO()))
    hal.close()
    assert pauses == [0.5] * 3
    assert shown.getvalue().count("Ctrl-C ends") == 3


@pytest.mark.parametrize(("height", "bars"), [(60, True), (10, False)])
def test_bars_give_way_to_lines_where_they_do_not_fit(height: int, bars: bool) -> None:
    from rich.console import Console

    hal = npuhal.open_hal(URL)
    text = io.StringIO()
    Console(file=text, width=140).print(top.picture(hal.url, top.read(hal), height))
    hal.close()
    assert ("device 0  Ascend910B3" in text.getvalue()) is bars
    assert "2 MiB pages" in text.getvalue()


@pytest.mark.parametrize("interval", ["0", "nan", "4000", "-1"])
def test_an_interval_out_of_range_is_refused(interval: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--url", URL, f"--interval={interval}"]) == 2
    assert "it must be 0.1 to 3600 seconds" in capsys.readouterr().err


def test_a_machine_that_cannot_be_opened_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--url", "fake://nochip"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
