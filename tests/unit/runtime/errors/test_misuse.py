"""Advice reaches the user: at the line that called in, once, and in the log."""

from __future__ import annotations

import logging
import threading
import warnings

import pytest

from runtime.core.process.environment import ReadOnce
from runtime.errors.misuse import MisuseWarning, advise

LOG = logging.getLogger("runtime.of_this_test")


def called_in(script: str) -> list[warnings.WarningMessage]:
    """Run a script that calls into a module of the package, which has something to say; return the warnings."""
    inside = {"__name__": "runtime.inner", "advise": advise, "LOG": LOG}
    exec("def call():\n    advise(LOG, 'mind the gap')\n", inside)
    outside = {"__name__": "program", "call": inside["call"]}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        exec(compile(script, "program.py", "exec"), outside)
    return seen


def test_a_warning_stands_at_the_callers_line_once_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    seen = called_in("\n\nfor _ in range(3):\n    call()\ncall()\n")
    assert [(each.filename, each.lineno, str(each.message)) for each in seen] == [
        ("program.py", 4, "mind the gap"), ("program.py", 5, "mind the gap"),
    ]
    assert {each.category for each in seen} == {MisuseWarning}
    assert caplog.messages == ["mind the gap"] * 4


def test_a_package_whose_name_begins_alike_is_the_users() -> None:
    with pytest.warns(MisuseWarning) as seen:
        exec(compile("advise(LOG, 'here')", "alike.py", "exec"), {"__name__": "runtimes", "advise": advise, "LOG": LOG})
    assert [each.filename for each in seen] == ["alike.py"]


def test_a_thread_without_a_frame_of_the_user_is_heard_too() -> None:
    def run() -> None:
        thread = threading.Thread(target=advise, args=(LOG, "from a thread"))
        thread.start()
        thread.join(60)

    with pytest.warns(MisuseWarning, match="from a thread"):
        run()


def test_what_was_only_logged_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ReadOnce("ASCEND_RT_LAUNCH_BLOCKING")
    monkeypatch.setenv("ASCEND_RT_LAUNCH_BLOCKING", "whatever")
    with pytest.warns(MisuseWarning, match="read once"):
        known.look()
