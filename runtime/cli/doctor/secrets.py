"""Takes out of what goes to a helper the words that nobody else may know: they stand in URLs and paths, too.

A secret is known by what stands around it: it is the user's part of an address (`https://bob:word@host`), or a name
says so (`password=word`). One without either looks like any other word, so what will be written is shown first.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["hidden", "printable"]

_MARK = "***"
_NAME = (
    r"passw(?:or)?d|passphrase|passcode|(?<![a-z])pass(?![a-z])|pwd|secret|token|credential|authorization|"
    r"(?<![a-z])auth(?![a-z])|signature|(?<![a-z])sig(?![a-z])|(?:api|access|account|private|session|shared|storage|"
    r"signing|encryption|ssh)[-_.]?key|(?<=[?&;])key(?==)"
)
_NAMED = re.compile(rf"(?i)((?:{_NAME})[\w.-]*(?:\s*[=:]\s*|%3d)(?:(?:bearer|basic)\s+)?)[^\s&;,]+")
_USER = re.compile(r"(?<=://)(?:[^/\s:]+:\S*|[^/\s]*)@|(?<![^\s/=,(])[^\s/:@=]+:[^\s/@]+@(?=[^\s/@])")


def hidden(value: Any) -> Any:
    """Return a text, or a list or dict of what JSON holds, with `***` for each secret."""
    if isinstance(value, str):
        return _NAMED.sub(rf"\1{_MARK}", _USER.sub(f"{_MARK}@", value))
    if isinstance(value, dict):
        return {hidden(name): hidden(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [hidden(each) for each in value]
    return value


def printable(text: str) -> str:
    """Return a text in one line: control characters and bytes that are no text as escapes."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
