"""The ``npuhal`` command: a dispatcher that imports only the module of the sub-command it runs.

A sub-command is a module with four public names: ``HELP`` (its description), ``EXAMPLES`` (command lines, each with
what it does), ``configure(parser)`` (adds its arguments) and ``run(args, out) -> int`` (does the work; the integer is
the exit status).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, cast

from npuhal import late
from npuhal.records import dataclass
from npuhal.release import __version__
from npuhal.words import close_names, shown

if TYPE_CHECKING:
    import argparse

    from runtime.cli.output import Output
    from runtime.cli.parser import Parser, UsageError
else:
    __getattr__, __dir__ = late.names(__name__, {"runtime.cli.parser": "UsageError"})

__all__ = ["COMMANDS", "Command", "UsageError", "main"]

EXIT_OK: Final = 0
EXIT_FINDINGS: Final = 1
EXIT_USAGE: Final = 2
EXIT_SOFTWARE: Final = 70  # sysexits.h, EX_SOFTWARE
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, what a shell reports
EXIT_PIPE: Final = 141  # 128 + SIGPIPE

# Our own exceptions carry their cure; these among them mean that the command line itself was wrong.
_USAGE_FAULTS: Final = frozenset({"UsageError", "UnknownChip", "UnknownCode", "BadUrl"})
_OWN_PACKAGES: Final = frozenset({"npuhal", "chips", "runtime", "fakes"})


@dataclass(frozen=True, slots=True)
class Command:
    """A sub-command: its name, the module that implements it, its line in the overview, and what its status means."""

    name: str
    module: str
    summary: str
    status: str = "0 done, 1 it found something wrong, 2 the command line was wrong, 130 Ctrl-C"


_OF_SCRIPT: Final = "that of the script; 2 the command line was wrong, 86 a checker has reported something, 130 Ctrl-C"
_FIRST: Final = (
    ("npuhal demo", "see it work, without a card"),
    ("npuhal doctor", "would it run here?"),
    ("npuhal help COMMAND", "what a command does, with examples"),
)

COMMANDS: Final = (
    Command("demo", "runtime.cli.demo", "end-to-end tour: load a kernel, launch it, see what reached the device"),
    Command("info", "runtime.cli.info", "devices, chip, driver and API version, memory, limits; compare two chips"),
    Command("top", "runtime.cli.top", "load, memory, queues and ids in use, and who uses them, as it changes"),
    Command("doctor", "runtime.cli.doctor", "why would it not run here? each finding with its cure"),
    Command("validate", "runtime.cli.validate", "alignment rules and SQE builders per chip"),
    Command("sqe", "runtime.cli.sqe", "encode and decode submission queue entries, check the encoders against vectors"),
    Command("abi", "runtime.cli.abi", "compare the binding with measured ABI files"),
    Command("elf", "runtime.cli.elf", "kernels, kinds and sizes of a device binary, as registration sees them"),
    Command("run", "runtime.cli.run", "run a script, pyACL or not, on this runtime", _OF_SCRIPT),
    Command("explain", "runtime.cli.explain", "cause and cure of an error code or message number"),
    Command("fake", "runtime.cli.fake", "what the fake device models"),
    Command("trace", "runtime.cli.trace", "run a script and record the phases of every launch", _OF_SCRIPT),
    Command("shim", "runtime.cli.shim", "libraries for programs in C and C++: the driver's, made of the fake"),
    Command("serve", "runtime.cli.serve", "the fake in a process of its own, for `npuhal shim driver`"),
    Command("bench", "runtime.cli.bench", "per-call cost of the runtime, without a device"),
    Command("completion", "runtime.cli.completion", "what a shell reads to complete npuhal's commands and options"),
)


class _CommandModule(Protocol):
    HELP: str
    EXAMPLES: tuple[tuple[str, str], ...]

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace, out: Output) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one ``npuhal`` command and return its exit status.

    0: done. 1: the command found something wrong. 2: the command line was wrong. 70: a defect of ours. 130: Ctrl-C.
    """
    # A job may have been started without streams (`>&-`): what it says is lost then, but not what it does.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    # Text from a device or a file may not fit the terminal's encoding; a '?' is better than a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`npuhal ... | head`): the interpreter must not complain again at its own final flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except OSError as problem:  # the last of the output could not be written
        return _complain(_about(problem), "", EXIT_FINDINGS)
    return status


