"""How ASCEND_RT_VISIBLE_DEVICES is read: a comma list of driver ids, whose positions become the user's ids.

core_spec 2.6: reading stops at the first word that does not begin with a digit or names no device; a word is cut at its
first non-digit. What was read before the stop counts, but a repeated or descending id makes the whole mask invalid.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from npuhal.late import logger
from npuhal.records import dataclass
from npuhal.words import natural, shown
from runtime import errors
from runtime.errors.misuse import advise

__all__ = ["STRICT", "VARIABLE", "MaskState", "VisibleDevices", "check", "no_such_device", "read_mask", "unusable_mask"]

VARIABLE: Final = "ASCEND_RT_VISIBLE_DEVICES"
STRICT: Final = "NPUHAL_STRICT_VISIBLE_DEVICES"
"""Set to 1, a mask of which only a part is used is an error when the runtime starts, instead of a warning."""

_LOG = logger(__name__)
_NONE: Final[Mapping[Any, int]] = MappingProxyType({})

_MOST_CHARACTERS: Final = 128
_MOST_DEVICES: Final = 64


class MaskState(Enum):
    """What became of the mask."""

    UNSET = "not set: every device is visible under its own id"
    OK = "read"
    NOTHING_USABLE = "it names no device"
    REPEATED = "an id stands in it twice"
    DESCENDING = "its ids do not ascend"
    NO_DEVICES = "the driver reports no usable device count"


@dataclass(frozen=True, slots=True)
class VisibleDevices:
    """The devices a process may use.

    Attributes:
        ids: driver id by user id; empty when the mask is unusable.
        stopped_at: the word at which reading stopped, or "" when all of the mask was read.
        mask: what was read, for messages.
        dropped: what of the mask is not used, from the word at which reading stopped.
        corrected: the devices that the mask speaks of, as a mask that would be read whole; "" when it names none.
    """

    state: MaskState
    ids: tuple[int, ...]
    stopped_at: str = ""
    mask: str = ""
    dropped: str = ""
    corrected: str = ""

    @property
    def usable(self) -> bool:
        """Whether the process has devices at all under this mask."""
        return self.state in (MaskState.UNSET, MaskState.OK)


def read_mask(mask: str | None, device_count: int) -> VisibleDevices:
    """Decode a mask (None: the variable is not set) on a machine whose driver shows `device_count` devices."""
    if mask is None:
        return VisibleDevices(MaskState.UNSET, tuple(range(device_count)))
    if not 0 < device_count <= _MOST_DEVICES:
        return VisibleDevices(MaskState.NO_DEVICES, (), mask=mask)
    words = mask[:_MOST_CHARACTERS].split(",")
    ids: list[int] = []
    stopped_at = dropped = ""
    for index, word in enumerate(words):
        number = _leading_number(word)
        named = number is not None and number < device_count
        if number is not None and named:
            ids.append(number)
        if not named or natural(word) is None:
            stopped_at, dropped = word or "an empty word", ",".join(words[index + named :])
            break
    numbers = {_leading_number(word.strip()) for word in words}
    corrected = ",".join(str(number) for number in range(device_count) if number in numbers)
    state = MaskState.OK if ids else MaskState.NOTHING_USABLE
    for before, after in itertools.pairwise(ids):
        if before >= after:
            state, ids = MaskState.REPEATED if before == after else MaskState.DESCENDING, []
            break
    return VisibleDevices(state, tuple(ids), stopped_at, mask, dropped, corrected)


def _leading_number(word: str) -> int | None:
    digits = re.match(r"[0-9]+", word)
    return natural(digits[0]) if digits else None


def check(seen: VisibleDevices, device_count: int, *, strict: bool) -> None:
    """Say that only a part of the mask is used: a warning, or an error.

    Raises:
        DeviceUnavailable 207004: `strict`, and the mask is not used as it stands (EE2002).
    """
    if strict and seen.mask and not (seen.usable and not seen.stopped_at):
        raise unusable_mask(seen, device_count)
    if seen.usable and seen.stopped_at:
        advise(_LOG, _what_is_used(seen))


def _what_is_used(seen: VisibleDevices) -> str:
    text = f"{VARIABLE}={shown(seen.mask)} leaves {', '.join(map(str, seen.ids)) or 'no device'}"
    if seen.stopped_at:
        text += f" (reading stopped at {shown(seen.stopped_at)}; not used: {shown(seen.dropped)})"
    return text


def unusable_mask(seen: VisibleDevices, device_count: int) -> errors.RuntimeFault:
    """Return the answer to a question about devices under a mask that hides all of them by a mistake in it."""
    rule = f"ascending ids in [0, {device_count}), each once, separated by commas"
    wrong = _what_is_used(seen) if seen.usable else f"{VARIABLE}={seen.mask!r} cannot be used: {seen.state.value}"
    instead = f"{VARIABLE}={seen.corrected} would be read" if seen.corrected else f"set it to {rule}, or unset it"
    return errors.fault(
        "ACL_ERROR_RT_NO_DEVICE", wrong, ee="EE2002", params=(seen.mask, VARIABLE, rule),
        hint=f"{rule}; {instead}" if seen.corrected else instead,
    )


def no_such_device(
    seen: VisibleDevices, device_count: int, index: Any, call: str, physical: Mapping[Any, int] = _NONE
) -> errors.RuntimeFault:
    """Return the answer to the use of a user id that no device has: what is valid, and what the mask makes of ids.

    Args:
        physical: user ids by physical id, to recognise one that was meant.
    """
    if seen.ids:
        valid = f"valid are 0 to {len(seen.ids) - 1}"
    elif device_count:
        valid = f"{VARIABLE} is unusable: {seen.state.value}"
    else:
        valid = "this machine has no devices"
    hints = [] if seen.state is MaskState.UNSET else [_what_is_used(seen)]
    if index in physical:
        hints.append(f"{index} looks like a physical id: the user id of that device is {physical[index]}")
    elif index in seen.ids:
        hints.append(f"{index} is the driver's id of user device {seen.ids.index(index)}")
    return errors.fault(
        "ACL_ERROR_RT_INVALID_DEVICEID", f"device {index!r}: {valid}", ee="EE1003",
        params=(call, index, "device", f"[0, {len(seen.ids)})"),
        hint="; ".join([*hints, "`npuhal info` lists the devices that this process may use"]),
    )
