"""The dispatcher: exit statuses, complaints without tracebacks, and the import of one sub-command only."""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

import npuhal
from chips import find_chip
from runtime import cli, errors
from runtime.cli.output import Output

Run = Callable[[argparse.Namespace, Output], int]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """Let `npuhal info` run a function of the test."""

    def install(run: Run) -> None:
        module = ModuleType("runtime.cli.info")
        module.HELP = "A command of a test."  # type: ignore[attr-defined]
        module.EXAMPLES = (("npuhal info --n 3", "three"),)  # type: ignore[attr-defined]
        module.configure = lambda parser: parser.add_argument("--n", type=int)  # type: ignore[attr-defined]
        module.run = run  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "runtime.cli.info", module)

    return install


def raising(problem: BaseException) -> Run:
    def run(args: argparse.Namespace, out: Output) -> int:
        raise problem

    return run


def test_the_command_gets_its_arguments_and_its_status_is_returned(command: Callable[[Run], None]) -> None:
    seen = []
    command(lambda args, out: seen.append(args.n) or 1)
    assert cli.main(["info", "--n", "3"]) == 1
    assert seen == [3]


@pytest.mark.parametrize("arguments", [
    ["--help"], ["info", "--help"], ["--version"], ["--debug", "--version"], ["--version", "info"],
])  # fmt: skip
def test_help_and_version_are_no_errors(
    arguments: list[str], command: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    command(raising(AssertionError("must not run")))
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed == f"npuhal {npuhal.__version__}\n" if "--version" in arguments else "usage: npuhal" in printed


def test_help_is_a_command_too(command: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    command(raising(AssertionError("must not run")))
    assert cli.main(["help", "info"]) == cli.main(["info", "--help"]) == 0
    first, second = capsys.readouterr().out.split("usage: ")[1:]
    assert first == second
    assert cli.main(["help"]) == 0
    assert "commands:" in capsys.readouterr().out
    assert cli.main(["help", "nothing"]) == 2
    assert "unknown command 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for word in ("doctor", "sqe", "encode", "all-fields", "strace", "explain", "help"):
        assert word in text, word


def test_an_unknown_shell_is_answered_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "tcsh"]) == 2
    assert "choose from" in capsys.readouterr().err


def test_the_overview_names_every_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert cli.main([]) == 2
    text = capsys.readouterr().out
    for entry in cli.COMMANDS:
        assert f"  {entry.name} " in text
        assert entry.summary in text
    monkeypatch.setenv("COLUMNS", "40")
    cli.main([])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


@pytest.mark.parametrize("arguments", [["--nope"], ["info", "--n", "many"], ["info", "--nope"]])
def test_wrong_options_are_usage_errors(arguments: list[str], command: Callable[[Run], None]) -> None:
    command(raising(AssertionError("must not run")))
    assert cli.main(arguments) == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["info", "--chp", "910b3"], "cure: did you mean --chip"),
        (["sqe", "decode", "--heda", "3", "00"], "cure: did you mean --head"),
        (["fake", "coverge"], "cure: did you mean coverage? `npuhal fake --help` says what there is\n"),
        (["--debgu", "info"], "cure: did you mean --debug?"),
        (["info", "stray"], "error: npuhal info: unrecognized arguments: stray\ncure: `npuhal info --help` says"),
        (["run"], "error: npuhal run: no script was given\n"),
        (["info", "--url", "fake://ascend910b3?devics=2"], "did you mean 'devices'?"),
    ],
)
def test_a_typo_is_answered_with_what_was_meant(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    assert told in capsys.readouterr().err


def test_an_unknown_command_names_its_neighbour(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doktor"]) == 2
    assert capsys.readouterr().err == "error: unknown command 'doktor'\ncure: did you mean doctor?\n"


@pytest.mark.parametrize(
    ("problem", "status", "parts"),
    [
        (
            errors.fault(207004, "no device"),
            1,
            ["error: no device [207004 ACL_ERROR_RT_NO_DEVICE", "cure: Run"],
        ),
        (cli.UsageError("--n is odd", "give an even one"), 2, ["error: --n is odd\n", "cure: give an even one\n"]),
        (FileNotFoundError(2, "No such file or directory", "k.o"), 2, ["error: k.o: No such file or directory\n"]),
        (OSError(28, "No space left on device"), 1, ["error: No space left on device\n"]),
        (ZeroDivisionError("division"), 70, ["error: unexpected ZeroDivisionError: division\n", "--debug"]),
    ],
)
def test_problems_become_a_message_with_its_cure(
    problem: Exception,
    status: int,
    parts: list[str],
    command: Callable[[Run], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    command(raising(problem))
    assert cli.main(["info"]) == status
    complaint = capsys.readouterr().err
    for part in parts:
        assert part in complaint
    assert "Traceback" not in complaint
    assert complaint.count("cure: ") <= 1


def test_an_unknown_chip_is_a_usage_error_with_near_names(
    command: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    command(lambda args, out: len(find_chip("Ascend910B33").soc))
    assert cli.main(["info"]) == 2
    assert "Ascend910B3" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--debug", "info"], ["info", "--debug"]])
def test_debug_lets_the_exception_through(arguments: list[str], command: Callable[[Run], None]) -> None:
    command(raising(ZeroDivisionError("division")))
    with pytest.raises(ZeroDivisionError):
        cli.main(arguments)


def test_ctrl_c_gives_130_and_no_traceback(command: Callable[[Run], None], capsys: pytest.CaptureFixture[str]) -> None:
    command(raising(KeyboardInterrupt()))
    assert cli.main(["info"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_command_of_another_installation_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", (cli.Command("ghost", "runtime.cli.ghost", "not there"),))
    assert cli.main(["ghost"]) == 2
    assert "'npuhal ghost' is not part of this installation" in capsys.readouterr().err


def test_a_closed_pipe_is_no_complaint() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "runtime.cli", "explain", "107002"], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_one_command_imports_no_module_of_another() -> None:
    probe = (
        "import sys; from runtime.cli import main; main(['explain', '107002']); "
        "sys.exit(str(sorted(name for name in sys.modules if name.startswith(('runtime.cli.', 'rich', 'numpy')))))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "['runtime.cli.explain', 'runtime.cli.output', 'runtime.cli.parser']"


def test_explain_writes_cause_cure_and_the_way_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "DRV_ERROR_OUT_OF_MEMORY", "EE1003"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("6 DRV_ERROR_OUT_OF_MEMORY  (driver code)\n")
    assert "maps to 6 DRV_ERROR_OUT_OF_MEMORY\n          0x07020016 RT_ERROR_DRV_OUT_MEMORY\n" in text
    assert "EE1003  (user message)" in text


def test_explain_lists_others_beside_a_code_that_ends_in_the_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "timeout"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("207020 ACL_ERROR_RT_TIMEOUT ")
    assert "107020  ACL_ERROR_RT_TASK_TIMEOUT" in shown
    assert "codes about 'timeout'" in shown


def test_explain_answers_what_it_knows_beside_what_it_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "nope", "EE1003"]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("EE1003  (user message)")
    assert "no error code or message is called 'nope'" in said.err


def test_explain_answers_a_typo_with_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "DRV_ERROR_OUT_OF_MEMROY"]) == 2
    assert "cure: did you mean DRV_ERROR_OUT_OF_MEMORY" in capsys.readouterr().err


def test_a_usage_error_travels_between_processes() -> None:
    copy = pickle.loads(pickle.dumps(cli.UsageError("m", "h")))
    assert (str(copy), copy.hint) == ("m", "h")
