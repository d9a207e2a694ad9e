"""What can be wrong with a device binary: exceptions that name the part, the value, the rule and the cure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from npuhal.words import close_names

__all__ = [
    "BadLoadOption",
    "BadOptionCombination",
    "BinaryError",
    "BinaryNotFound",
    "MalformedElf",
    "MalformedMeta",
    "NotAnElf",
    "RegistrationConflict",
    "UnknownEntry",
    "UnknownGlobal",
    "UnknownKernel",
    "EmptyBinary",
    "UnreadableBinary",
    "UnsupportedBinary",
]


class BinaryError(Exception):
    """A device binary, or a question about one, was refused.

    ``code`` is the name of the vendor runtime's internal return code (rt_error_code, 0x071xxxxx), ``message_id`` the
    number of the message it posts; the runtime above maps both to public ones.
    """

    code: ClassVar[str] = "RT_ERROR_INVALID_VALUE"
    message_id: ClassVar[str] = "EE1014"

    def __init__(self, part: str, value: object, rule: str, cure: str = "") -> None:
        super().__init__(part, value, rule, cure)
        self.part = part
        self.value = value
        self.rule = rule
        self.cure = cure

    @property
    def hint(self) -> str:
        """What to do about it; empty when nothing but another file helps."""
        return self.cure

    def __str__(self) -> str:
        return f"{self.part} is {_shown(self.value)}: {self.rule}" + (f"; {self.cure}" if self.cure else "")


class MalformedElf(BinaryError):
    """The ELF container does not hold together: a size, link or offset leads out of the file."""


class NotAnElf(MalformedElf):
    """The data is no ELF file at all."""


class MalformedMeta(BinaryError):
    """A meta data record of a kernel says something that its format does not allow."""


class RegistrationConflict(BinaryError):
    """The symbols of a file cannot be made into kernels: two of one name, or a kind that does not fit its name."""


class UnsupportedBinary(BinaryError):
    """The file is sound, but asks for something this runtime does not offer."""

    code = "RT_ERROR_FEATURE_NOT_SUPPORT"


class BinaryNotFound(BinaryError):
    """There is no file of that name."""

    message_id = "EE1012"

    def __init__(self, path: object, rule: str = "no such file", cure: str = "check the path") -> None:
        super().__init__("the file", str(path), rule, cure)
        self.args = (path, rule, cure)

    def __str__(self) -> str:
        return f"cannot open {_shown(self.value)}: {self.rule}"


class UnreadableBinary(BinaryError):
    """The file is there but cannot be read: a directory, or no permission."""

    message_id = "EE1013"


class EmptyBinary(UnreadableBinary):
    """The file has no bytes."""

    message_id = "EE1001"


class BadLoadOption(BinaryError):
    """A loader option has a value that is not allowed."""

    message_id = "EE1001"


class BadOptionCombination(BadLoadOption):
    """A loader option is good by itself but not for this kind of source."""

    message_id = "EE1017"


class UnknownKernel(BinaryError):
    """The program has no kernel of that name."""

    message_id = "EE1001"


class UnknownEntry(BinaryError):
    """The program has no kernel with that function entry (tiling key)."""

    message_id = "EE1011"


class UnknownGlobal(BinaryError):
    """The program has no global variable of that name."""

    code = "RT_ERROR_SYMBOL_NOT_FOUND"
    message_id = ""


def near_names(name: str, names: Iterable[str]) -> str:
    """Return ``did you mean 'a' or 'b'?`` for the closest names, or a sample of all when nothing is close."""
    known = list(names)
    close = close_names(name, known, 3)
    if close:
        return "did you mean " + " or ".join(_shown(each) for each in close) + "?"
    if not known:
        return "the program has none"
    sample = ", ".join(_shown(each) for each in known[:3])
    return f"the program has {sample}" + (f" and {len(known) - 3} more" if len(known) > 3 else "")


def _shown(value: object) -> str:
    # Names out of a damaged file may be long or hold control characters; a message must survive both.
    if isinstance(value, str):
        return repr(value if len(value) <= 120 else value[:120] + "...")
    return "missing" if value is None else str(value)
