"""What can be wrong with the files of a producer."""

from __future__ import annotations

from chips.binary.errors import BinaryError

__all__ = ["BadMetadata", "BadSignature", "IncompleteFolder", "NeedsOtherChip", "NotSupportedByLauncher"]


class BadMetadata(BinaryError):
    """A compiler's metadata lack a field, or hold a value that the launcher's rules do not allow."""


class BadSignature(BinaryError):
    """A signature cannot be read, or names a type that an argument block cannot hold."""


class IncompleteFolder(BinaryError):
    """A cache folder lacks a file, or holds several kernels where one was asked for."""

    message_id = "EE1012"


class NeedsOtherChip(BinaryError):
    """The kernel was compiled for another chip family."""


class NotSupportedByLauncher(BinaryError):
    """The kernel asks for something that only its producer's own launcher offers."""

    code = "RT_ERROR_FEATURE_NOT_SUPPORT"
