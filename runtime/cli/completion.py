"""``npuhal completion``: what a shell must read to complete npuhal's commands, options and values."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING, Any, cast

from runtime.cli.parser import Parser

if TYPE_CHECKING:
    from runtime.cli.output import Output

SHELLS = ("bash", "zsh", "fish")
HELP = "Print the completion of npuhal for a shell: commands, options, choices, and files where files are wanted."
EXAMPLES = (
    ('eval "$(npuhal completion bash)"', "in ~/.bashrc"),
    ("npuhal completion zsh > ~/.zfunc/_npuhal", "in a folder of fpath"),
    ("npuhal completion fish > ~/.config/fish/completions/npuhal.fish", ""),
)
_FILES = ("FILE", "DIR", "CHECKOUT", "SCRIPT", "TESTS")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the script."""
    import shtab  # this command only

    out.line(shtab.complete(whole_parser(), shell=args.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """Return one parser with all commands, which the command itself does without: it loads the module of each."""
    import shtab

    from runtime.cli import COMMANDS

    whole = argparse.ArgumentParser(prog="npuhal")
    whole.add_argument("--debug", action="store_true", help="show tracebacks")
    whole.add_argument("--version", action="store_true", help="show the version and leave")
    commands = whole.add_subparsers(parser_class=cast(Any, argparse.ArgumentParser))
    commands.add_parser("help", help="what a command does").add_argument(
        "command", choices=[command.name for command in COMMANDS]
    )
    for command in COMMANDS:
        module = importlib.import_module(command.module)
        parser = Parser(f"npuhal {command.name}", module.HELP)
        module.configure(parser)
        _complete_files(parser, shtab.FILE)
        commands._name_parser_map[command.name] = parser
        commands._choices_actions.append(commands._ChoicesPseudoAction(command.name, (), command.summary))
    return whole


def _complete_files(parser: argparse.ArgumentParser, files: object) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _complete_files(below, files)
        elif action.dest in ("script", "arguments") or any(word in str(action.metavar) for word in _FILES):
            action.complete = files  # type: ignore[attr-defined]
