"""Running a user's program inside this process, the way `python SCRIPT`, `python -m` or `python -c` would."""

from __future__ import annotations

import argparse
import enum
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from npuhal.tuples import NamedTuple
from runtime.cli import EXIT_INTERRUPTED, UsageError

_STANDARD_INPUT = "-"


class Kind(enum.Enum):
    """How a program is given; the value is the option that says so."""

    SCRIPT = ""
    MODULE = "-m"
    TEXT = "-c"


class Program(NamedTuple):
    """A program, and the arguments that are its own."""

    kind: Kind
    what: str
    """Path, name of a module, or text."""
    arguments: Sequence[str] = ()

    @property
    def file(self) -> str:
        """What tracebacks call the program's first file; empty for modules, whose file is not known yet."""
        return {Kind.SCRIPT: self.what, Kind.TEXT: "<string>", Kind.MODULE: ""}[self.kind]

    @property
    def stem(self) -> str:
        """What files that are made for it are called."""
        return {Kind.SCRIPT: Path(self.what).stem, Kind.TEXT: "text", Kind.MODULE: self.what}[self.kind]


def add_program(parser: argparse.ArgumentParser, *, more: str = "") -> None:
    """Add the arguments by which a program is given; `program_of` reads them."""
    # What follows belongs to the module or the text, as with `python -m` and `python -c`.
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE",
                        help="run a module, with what follows as its arguments")
    parser.add_argument("-c", dest="text", nargs=argparse.REMAINDER, metavar="TEXT",
                        help="run a text, with what follows as its arguments")
    parser.add_argument("script", nargs="?", help="path of the script, - for standard input")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help=f"the script's own arguments{more}"
    )


def program_of(args: argparse.Namespace) -> Program | None:
    """Return the program that was given, known to be there, or None where there is none.

    Raises:
        UsageError: there is no such script or module, or an option has nothing behind it.
    """
    for kind, words in ((Kind.MODULE, args.module), (Kind.TEXT, args.text)):
        if words is not None:
            if not words:
                raise UsageError(f"{kind.value} needs a {kind.name.lower()}", "give it behind the option")
            if kind is Kind.MODULE:
                check_module(words[0])
            return Program(kind, words[0], words[1:])
    return script_program(args.script, args.arguments) if args.script else None


def script_program(script: str, arguments: Sequence[str]) -> Program:
    """Return the program of a script, `-` being standard input; raises UsageError where there is no such file."""
    if script == _STANDARD_INPUT:
        return Program(Kind.TEXT, sys.stdin.read(), arguments)
    check_script(script)
    return Program(Kind.SCRIPT, script, arguments)


def run_program(program: Program, url: str | None = None) -> int:
    """Run a program as `__main__`, for which `import acl` gives this runtime's pyACL; returns its exit status.

    One that raises shows its own traceback and gives 1, one that Ctrl-C ends 130.

    Args:
        url: machine that it runs on unless it says so itself.
    """
    from runtime.capi import pyacl
    from runtime.capi.shim import by_name

    if url:
        os.environ["NPUHAL_URL"] = url
    if named := os.environ.get("NPUHAL_URL"):
        from npuhal.loader import check_url

        check_url(named)
    pyacl.offer()
    by_name.install()
    try:
        _run(program)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise  # whoever read the output went away: no mistake of the script's
    except (Exception, KeyboardInterrupt) as failure:
        _show(failure, program)
        return EXIT_INTERRUPTED if isinstance(failure, KeyboardInterrupt) else 1
    return 0


def prepare_torch(url: str | None) -> None:
    """Make this process ready for torch_npu; raises UsageError where it cannot be."""
    from npuhal.compiler import BuildError
    from runtime.capi.shim.torch.setup import prepare

    try:
        prepare(url)
    except BuildError as problem:
        raise UsageError(f"--torch: {problem}", "docs/torch.md") from None


def run_script(script: str, arguments: Sequence[str], url: str | None = None) -> int:
    """Run a script; see `run_program`. Raises UsageError where there is no such file."""
    return run_program(script_program(script, arguments), url)


def check_script(script: str) -> Path:
    """Return a script's path; raises UsageError where there is no such file."""
    path = Path(script)
    if not path.is_file():
        problem = "it is a folder" if path.is_dir() else "no such file"
        raise UsageError(f"cannot open {script!r}: {problem}", "give the path of a Python file")
    return path


def check_kernel_file(path: str | Path) -> None:
    """Raise UsageError where there is no such file, or it is no ELF file."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(4)
    except OSError as problem:
        raise UsageError(f"cannot open {str(path)!r}: {(problem.strerror or '').lower()}", "check the path") from None
    if start != b"\x7fELF":
        why = f"{path} is not an ELF file: it begins with {start.hex(' ') or 'nothing'}"
        raise UsageError(why, "give a compiled device binary (.o)")


def check_module(name: str) -> None:
    """Raise UsageError where there is no module of a name."""
    import importlib.util

    sys.path.insert(0, "")
    try:
        found = importlib.util.find_spec(name)
    except ImportError:  # its package
        found = None
    if found is None:
        raise UsageError(f"there is no module {name!r}", "give its dotted name, as to python -m")


def _run(program: Program) -> None:
    first = {Kind.SCRIPT: program.what, Kind.MODULE: "-m", Kind.TEXT: "-c"}[program.kind]
    sys.argv = [first, *program.arguments]
    if program.kind is not Kind.MODULE:
        sys.path.insert(0, str(Path(program.what).resolve().parent) if program.kind is Kind.SCRIPT else "")
    if program.kind is Kind.SCRIPT:
        runpy.run_path(program.what, run_name="__main__")
    elif program.kind is Kind.MODULE:
        runpy.run_module(program.what, run_name="__main__", alter_sys=True)
    else:
        import types

        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(program.what, program.file, "exec"), vars(main))


def _show(failure: BaseException, program: Program) -> None:
    """Print a traceback as Python itself does: from the program's first line on, without what started it."""
    import traceback  # late: most programs end well

    frames = failure.__traceback__
    while frames is not None and not _is_programs(frames.tb_frame.f_code.co_filename, program):
        frames = frames.tb_next
    traceback.print_exception(type(failure), failure, frames)


def _is_programs(file: str, program: Program) -> bool:
    if program.kind is Kind.MODULE:
        return file != __file__ and "runpy" not in file
    return file == program.file
