"""Words that people write, and how messages tell of them: numbers, close names, articles, values of any length."""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import Repr

__all__ = ["a", "close_names", "count", "natural", "shortened", "shown"]

_VOWEL_SOUND = "aeioAEIO"
_NO_ARTICLE = ("bytes",)
_SPELLED = frozenset("AEFHILMNORSX")
"""Letters whose names begin with a vowel: words in capitals are spelled out."""
_MOST_DIGITS = 20
_LONG_WORD = 400
"""Characters of a word that nobody reads in a message."""
_LONGEST = 64
"""Characters of a name that can be meant for another one; comparing goes with their square."""


class _Brief(Repr):
    def repr_int(self, value: int, level: int) -> str:
        if value.bit_length() > 256:  # Python itself refuses to write out very long ones
            return f"{'-' * (value < 0)}{hex(abs(value))[:10]}... ({value.bit_length()} bits)"
        return repr(value)


_BRIEF = _Brief()
_BRIEF.maxstring = _BRIEF.maxother = 120
_BRIEF.maxlevel = 2


def natural(text: str) -> int | None:
    """Return the number that plain decimal digits mean, 20 at most; None for any other text, such as "²" or "-1"."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def close_names(word: str, known: Iterable[str], count: int = 2, cutoff: float = 0.6) -> list[str]:
    """Return the known names most like a word, best first; none for a word too long to be a slip."""
    if len(word) > _LONGEST:
        return []
    from difflib import get_close_matches  # late: for a mistake only

    return get_close_matches(word, list(known), count, cutoff)


def shown(value: object) -> str:
    """Return a value as a message shows it: as `repr` in one line, in its beginning and end where it is long."""
    text = " ".join(_BRIEF.repr(value).splitlines())
    return text if len(text) <= 2 * _BRIEF.maxstring else f"{text[:_BRIEF.maxstring]}..."


def shortened(text: str) -> str:
    """Return a message in which words too long to be read are cut to their beginning and end."""
    if len(text) <= _LONG_WORD:
        return text
    import re  # late: for a mistake only

    return re.sub(
        rf"\S{{{_LONG_WORD},}}", lambda word: f"{word[0][: _LONG_WORD // 4]}...{word[0][-_LONG_WORD // 4 :]}", text
    )


def a(noun: str) -> str:
    """Return a noun with its indefinite article: an event, a stream, an SQE, a uint8."""
    if not noun or noun in _NO_ARTICLE:
        return noun
    spelled = noun.split()[0].isupper() and len(noun.split()[0]) < len("AICPUS")
    vowel = noun[0] in (_SPELLED if spelled else _VOWEL_SOUND)
    return f"{'an' if vowel else 'a'} {noun}"


def count(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its word: 1 byte, 2 bytes; 1 was, 2 were."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
