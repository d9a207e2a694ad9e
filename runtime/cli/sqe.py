"""``npuhal sqe``: encode and decode submission queue entries, or compare the builders with recorded ones."""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from chips import find_chip, glossary
from chips.layout import SQE_BYTES
from chips.registry import Decoded, Plugin, plugin
from chips.verify import check as checking
from chips.verify.vectors import BadVectorFile, read_vectors
from npuhal.files import load_json, read_bytes
from runtime.cli import UsageError

if TYPE_CHECKING:
    from runtime.cli.output import Output

HELP = (
    "Decode 64-byte submission queue entries field by field, or encode every vector of recorded files and compare. "
    "check: exit status 1 on any difference; kinds that are not covered are counted and named. "
    "encode: the entries that a task with given values becomes, as hexadecimal text. "
    "send: print the function that the runtime has written for a shape of task."
)
EXAMPLES = (
    ("npuhal sqe decode --chip 910b3 ring.bin --head 5 --tail 9", "four entries of a dumped ring"),
    ("npuhal sqe decode --chip 910b3 --diff good.hex bad.hex", "in which fields do entries differ?"),
    ("npuhal sqe encode --chip 910b3 --task NotifyRecord notify_id=5", "64 bytes, from values"),
    ("npuhal sqe check sqe_910B1.json", "encode recorded vectors and compare"),
    ("npuhal sqe send --chip 910b3 --shape launch", "the function that a launch ends in"),
)

_GUESSES = ("Ascend910B1", "Ascend950PR_9599", "Ascend5162A")
_SHOWN_DIFFERENCES = 20
_SHOWN_WORD = 200
_GZIP = b"\x1f\x8b"
_SENDS = frozenset({"halSqTaskSend", "halSqMsgSend"})
_IN_TRACE = re.compile(r"\bsqe\d+=([0-9a-fA-F]{128})\b")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|decode|encode|send")
    check = actions.add_parser("check", help="encode every vector of a file and compare")
    check.add_argument("files", nargs="+", metavar="FILE", help="sqe_*.json, api_*.json or builders.yaml, - for stdin")
    check.add_argument("--json", action="store_true", help="write JSON")
    check.add_argument("--all", action="store_true", help=f"show every difference, not the first {_SHOWN_DIFFERENCES}")
    decode = actions.add_parser("decode", help="name the fields of entries")
    kinds = "hex text, or a file (- is standard input): hex text, a memory dump, or a recorded trace (.gz too)"
    decode.add_argument("input", nargs="+", metavar="HEX|FILE", help=kinds)
    decode.add_argument("--chip", metavar="NAME", help="SoC or family (910B3, ascend950)")
    decode.add_argument(
        "--diff", action="store_true", help="show only the fields in which entries differ from the first"
    )
    decode.add_argument("--head", type=int, metavar="N", help="the input is a whole ring: first entry to show")
    decode.add_argument("--tail", type=int, metavar="N", help="the input is a whole ring: entry to stop before")
    decode.add_argument("--all-fields", action="store_true", help="show fields that are 0 as well")
    decode.add_argument("--json", action="store_true", help="write JSON")
    encode = actions.add_parser("encode", help="build the entries of a task")
    encode.add_argument("--chip", metavar="NAME", required=True, help="SoC or family")
    encode.add_argument("--task", metavar="TASK", required=True, help="task, such as NotifyRecord; list shows all")
    encode.add_argument("values", nargs="*", metavar="FIELD=VALUE", help="of the task, its ids, or its stream")
    encode.add_argument("--json", action="store_true", help="write JSON: the entries with their fields")
    send = actions.add_parser("send", help="print the function that the runtime sends a task with")
    send.add_argument("--chip", metavar="NAME", required=True, help="SoC or family")
    send.add_argument("--shape", metavar="NAME", default="launch", help="what is sent, or all; launch if not given")
    send.add_argument("--ub", action="store_true", help="as on a device that is connected over UB")


def run(args: argparse.Namespace, out: Output) -> int:
    """Run one action; 1 when a vector differs or an entry is invalid."""
    return {"check": _check, "decode": _decode, "encode": _encode, "send": _send}[args.action](args, out)