def _dispatch(arguments: list[str]) -> int:
    if arguments == ["--version"]:  # the question of scripts, which needs no parser
        return _print_version()
    from runtime.cli.parser import Parser, UsageError

    # Options before the command take no value, so the first other word is the command: no parser of another
    # sub-command, and thus no module of one, is needed to find it.
    position = next((i for i, word in enumerate(arguments) if not word.startswith("-")), len(arguments))
    try:
        debug = False
        if position:
            options = _overview_parser().parse_args(arguments[:position])
            if options.version:
                return _print_version()
            debug = options.debug
        if position == len(arguments):
            _overview_parser().print_help()
            return EXIT_USAGE
        if arguments[position] == "help":
            if position + 1 == len(arguments):
                _overview_parser().print_help()
                return EXIT_OK
            arguments = [*arguments[:position], arguments[position + 1], "--help"]
        command = _find(arguments[position])
        module = cast(_CommandModule, importlib.import_module(command.module))
        parser = Parser(f"npuhal {command.name}", module.HELP, module.EXAMPLES, command.status)
        parser.add_argument("--debug", action="store_true", default=debug, help="show tracebacks")
        module.configure(parser)
        parsed = parser.parse_args(arguments[position + 1 :])
    except SystemExit as leave:  # argparse has printed help, the version or its complaint
        return leave.code if isinstance(leave.code, int) else EXIT_USAGE
    except UsageError as wrong:
        return _complain(str(wrong), wrong.hint, EXIT_USAGE)
    except ModuleNotFoundError as missing:
        if missing.name != command.module:
            raise
        return _complain(f"'npuhal {command.name}' is not part of this installation", "", EXIT_USAGE)
    return _run(module, parsed)


def _run(module: _CommandModule, parsed: argparse.Namespace) -> int:
    from runtime.cli.output import Output

    try:
        return module.run(parsed, Output())
    except BrokenPipeError:
        raise
    except Exception as problem:
        if parsed.debug:
            raise
        if _is_ours(problem):
            usage = any(base.__name__ in _USAGE_FAULTS for base in type(problem).__mro__)
            # A fault says its cure in its own text; the other errors keep it beside.
            hint = str(getattr(problem, "hint", ""))
            return _complain(str(problem), "" if hint in str(problem) else hint, EXIT_USAGE if usage else EXIT_FINDINGS)
        if isinstance(problem, OSError):
            return _complain(_about(problem), "", EXIT_USAGE if problem.filename is not None else EXIT_FINDINGS)
        return _complain(
            f"unexpected {type(problem).__name__}: {problem}", "run again with --debug for the traceback", EXIT_SOFTWARE
        )


def _is_ours(problem: BaseException) -> bool:
    return type(problem).__module__.partition(".")[0] in _OWN_PACKAGES


def _about(problem: OSError) -> str:
    where = "" if problem.filename is None else f"{problem.filename}: "
    return f"{where}{problem.strerror or problem}"


def _complain(message: str, hint: str, status: int) -> int:
    from runtime.cli.output import Output

    Output().error(message, hint)
    return status


def _find(name: str) -> Command:
    for command in COMMANDS:
        if command.name == name:
            return command
    from runtime.cli.parser import UsageError

    names = ["help", *(command.name for command in COMMANDS)]
    near = close_names(name, names)
    hint = f"did you mean {' or '.join(near)}?" if near else f"one of: {', '.join(names)}"
    raise UsageError(f"unknown command {shown(name)}", hint)


def _overview_parser() -> Parser:
    from runtime.cli.parser import Parser

    parser = Parser(
        "npuhal", "Ascend NPU runtime in Python: tools for a box, for CI without a card, and for chip bring-up. Most "
        "commands look behind the backend that NPUHAL_URL names: hal:// is the driver's library and the default, "
        "fake://ascend910b3 a simulated device.", _FIRST, COMMANDS[0].status,
        commands=[(command.name, command.summary) for command in COMMANDS], usage="npuhal [--debug] COMMAND ...",
    )  # fmt: skip
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    parser.add_argument("--version", action="store_true", help="show the version and leave")
    return parser


def _print_version() -> int:
    print(f"npuhal {__version__}")
    return EXIT_OK
