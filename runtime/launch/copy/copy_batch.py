"""Many copies between host and device with one call (core_spec 13.9)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from chips.tasks import CopyKind
from npuhal import constants as c
from npuhal.records import dataclass
from npuhal.words import count
from runtime import errors
from runtime.driver.dma import CopyDriver
from runtime.launch.copy import transfer
from runtime.launch.copy.copy import queue_copy
from runtime.launch.copy.direction import Direction
from runtime.memory.location import Location, MemoryLocation, locate

if TYPE_CHECKING:
    from npuhal.api import HalApi
    from runtime.core.stream.stream import Stream
    from runtime.driver.memory import MemoryDriver

MAX_PAIRS = c.DEVMM_MEMCPY_BATCH_MAX_COUNT
"""Most pairs of one call that waits."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One copy of a batch: `size` bytes into a target with space for `capacity`."""

    dst: int
    capacity: int
    src: int
    size: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Where the ends of pairs are said to lie (aclrtMemcpyBatchAttr); device numbers are the driver's."""

    source: MemoryLocation
    target: MemoryLocation


class BadPair(Exception):
    """A pair that cannot be copied; `index` says which, `fault` why."""

    def __init__(self, index: int, fault: errors.RuntimeFault) -> None:
        super().__init__(str(fault))
        self.index, self.fault = index, fault


def check_counts(call: str, pairs: int, claims: int, *, queued: bool = False) -> None:
    """Refuse no claim, more claims than pairs, and more pairs than the driver copies at once: 107000."""
    if not claims:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: numAttrs is 0", ee="EE1003",
            params=(call, 0, "numAttrs", f"[1, {pairs}]"), hint="say where the ends lie",
        )
    if claims > pairs:
        raise _disagree(call, "numAttrs", f"it is {claims} with {count(pairs, 'copy', 'copies')}",
                        "pass no more attributes than copies")
    if pairs > MAX_PAIRS and not queued:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {pairs} pairs are more than {MAX_PAIRS}", ee="EE1003",
            params=(call, pairs, "numBatches", f"[1, {MAX_PAIRS}]"), hint="split the batch",
        )


def assign(call: str, pairs: int, claims: Sequence[Claim], starts: Sequence[int]) -> list[Claim]:
    """Return the claim of each pair: claim k holds from pair `starts[k]` on.

    Raises:
        InvalidArgument 107000: starts that do not begin at 0 and rise.
    """
    if starts[0] != 0:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: attrsIndexes[0] is {starts[0]}; it must be 0", ee="EE1003",
            params=(call, starts[0], "attrsIndexes[0]", 0), hint="the first attribute is that of the first copy",
        )
    for number, (earlier, later) in enumerate(pairwise(starts), 1):
        if later <= earlier or later >= pairs:
            raise _disagree(call, f"attrsIndexes[{number}]", f"{later} is not between {earlier} and {pairs}",
                            "let the indices rise from 0: each is the first copy that its attribute is for")
    ends = (*starts[1:], pairs)
    return [claim for claim, start, end in zip(claims, starts, ends, strict=True) for _ in range(start, end)]


def _disagree(call: str, what: str, why: str, cure: str) -> errors.RuntimeFault:
    return errors.fault(
        "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {what}: {why}", ee="EE1017", params=(call, what, why), hint=cure,
    )


def directions(
    memory: MemoryDriver, call: str, pairs: Sequence[Pair], claims: Sequence[Claim], *, queued: bool = False
) -> list[Direction]:
    """Return the direction of each pair, after its claim was checked against the addresses.

    Args:
        memory: who knows where addresses lie.
        queued: the copies are queued; their sizes and addresses are checked first.

    Raises:
        BadPair: the first pair that is no copy between host and device, or lies elsewhere than claimed.
    """
    found = []
    for index, (pair, claim) in enumerate(zip(pairs, claims, strict=True)):
        try:
            if queued:
                _check_pair(call, pair, index)
            found.append(_direction(memory, call, pair, claim, index))
        except errors.RuntimeFault as fault:
            raise BadPair(index, fault) from fault
    return found