# ---------------------------------------------------------------- send


def _send(args: argparse.Namespace, out: Output) -> int:
    from runtime.cli.sqe_send import SENDS, text_of  # late: it loads the runtime

    if args.shape not in (*SENDS, "all"):
        raise UsageError(f"--shape {args.shape}: known are {', '.join(SENDS)} and all")
    for name in SENDS if args.shape == "all" else (args.shape,):
        out.line(text_of(name, find_chip(args.chip), ub=args.ub))
    return 0


# ---------------------------------------------------------------- encode


def _encode(args: argparse.Namespace, out: Output) -> int:
    from runtime.cli import sqe_encode

    chip = find_chip(args.chip)
    if args.task == "list":
        known = sqe_encode.kinds()
        if args.json:
            out.json(sorted(known))
        else:
            out.line("\n".join(sorted(known)))
        return 0
    made, entries = sqe_encode.encode(chip, args.task, args.values)
    if args.json:
        out.json([{"hex": row.hex(), **_as_json(at, made.decode(row))} for at, row in enumerate(entries)])
    else:
        for row in entries:
            out.line(row.hex())
    return 0


# ---------------------------------------------------------------- check


def _check(args: argparse.Namespace, out: Output) -> int:
    reports = []
    for name in args.files:
        try:
            path = Path("/dev/stdin" if name == "-" else name)
            verdicts = [checking.check(item) for item in read_vectors(path)]
        except BadVectorFile as wrong:
            raise UsageError(str(wrong)) from None
        reports.append((Path(name).name, verdicts))
    if args.json:
        out.json([_report(name, verdicts) for name, verdicts in reports])
    else:
        for name, verdicts in reports:
            _show(name, verdicts, args.all, out)
    matched = sum(verdict.ok for _, verdicts in reports for verdict in verdicts)
    total = sum(len(verdicts) for _, verdicts in reports)
    if not args.json:
        out.line(f"total: matched {matched}/{total}")
    return 0 if matched == total else 1


def _report(name: str, verdicts: list[checking.Verdict]) -> dict[str, object]:
    return {
        "file": name,
        "matched": sum(verdict.ok for verdict in verdicts),
        "total": len(verdicts),
        "not_covered": dict(_uncovered(verdicts)),
        "differences": {verdict.name: list(verdict.lines) for verdict in verdicts if verdict.lines},
    }


def _uncovered(verdicts: list[checking.Verdict]) -> Counter[str]:
    return Counter(verdict.task for verdict in verdicts if not verdict.covered)


def _show(name: str, verdicts: list[checking.Verdict], everything: bool, out: Output) -> None:
    out.line(f"{name}: matched {sum(verdict.ok for verdict in verdicts)}/{len(verdicts)}")
    for task, count in _uncovered(verdicts).items():
        out.line(f"  not covered: {task} ({count})")
    wrong = [verdict for verdict in verdicts if verdict.lines]
    shown = wrong if everything else wrong[:_SHOWN_DIFFERENCES]
    for verdict in shown:
        out.line(f"  {'differs' if verdict.covered else 'cannot be built'}: {verdict.name}")
        for line in verdict.lines:
            out.line(f"    {line}")
    if len(wrong) > len(shown):
        out.line(f"  and {len(wrong) - len(shown)} more (--all shows them)")


# ---------------------------------------------------------------- decode


def _decode(args: argparse.Namespace, out: Output) -> int:
    rows = list(_chosen(_read(args.input), args.head, args.tail))
    made = plugin(find_chip(args.chip or _refuse_to_guess([row for _, row in rows])))
    found = [(position, made.decode(row)) for position, row in rows]
    if args.json:
        out.json([_as_json(position, decoded) for position, decoded in found])
    else:
        for position, decoded in found:
            reference = found[0][1] if args.diff and decoded is not found[0][1] else None
            _show_entry(position, decoded, made, reference, args.all_fields, out)
    return 1 if any(decoded.problems for _, decoded in found) else 0


