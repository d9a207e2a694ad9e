"""YAML files, parsed once per machine: the content of ours is kept beside them, as Python keeps byte code.

PyYAML and the ten files of a chip were a sixth of what a program paid before its first launch. What was parsed lies in
`__pycache__` (or below `sys.pycache_prefix`) with the time and size of the file that it was made of; it counts while
both are those of the file. Where Python may write no byte code, or this user may not write there, it lies in the user's
cache folder instead (`chips.user_cache`), as for packages that were imported from a zip file. Files outside of these
packages are always parsed.
"""

from __future__ import annotations

import marshal
import os
import struct
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from npuhal.files import BadText, read_text, without_advice
from npuhal.words import shown

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BadYaml", "beside", "load"]

_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_OURS = tuple(os.path.join(_ROOT, package, "") for package in ("npuhal", "chips", "runtime", "fakes"))
_HEAD = struct.Struct("<8sqq")
"""The format of what is kept, and the file's time of change (ns) and size."""
_FORMAT = b"npuhal1\n"
_MOST_BITS = 256
"""Bits of the largest number that a file may hold: Python itself does not write out much longer ones in a message."""
_MERGE = "tag:yaml.org,2002:merge"


class BadYaml(ValueError):
    """A YAML file is malformed; `line` is 0 where nobody knows it."""

    def __init__(self, path: str | Path, line: int, problem: str) -> None:
        from pathlib import Path  # late, here and below: the files of a chip are found and read without it

        super().__init__(path, line, problem)
        self.path, self.line, self.problem = Path(path), line, problem

    def __str__(self) -> str:
        return f"{self.path}:{f'{self.line}:' if self.line else ''} {self.problem}"


def beside(module: str, name: str) -> str:
    """Return the path of a file beside a module, whose `__file__` is given."""
    return os.path.join(os.path.dirname(module), name)


def load(path: str | Path) -> Any:
    """Return the content of a YAML file; raises BadYaml for a malformed one, and OSError."""
    path = os.fspath(path)
    if not path.startswith(_OURS):
        return _parsed(path)
    try:
        status = os.stat(path)
    except NotADirectoryError:  # in a zip file
        loader: Any = globals()["__loader__"]
        return _kept_by_content(path, loader.get_data(path))
    head = _HEAD.pack(_FORMAT, status.st_mtime_ns, status.st_size)
    kept = _cache_file(path)
    try:
        with open(kept, "rb", buffering=0) as file:
            raw = file.read()
        if raw.startswith(head):
            return marshal.loads(memoryview(raw)[len(head) :])
    except (OSError, ValueError, EOFError, TypeError):
        pass  # there is none yet, or half of one: make it anew
    return _made(path, kept, head)


def _made(path: str, kept: str, head: bytes) -> Any:
    """Return the content of a file of ours that nothing is kept of beside it."""
    if not sys.dont_write_bytecode and _writable(os.path.dirname(kept)):
        content = _parsed(path)
        _keep(kept, head, content)
        return content
    with open(path, "rb") as file:
        return _kept_by_content(path, file.read())


def _kept_by_content(path: str, raw: bytes) -> Any:
    from chips import user_cache  # late: seldom needed

    found = user_cache.find(raw)
    if found is not None:
        return found[0]
    content = _parsed(path, raw)
    user_cache.keep(raw, content)
    return content


def _writable(folder: str) -> bool:
    """Whether files can be made in a folder that may yet have to be made itself."""
    while not os.path.exists(folder) and folder != (above := os.path.dirname(folder)):
        folder = above
    return os.path.isdir(folder) and os.access(folder, os.W_OK)


@cache
def _loader() -> type[Any]:
    """Return the class that makes values of a document: numbers that mean something, and each key once."""
    import yaml  # late: for what was not parsed yet

    def mistake(what: str, node: Any) -> Exception:
        return yaml.constructor.ConstructorError(None, None, what, node.start_mark)

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def construct_yaml_int(self, node: Any) -> int:
            number: int = super().construct_yaml_int(node)
            if number.bit_length() > _MOST_BITS:
                raise mistake(f"{shown(number)} is no number of {_MOST_BITS} bits", node)
            return number

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            known: set[tuple[str, str]] = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                    if (key.tag, key.value) in known:
                        raise mistake(f"{shown(key.value)} stands there twice", key)
                    known.add((key.tag, key.value))
            made: dict[Any, Any] = super().construct_mapping(node, deep)
            return made

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
    return Loader


def _parsed(path: str, raw: bytes | None = None) -> Any:
    import yaml  # late, as above

    try:
        return yaml.load(read_text(path, raw), _loader())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BadYaml(path, line, str(error.problem)) from error
    except BadText as error:
        raise BadYaml(path, error.line, error.problem) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # characters, numbers and dates that are none
        raise BadYaml(path, 0, without_advice(error)) from error


def _cache_file(path: str) -> str:
    folder, name = os.path.split(path)
    if sys.pycache_prefix is None:
        folder = os.path.join(folder, "__pycache__")
    else:
        folder = os.path.join(sys.pycache_prefix, folder.lstrip(os.sep))
    return os.path.join(folder, f"{name}.{sys.implementation.cache_tag}.data")


def _keep(kept: str, head: bytes, content: Any) -> None:
    """Write what was parsed, as one step; a folder that cannot be written, and dates, are left unkept."""
    try:
        raw = head + marshal.dumps(content)
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        made = f"{kept}.{os.getpid()}"
        with open(made, "wb") as file:
            file.write(raw)
        os.replace(made, kept)
    except (OSError, ValueError):
        return
