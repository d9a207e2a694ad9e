"""How a generation's task scheduler and driver behave, where a runtime has to behave accordingly.

The values are data: the section `traits` of the chip files, laid over each other like their properties (chips/soc). A
runtime, or a fake of the hardware, asks `chip.traits`; it knows no generation by name. Sources: core_spec 5 to 9,
hal_semantics 4.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from npuhal.records import dataclass, names_of


class EntryFormat(Enum):
    """Family of queue entries; a fake executes those it knows."""

    COMMANDS = "commands"
    """64-byte commands of chips without STARS."""
    STARS = "stars"
    """STARS v1: stream and task id in the header."""
    STARS_SMALL = "stars_small"
    """The STARS of CHIP_5162A."""
    STARS_V2 = "stars_v2"
    """STARS v2: a serial number in the header."""


class TaskNumbering(Enum):
    """What tasks are recognised by."""

    SLOT = "slot"
    """A 16-bit id that follows the position in the ring."""
    SERIAL = "serial"
    """A 32-bit number that counts the device's tasks."""


class CompletionKind(Enum):
    """By what a runtime learns how far a queue is."""

    HEADS = "heads"
    """The head of the queue; tasks that ask for it report besides."""
    STATUS_TABLE = "status_table"
    """A row per stream in memory that scheduler and host share: the last task, the first and the last failure."""
    REPORTS = "reports"
    """Reports of all streams in one completion queue; each says how far its stream is."""


class EventKind(Enum):
    """What a waitable event is on the device."""

    IDS = "ids"
    """An id of its own, recorded or not."""
    NOTIFIES = "notifies"
    """A notify that counts records; a wait names the count, and a plain wait clears."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerTraits:
    """Traits of one generation, or of a chip that differs from it. True says that the sentence holds."""

    # entries and numbers
    entries: EntryFormat
    numbering: TaskNumbering
    head_update_every: int
    """Allocations of a stream between two requests to publish its queue head on devices over UB; 0: there are none."""
    prepares_chains: bool
    """The driver prepares each copy between host and device; it is not described by its addresses."""
    simt_memory: bool
    """Kernels state the memory of their SIMT parts."""
    fusion_in_groups: bool
    """Task groups of graphs may hold fused kernels."""

    # queues
    completion: CompletionKind
    """By what a runtime learns how far a queue is."""
    command_depth: int
    """Commands that a queue holds; 0: as many as the chip's rtsqDepth. `Limits.rtsq_depth` is what holds."""
    halts_at_failures: bool
    """The hardware stops a queue at a failed task, and the host moves its head on; otherwise it goes on by itself."""
    retries_every_send: bool
    """A refused send is repeated whatever its code; otherwise only missing credit is."""
    drains_when_full: bool
    """Completions are read once more when a ring is full: a failure may have come after the last look."""
    extended_queue_info: bool
    """Queues are made with the extended block of information (struct trs_ext_info_header)."""
    software_queue_word: bool
    """Queues are announced as software queues."""
    default_queue_group: int
    """Group that queues without one state."""
    control_queue_word: bool
    """The queue of the control stream is marked."""
    sink_queue_flag: bool
    """Queues of streams that keep their tasks are made with TSDRV_FLAG_TASK_SINK_SQ."""
    maps_rings: bool
    """The driver may map rings, so that entries are built in place."""
    registers_at_creation: bool
    """Where a queue's registers lie is published when it is made; otherwise when it joins a model."""
    executed_words: bool
    """Streams have a word in device memory for how far they were executed."""
    fills_through_driver: bool
    """Entries in memory of streams are written by the driver, after the queue was switched to it."""
    updates_by_position: bool
    """An entry is changed by queue and position; otherwise by its address in a mapped ring."""

    # events and notifies
    events: EventKind
    count_notifies: bool
    """There are notifies that count."""
    maps_shared_notifies: bool
    """The driver maps the register of another one's notify; elsewhere entries compute where it is."""
    records_on_other_cards: bool
    """The record of another one's notify says of which card it is, or goes where the driver has mapped that."""
    clears_by_command: bool
    """A notify is cleared by a command to the scheduler, not by a record that clears."""
    resets_in_captures: bool
    """A capture takes the reset of a plain event that it has not recorded."""

    # device
    message_version: bool
    """The AICPU gets the version of its messages when the device is opened."""
    error_ring_elements: int
    error_ring_element_bytes: int
    error_ring_physical: bool
    """The scheduler gets the physical address of the error ring."""
    error_ring_core: tuple[int, ...]
    """What an element says of a core: bytes, and the offsets of start, position and arguments of its kernel."""
    stacks_by_core: bool
    """Stacks are counted by cores; otherwise the chip states the size of their pool."""
    checks_broken_memory: bool
    """A failed kernel or copy is attributed to broken memory by the faults that the device reports."""
    asks_connection: bool
    """Opening asks the driver for connection, dies and register base."""
    asks_dynamic_bind: bool
    """Reading the machine asks whether queues can be bound dynamically."""
    dies: int
    """Dies of one device."""
    driver_tree: int
    """Generation of the driver's memory management: 1 or 2."""
    revision: int
    """Low byte of the hardware version word (bin)."""

    # ends
    stops_by_task: bool
    """The running task of a stream is stopped by a task on the control stream, not by a message."""
    abort_by_capability: bool
    """Aborts, resets of notifies and copies by offset exist where the scheduler states the capability."""
    abort_killed: tuple[int, ...]
    """Status words of an abort whose tasks are killed (APP_ABORT_*, DAVID_ABORT_*)."""
    abort_ended: tuple[int, ...]
    """Status words of an abort that has ended."""
    abort_failed: tuple[int, ...]
    """Status words of an abort that has failed."""

    # models and capture
    runs_models: bool
    """It is known how the scheduler keeps and starts the tasks of a model."""
    captures_keep_tasks: bool
    """Streams of a captured graph are made persistent."""
    captures_persistent: bool
    """Streams that keep their tasks can be captured."""
    copies_pageable: bool
    """Copies read ordinary host memory, unless addresses are flat."""

    # messages
    posts_early_calls: bool
    """Calls that come too early post EE1018."""
    posts_exhausted_ids: bool
    """Running out of stream ids posts a message."""

    @property
    def counts_ids(self) -> bool:
        """Whether tasks are recognised by a 16-bit id of their stream, not by a serial number."""
        return self.numbering is not TaskNumbering.SERIAL


@cache
def trait_kinds() -> dict[str, type]:
    """Return the traits by name, each with the kind of its value: an enumeration, bool, int or tuple."""
    kinds: dict[str, type] = {"int": int, "bool": bool, "tuple[int, ...]": tuple}
    kinds.update((kind.__name__, kind) for kind in (EntryFormat, TaskNumbering, CompletionKind, EventKind))
    return {name: kinds[SchedulerTraits.__annotations__[name]] for name in names_of(SchedulerTraits)}