def _read(words: list[str]) -> bytes:
    """Bytes of the inputs: hex text given or in a file, a recorded trace, or a binary file."""
    raw = b"".join(_read_one(word) for word in words)
    if not raw or len(raw) % SQE_BYTES:
        raise UsageError(f"{len(raw)} bytes are not whole entries of {SQE_BYTES}", "an entry is 128 hex digits")
    return raw


def _read_one(word: str) -> bytes:
    if word == "-":
        return _from_file(sys.stdin.buffer.read())
    path = Path(word)
    try:
        data = read_bytes(path) if path.exists() else None
    except OSError:  # too long for a file name: hex text
        data = None
    if data is None:
        found = _from_hex(word)
        if found is None:
            raise UsageError(f"{word[:_SHOWN_WORD]!r} is neither hex text nor a file", "give 128 hex digits per entry")
        return found
    return _from_file(data)


def _from_file(data: bytes) -> bytes:
    if data.startswith(_GZIP):
        data = gzip.decompress(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data  # a memory dump
    found = _from_hex(text)
    return _from_trace(text) if found is None else found


def _from_hex(text: str) -> bytes | None:
    try:
        return bytes.fromhex("".join(text.split()).removeprefix("0x"))
    except ValueError:
        return None


def _from_trace(text: str) -> bytes:
    """Entries that a trace saw on their way to the device: JSON lines of calls, or lines with sqe0=..., sqe1=...

    Text without any is taken for a memory dump.
    """
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                call = load_json(line)
            except ValueError:
                continue
            if call.get("name") in _SENDS:
                found.append(_from_hex(str(call.get("payload", ""))) or b"")
        else:
            found += [bytes.fromhex(digits) for digits in _IN_TRACE.findall(line)]
    return b"".join(found) or text.encode()


def _chosen(raw: bytes, head: int | None, tail: int | None) -> Iterator[tuple[int, bytes]]:
    """Entries with their positions; with head or tail those of a ring in order, across its end if need be."""
    depth = len(raw) // SQE_BYTES
    first, last = head or 0, depth if tail is None else tail
    for option, value in (("--head", first), ("--tail", last)):
        if not 0 <= value <= depth:
            raise UsageError(f"{option} {value} is outside the ring of {depth} entries")
    count = last - first if last >= first else depth - first + last
    for offset in range(count):
        position = (first + offset) % depth
        yield position, raw[position * SQE_BYTES : (position + 1) * SQE_BYTES]


def _refuse_to_guess(rows: list[bytes]) -> str:
    """Complain that no chip is given, and name the one of each generation's that knows most of the entries."""

    def known(name: str) -> int:
        made = plugin(find_chip(name))
        found = [made.decode(row) for row in rows]
        return sum(2 * (decoded.type is not None) - bool(decoded.problems) for decoded in found)

    best = max(_GUESSES, key=known)
    raise UsageError(
        "npuhal sqe decode: no chip is given, and the same bytes mean other things on another one",
        f"add --chip NAME; --chip {best.lower()} fits these entries best",
    )


def _as_json(position: int, decoded: Decoded) -> dict[str, object]:
    return {
        "position": position,
        "layout": decoded.layout,
        "task": decoded.type.name if decoded.type is not None else None,
        "fields": decoded.fields,
        "problems": list(decoded.problems),
    }


def _show_entry(
    position: int, decoded: Decoded, made: Plugin, reference: Decoded | None, everything: bool, out: Output
) -> None:
    task = decoded.type.name if decoded.type is not None else "no known task"
    struct = made.layouts[decoded.layout].struct
    out.line(
        f"[{position}] {task}: {decoded.layout} ({struct})" if struct else f"[{position}] {task}: {decoded.layout}"
    )
    rows = []
    for name, value in decoded.fields.items():
        if reference is not None:
            if reference.fields.get(name) == value:
                continue
        elif not value and not everything and not glossary.shown_when_zero(name):
            continue
        note = glossary.explain(name, value)
        if reference is not None:
            old = reference.fields.get(name)
            note = f"was {'absent' if old is None else hex(old)}; {note}"
        rows.append((name, f"{value:#x}" if value > 9 else str(value), note))
    if rows:
        out.table(("field", "value", "meaning"), rows)
    for problem in decoded.problems:
        out.line(f"  invalid: {problem}")