def _check_pair(call: str, pair: Pair, index: int) -> None:
    if not 0 < pair.size <= pair.capacity:
        raise _disagree(call, "sizes", f"copy {index}: {pair.size} is not between 1 and {pair.capacity}",
                        "copy at least 1 byte, and at most what the target holds")
    for name, address in (("srcs", pair.src), ("dsts", pair.dst)):
        if not address:
            raise errors.fault(
                "ACL_ERROR_RT_PARAM_INVALID", f"{call}: {name}[{index}] is NULL", ee="EE1004",
                params=(call, f"{name}[{index}]"), hint="pass an address for each copy",
            )


def _direction(memory: MemoryDriver, call: str, pair: Pair, claim: Claim, index: int) -> Direction:
    sides = []
    for end, address, said in (("target", pair.dst, claim.target), ("source", pair.src, claim.source)):
        found = locate(memory, address, exists=True) if memory.classifies else said
        real, claimed = _side(found), _side(said)
        if real is not claimed or (real is Location.DEVICE and found.device_id != said.device_id):
            raise _disagree(call, f"copy {index}", f"its {end} {address:#x} lies in {found}, not {said}",
                            "let the attribute say where the memory lies, or pass another address")
        sides.append(real)
    if sides[0] is sides[1]:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{call}: copy {index} goes from {sides[1].name} to {sides[0].name}",
            ee="EE1016", params=(call, f"copy {index} is none between host and device"),
            hint="copies of a batch go from host to device or back",
        )
    return Direction.HOST_TO_DEVICE if sides[0] is Location.DEVICE else Direction.DEVICE_TO_HOST


def _side(found: MemoryLocation) -> Location:
    """Return HOST for every kind of host memory."""
    return Location.HOST if found.location in (Location.UNREGISTERED, Location.HOST_NUMA) else found.location


def copy_batch(hal: HalApi, pairs: Sequence[Pair], call: str) -> None:
    """Copy all pairs and wait, in any order; no capture forbids it.

    Raises:
        InvalidArgument 107000: addresses that the driver refuses.
    """
    CopyDriver(hal, 0).batch([pair.dst for pair in pairs], [pair.src for pair in pairs], [pair.size for pair in pairs])


def queue_batch(stream: Stream, pairs: Sequence[Pair], kinds: Sequence[Direction], call: str) -> None:
    """Queue all pairs: one task per direction where the link is UB, one copy after the other elsewhere."""
    env = stream.env
    if not (env.ub_connected and env.chip.has("TASK_MEMORY_BATCH_COPY")) or _plain(stream, pairs):
        for pair, kind in zip(pairs, kinds, strict=True):
            queue_copy(stream, pair.dst, pair.capacity, pair.src, pair.size, kind, call)
        return
    driver, sq_id = transfer.copy_driver(stream), stream.queues.sq_id
    for direction, copy in (
        (Direction.HOST_TO_DEVICE, CopyKind.HOST_TO_DEVICE), (Direction.DEVICE_TO_HOST, CopyKind.DEVICE_TO_HOST),
    ):  # fmt: skip
        chosen = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind is direction]
        if not chosen:
            continue
        columns = [[pair.dst for pair in chosen], [pair.src for pair in chosen], [pair.size for pair in chosen]]
        prepared = driver.prepare_batch(sq_id, transfer.ub_direction(copy), *columns)
        transfer.send_prepared(
            stream, copy, prepared, partial(driver.free_batch, sq_id, prepared), size=sum(columns[2]), doorbell=True
        )


def _plain(stream: Stream, pairs: Sequence[Pair]) -> bool:
    memory = stream.device.memory
    return memory.classifies and any(
        locate(memory, address).location is Location.UNREGISTERED for pair in pairs for address in (pair.dst, pair.src)
    )
