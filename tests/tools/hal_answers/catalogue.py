"""The list in order, and how its answers compare with recorded ones."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npuhal.api import HalApi
from tests.tools.hal_answers import cards, memory, queues, virtual
from tests.tools.hal_answers.session import Answer, Calls, Session

_PARTS = (
    cards.before_open, cards.opening, cards.resource_ids, queues.allocation, queues.questions, queues.settings,
    queues.sending, queues.reports, queues.freeing, queues.messages, memory.allocation, memory.access, virtual.making,
    virtual.mapping, memory.sharing, memory.advice, memory.freeing, cards.closing,
)  # fmt: skip
"""The parts in their order: what one makes, later ones use."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that the HAL under test answers otherwise."""

    call: str
    recorded: Answer
    answered: Answer | None
    """None where the list has no such call."""


def calls(session: Session) -> Calls:
    """Return the list; each call must be made before the next one is taken."""
    for part in _PARTS:
        yield from part(session)


def answers(hal: HalApi) -> Iterator[tuple[str, Answer]]:
    """Make the calls of the list; an exception stands as its name and text."""
    for call in calls(Session(hal)):
        try:
            answer = list(call.make())
        except Exception as error:
            answer = [f"{type(error).__name__}: {error}"]
        yield call.name, answer


def by_name(made: Iterable[tuple[str, Answer]]) -> Mapping[tuple[str, int], Answer]:
    """Return answers by name and by how often the name came before."""
    seen: Counter[str] = Counter()
    found = {}
    for name, answer in made:
        found[name, seen[name]] = answer
        seen[name] += 1
    return found


def rows(path: Path) -> Iterator[tuple[str, Answer]]:
    """Read recorded answers, packed (.gz) or not."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    for line in text.splitlines():
        row: dict[str, Any] = json.loads(line)
        yield row["call"], row["answer"]


def differences(recorded: Iterable[tuple[str, Answer]], made: Iterable[tuple[str, Answer]]) -> list[Difference]:
    """Return the rows that differ."""
    answered = by_name(made)
    return [
        Difference(name, answer, answered.get((name, number)))
        for (name, number), answer in by_name(recorded).items()
        if answered.get((name, number)) != answer
    ]
