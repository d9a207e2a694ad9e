"""How ASCEND_RT_VISIBLE_DEVICES is read: a comma list of driver ids, whose positions become the user's ids.

core_spec 2.6: reading stops at the first word that does not begin with a digit or names no device; a word is cut at its
first non-digit. What was read before the stop counts, but a repeated or descending id spoils the whole mask.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from runtime import errors

__all__ = ["VARIABLE", "MaskState", "VisibleDevices", "no_such_device", "read_mask", "unusable_mask"]

VARIABLE: Final = "ASCEND_RT_VISIBLE_DEVICES"

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
    """

    state: MaskState
    ids: tuple[int, ...]
    stopped_at: str = ""
    mask: str = ""

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
    ids: list[int] = []
    stopped_at = ""
    for word in mask[:_MOST_CHARACTERS].split(","):
        digits = re.match(r"[0-9]*", word)
        number = int(digits[0]) if digits and digits[0] else device_count
        if number < device_count:
            ids.append(number)
        if number >= device_count or not re.fullmatch(r"[0-9]+", word):
            stopped_at = word or "an empty word"
            break
    for before, after in itertools.pairwise(ids):
        if before >= after:
            state = MaskState.REPEATED if before == after else MaskState.DESCENDING
            return VisibleDevices(state, (), stopped_at, mask)
    return VisibleDevices(MaskState.OK if ids else MaskState.NOTHING_USABLE, tuple(ids), stopped_at, mask)


def unusable_mask(seen: VisibleDevices, device_count: int) -> errors.RuntimeFault:
    """Return the answer to a question about devices under a mask that hides all of them by a mistake in it."""
    rule = f"ascending ids in [0, {device_count}), each once, separated by commas"
    return errors.fault(
        "ACL_ERROR_RT_NO_DEVICE", f"{VARIABLE}={seen.mask!r} cannot be used: {seen.state.value}", ee="EE2002",
        params=(seen.mask, VARIABLE, rule), hint=f"set it to {rule}, or unset it",
    )


def no_such_device(seen: VisibleDevices, device_count: int, index: object, call: str) -> errors.RuntimeFault:
    """Return the answer to the use of a user id that no device has: what is valid, and what the mask makes of ids."""
    if seen.ids:
        valid = f"valid are 0 to {len(seen.ids) - 1}"
    elif device_count:
        valid = f"{VARIABLE} is unusable: {seen.state.value}"
    else:
        valid = "this machine has no devices"
    return errors.fault(
        "ACL_ERROR_RT_INVALID_DEVICEID", f"device {index!r}: {valid}", ee="EE1003",
        params=(call, index, "device", f"[0, {len(seen.ids)})"), hint=_what_the_mask_does(seen, index),
    )


def _what_the_mask_does(seen: VisibleDevices, index: object) -> str:
    hint = "`npuhal info` lists the devices that this process may use"
    if seen.state is MaskState.UNSET:
        return hint
    text = f"{VARIABLE}={seen.mask!r} leaves {', '.join(map(str, seen.ids)) or 'no device'}"
    if seen.stopped_at:
        text += f" (reading stopped at {seen.stopped_at!r})"
    if index in seen.ids:
        text += f"; {index} is the driver's id of user device {seen.ids.index(index)}"
    return f"{text}; {hint}"
