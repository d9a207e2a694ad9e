"""Number and types of a kernel's arguments: checked in 8-byte slots, by this one piece, on every way in.

Values are turned into slots first, because `bytes` may take several: what counts is what reaches the kernel. A kernel
whose compiler did not say how many it takes is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from npuhal.late import logger
from npuhal.words import count
from runtime import errors
from runtime.errors.misuse import advise
from runtime.launch.args import SLOT_BYTES, all_slots

if TYPE_CHECKING:
    from runtime.launch.kernel import Kernel

_LOG = logger(__name__)

def launch_words(kernel: Kernel, arguments: Sequence[Any]) -> list[int]:
    """Return the slots of all arguments of a launch.

    Raises:
        InvalidArgument 107000: an argument that has no size on the device, a freed buffer, an object of another
            Runtime, or more or fewer slots than the kernel takes.
    """
    words = all_slots(arguments, kernel.program.device)
    check_slots(kernel, len(words), arguments)
    return words


def check_slots(kernel: Kernel, slots: int, arguments: Sequence[Any] = ()) -> None:
    """Refuse another number of slots than the compiler wrote down: 107000.

    The last one of as many values as the kernel takes may be wider, as a structure passed by value: nothing is shifted.
    """
    own = kernel.argument_count
    if own is None or slots == own:
        return
    wide = [index for index, each in enumerate(arguments)
            if isinstance(each, (bytes, bytearray, memoryview)) and memoryview(each).nbytes > SLOT_BYTES]  # fmt: skip
    if wide == [own - 1] and len(arguments) == own:
        return
    given = f"{count(slots, 'was', 'were')} given"
    if wide:
        sizes = ", ".join(f"{memoryview(arguments[index]).nbytes} bytes" for index in wide)
        given = f"{slots} slots of {SLOT_BYTES} bytes were given, several of them by {sizes}"
    raise errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"kernel {kernel.name} takes {count(own, 'argument')}, {given}",
        ee="EE1003", params=("launch", slots, "number of arguments", own),
        hint="`npuhal elf FILE` shows what each kernel takes",
    )


def note_short_block(kernel: Kernel, size: int) -> None:
    """Warn of a block of arguments that is too short for a kernel, which then reads what lies behind it.

    The C API and pyACL take such blocks, as the vendor's runtime does.
    """
    own = kernel.argument_count
    if own is not None and size < own * SLOT_BYTES:
        advise(_LOG, f"kernel {kernel.name} takes {count(own, 'argument')}, {own * SLOT_BYTES} bytes of them; it is "
               f"launched with a block of {count(size, 'byte')} and finds what lies behind it in the others' place")
