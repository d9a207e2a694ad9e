"""Data queue steps run on a small machine: sizes of the C structs, and what each step does to its buffers."""

from __future__ import annotations

import pytest

from chips.programs import CondError
from chips.programs.dqs import PipelineStep, Trace, assemble, program
from chips.programs.execute import Execution, execute
from tests.unit.chips.cond_machine import Queues

SIZES = {
    PipelineStep.DEQUEUE: 532,
    PipelineStep.BATCH_DEQUEUE: 1256,
    PipelineStep.ENQUEUE: 1052,
    PipelineStep.FREE: 668,
    PipelineStep.PREPARE: 816,
    PipelineStep.ZERO_COPY: 248,
    PipelineStep.ZERO_COPY_HIGH_FIRST: 248,
    PipelineStep.CONDITION_COPY: 220,
    PipelineStep.FRAME_ALIGN: 320,
    PipelineStep.FRAME_ALIGN_DELAYED: 200,
    PipelineStep.ADSPC: 352,
    PipelineStep.REMOTE_BEFORE: 716,
    PipelineStep.REMOTE_AFTER: 1288,
}
POP = 5
TRACE = Trace(
    base=0x9000,
    block_sizes=0x9100,
    operation_offset=0,
    operation=7,
    owner_offset=4,
    owner=42,
    queue_ids=0x9200,
    queue_offset=2,
    time_offset=16,
    counter=0x9300,
)
AREA, CLOCK = 0xA000, 0xB000


class Manager(Queues):
    """Queues with a queue manager: words to pop by queue address."""

    def __init__(self) -> None:
        super().__init__()
        self.words: dict[int, list[int]] = {}
        self.poke(0x9000, AREA)
        self.poke(0x9100, 0x80, 4)
        self.poke(0x9200, 0x33, 2)
        self.poke(0x9300, CLOCK)
        self.poke(CLOCK, 123456)

    def queue(self, command: int, address: int) -> tuple[int, int]:
        assert command == POP
        words = self.words.get(address, [])
        return (0, words.pop(0)) if words else (1, 0)


def run(machine: Manager, step: PipelineStep, traces: dict[str, Trace] | None = None, **values: int) -> Execution:
    return execute(assemble(step, traces, **values), machine, "v201")


@pytest.mark.parametrize("step", SIZES)
def test_sizes_of_the_c_structs(step: PipelineStep) -> None:
    assert program(step).size_bytes == SIZES[step]


def test_every_step_has_a_size() -> None:
    assert SIZES.keys() == set(PipelineStep)


DEQUEUE = {"counted": 0x100, "queue": 0x200, "handle": 0x300, "dfx": 0x400}


def test_dequeue_stores_counts_and_traces() -> None:
    machine = Manager()
    machine.poke(0x200, 0xC000)
    machine.words[0xC000] = [3 << 10 | 5]
    result = run(machine, PipelineStep.DEQUEUE, {"dequeue": TRACE}, **DEQUEUE)
    assert result.fault is None
    assert machine.peek(0x300, 4) == 3 << 10 | 5
    assert machine.peek(0x100, 1) == 1
    area = AREA + 3 * 0x80
    assert (machine.peek(area, 1), machine.peek(area + 2, 2), machine.peek(area + 4, 4)) == (7, 0x33, 42)
    assert machine.peek(area + 16) == 123456


@pytest.mark.parametrize(("words", "status"), [([], 0x5A5A), ([1 << 17], 0x5B5B)])
def test_dequeue_says_why_it_failed(words: list[int], status: int) -> None:
    machine = Manager()
    machine.poke(0x200, 0xC000)
    machine.words[0xC000] = words
    result = run(machine, PipelineStep.DEQUEUE, {"dequeue": TRACE}, **DEQUEUE)
    assert result.fault is not None
    assert result.status == status


BATCH = {
    "counted": 0x100,
    "queues": 0x200,
    "caches": 0x300,
    "free_registers": 0x500,
    "ready": 0x600,
    "ready_clear": 0x700,
    "queue_count": 2,
    "count_offset": 8,
    "cache_bytes": 16,
    "dfx": 0x400,
}


def test_batch_dequeue_keeps_two_buffers_and_frees_the_third() -> None:
    machine = Manager()
    for queue in range(2):
        machine.poke(0x200 + 8 * queue, 0xC000 + 0x100 * queue)
        machine.poke(0x500 + 8 * queue, 0xD000 + 8 * queue)
    machine.poke(0x600, 0b10)  # only the second queue has something
    machine.words[0xC100] = [11, 12, 13]
    machine.poke(0x9008, AREA)
    for _ in range(3):
        assert run(machine, PipelineStep.BATCH_DEQUEUE, {"dequeue": TRACE, "free": TRACE}, **BATCH).fault is None
    cache = 0x300 + 16
    assert (machine.peek(cache, 4), machine.peek(cache + 4, 4), machine.peek(cache + 8, 2)) == (13, 12, 2)
    assert machine.peek(0xD008, 4) == 11
    assert machine.peek(0x700, 4) == 0b10
    assert machine.peek(0x308, 2) == 0


ENQUEUE = {
    "counted_before": 0x100,
    "counted_after": 0x108,
    "overwrites": 0x200,
    "handles": 0x300,
    "enqueue_registers": 0x400,
    "free_registers": 0x500,
    "queue_count": 1,
}


@pytest.mark.parametrize("code", [0, 1])
def test_enqueue_sends_each_handle(code: int) -> None:
    machine = Manager()
    machine.poke(0x200, 0xC000)
    machine.poke(0xC000, code << 29 | 9)
    machine.poke(0x300, 77, 4)
    machine.poke(0x400, 0xD000)
    machine.poke(0x500, 0xD100)
    assert run(machine, PipelineStep.ENQUEUE, {"enqueue": TRACE, "overwrite": TRACE}, **ENQUEUE).fault is None
    assert machine.peek(0xD000, 4) == 77
    assert (machine.peek(0x100, 1), machine.peek(0x108, 1)) == (1, 1)
    assert machine.peek(0xD100, 4) == 0  # the reference's trace spoils the register that held this address


@pytest.mark.parametrize(("code", "status"), [(2, 0x6A6A), (3, 0x6B6B)])
def test_enqueue_says_why_it_failed(code: int, status: int) -> None:
    machine = Manager()
    machine.poke(0x200, 0xC000)
    machine.poke(0xC000, code << 29)
    result = run(machine, PipelineStep.ENQUEUE, {"enqueue": TRACE, "overwrite": TRACE}, **ENQUEUE)
    assert result.fault is not None
    assert result.status == status


FREE = {
    "counted_before": 0x100,
    "counted_after": 0x108,
    "free_registers": 0x500,
    "handles": 0x300,
    "last_handles": 0x600,
    "cache_bytes": 16,
    "queue_count": 1,
}


def test_free_at_once_or_a_round_later() -> None:
    machine = Manager()
    machine.poke(0x500, 0xD000)
    machine.poke(0x300, 5, 4)
    machine.poke(0x600, 4, 4)
    assert run(machine, PipelineStep.FREE, {"free": TRACE}, schedule=1, **FREE).fault is None
    assert machine.peek(0xD000, 4) == 5
    assert run(machine, PipelineStep.FREE, {"free": TRACE}, schedule=3, **FREE).fault is None
    assert machine.peek(0xD000, 4) == 4
    assert (machine.peek(0x600, 4), machine.peek(0x300, 4)) == (5, 0x20000)


def test_prepare_copies_the_head() -> None:
    machine = Manager()
    head = list(range(1000, 1032))
    machine.poke(0x200, 2 << 10)
    machine.poke(0x210, 0x200, 4)
    machine.poke(0x220, 0x10_0000)
    for index, word in enumerate(head):
        machine.poke(0x10_0000 + 2 * 0x200 + 8 * index, word)
    machine.poke(0x300, 0xC000)
    machine.poke(0xC000, 3 << 10 | 1)
    machine.poke(0x500, 0x400, 4)
    machine.poke(0x600, 0x20_0000)
    values = {
        "error_code": 0x100,
        "counted": 0x108,
        "input_handle": 0x200,
        "input_block_size": 0x210,
        "input_base": 0x220,
        "output_count": 1,
        "allocators": 0x300,
        "output_handles": 0x400,
        "output_block_sizes": 0x500,
        "output_bases": 0x600,
        "dfx_result": 0x700,
        "dfx_pool": 0x708,
    }
    assert run(machine, PipelineStep.PREPARE, {"allocate": TRACE}, **values).fault is None
    assert machine.peek(0x400, 4) == 3 << 10 | 1
    assert [machine.peek(0x20_0000 + 3 * 0x400 + 8 * index) for index in range(32)] == head
    machine.poke(0xC000, 4 << 29)
    assert run(machine, PipelineStep.PREPARE, {"allocate": TRACE}, **values).fault is not None
    assert machine.peek(0x100, 1) == 4


@pytest.mark.parametrize(
    ("step", "swapped"), [(PipelineStep.ZERO_COPY, False), (PipelineStep.ZERO_COPY_HIGH_FIRST, True)]
)
def test_zero_copy_patches_addresses(step: PipelineStep, swapped: bool) -> None:
    machine = Manager()
    machine.poke(0x200, 0x100, 4)
    machine.poke(0x210, 2 << 10, 4)
    machine.poke(0x220, 0x12_0000_0000)
    for index, offset in enumerate((0x10, 0x20)):
        machine.poke(0x300 + 8 * index, offset)
        machine.poke(0x400 + 8 * index, 0xC000 + 8 * index)
    places = {"block_size": 0x200, "handle": 0x210, "base": 0x220, "offsets": 0x300, "destinations": 0x400}
    assert run(machine, step, count=2, **places).fault is None
    for index, offset in enumerate((0x10, 0x20)):
        wanted = 0x12_0000_0000 + 2 * 0x100 + offset
        if swapped:
            wanted = (wanted & 0xFFFF_FFFF) << 32 | wanted >> 32
        assert machine.peek(0xC000 + 8 * index) == wanted


@pytest.mark.parametrize(("condition", "copied", "status"), [(0, False, None), (1, True, None), (2, False, 0x7A7B)])
def test_condition_copy(condition: int, copied: bool, status: int | None) -> None:
    machine = Manager()
    machine.poke(0x200, condition)
    machine.poke(0x300, 5)
    machine.poke(0x308, 6)
    result = run(machine, PipelineStep.CONDITION_COPY, condition=0x200, count=2, sources=0x300, destinations=0x400)
    assert (result.fault is None) == (status is None)
    assert [machine.peek(0x400), machine.peek(0x408)] == ([5, 6] if copied else [0, 0])
    assert machine.peek(0x200) == (0 if copied else condition)
    if status is not None:
        assert result.status == status


ALIGN = {"caches": 0x300, "queue_count": 2, "handles": 0x200, "count_offset": 8, "cache_bytes": 16}


def caches(machine: Manager, *contents: tuple[int, ...]) -> None:
    for index, handles in enumerate(contents):
        for place, handle in enumerate(handles):
            machine.poke(0x300 + 16 * index + 4 * place, handle, 4)
        machine.poke(0x308 + 16 * index, len(handles), 2)


def test_frame_align_takes_the_oldest_of_each_or_starts_again() -> None:
    machine = Manager()
    caches(machine, (11,), (22, 21))
    assert run(machine, PipelineStep.FRAME_ALIGN, sq=6, **ALIGN).fault is None
    assert (machine.peek(0x200, 4), machine.peek(0x204, 4)) == (11, 21)
    assert (machine.peek(0x308, 2), machine.peek(0x318, 2)) == (0, 1)
    assert machine.log == []
    assert run(machine, PipelineStep.FRAME_ALIGN, sq=6, **ALIGN).fault is None
    assert machine.log == [("goto", 6, 0)]


def test_delayed_frame_align_takes_what_is_there() -> None:
    machine = Manager()
    caches(machine, (), (22, 21))
    assert run(machine, PipelineStep.FRAME_ALIGN_DELAYED, **ALIGN).fault is None
    assert (machine.peek(0x200, 4), machine.peek(0x204, 4)) == (0, 22)
    assert (machine.peek(0x310, 4), machine.peek(0x318, 2)) == (21, 1)


ADSPC = {
    "cq_head": 0x200,
    "cq_tail": 0x208,
    "position_mask": 0xF,
    "dfx": 0x400,
    "cqe_base": 0x1000,
    "cqe_bytes": 16,
    "cqe_copy": 0x500,
    "overwrite": 0x600,
    "free_register": 0xD000,
    "enqueue_register": 0xD008,
    "handle": 55,
}


def test_adspc_copies_an_entry_and_sends() -> None:
    machine = Manager()
    machine.poke(0x200, 15)
    machine.poke(0x208, 2)
    machine.poke(0x1000 + 15 * 16, 77)
    machine.poke(0x600, 9)
    assert run(machine, PipelineStep.ADSPC, **ADSPC).fault is None
    assert machine.peek(0x500) == 77
    assert machine.peek(0x200) == 0
    assert (machine.peek(0xD000, 4), machine.peek(0xD008, 4)) == (9, 55)
    machine.poke(0x200, 2)
    assert run(machine, PipelineStep.ADSPC, **ADSPC).fault is not None


BEFORE = {
    "allocator": 0x200,
    "handle": 0x300,
    "head_base": 0x310,
    "head_block_size": 0x318,
    "head_copy": 0x320,
    "data_base": 0x330,
    "data_block_size": 0x338,
    "data_copy": 0x340,
    "empty_trace": 0x350,
    "notify": 0x358,
}


def test_remote_before_aims_the_copies() -> None:
    machine = Manager()
    machine.poke(0x200, 0xC000)
    machine.poke(0xC000, 2 << 10 | 3)
    machine.poke(0x310, 0x1000_0000)
    machine.poke(0x318, 0x100, 4)
    machine.poke(0x330, 0x2000_0000)
    machine.poke(0x338, 0x1000, 4)
    assert run(machine, PipelineStep.REMOTE_BEFORE, {"allocate": TRACE}, **BEFORE).fault is None
    assert machine.peek(0x300, 4) == 2 << 10 | 3
    assert machine.peek(0x320) == 0x1000_0000 + 2 * 0x100
    assert machine.peek(0x340) == 0x2000_0000 + 2 * 0x1000


def test_remote_before_tells_an_empty_pool() -> None:
    machine = Manager()
    machine.poke(0x200, 0xC000)
    machine.poke(0xC000, 4 << 29)
    machine.poke(0x350, 0xD000)
    machine.poke(0x358, 0xD008)
    result = run(machine, PipelineStep.REMOTE_BEFORE, {"allocate": TRACE}, **BEFORE)
    assert result.fault is not None
    assert result.status == 4
    assert (machine.peek(0xD000, 4), machine.peek(0xD008, 4)) == (1, 1)


def test_remote_after_hands_over_and_frees() -> None:
    machine = Manager()
    places = {
        "overwrite": 0x200,
        "remote_free": 0x208,
        "remote_handle": 0x300,
        "remote_queue": 0x308,
        "local_handle": 0x310,
        "local_free": 0x318,
    }
    machine.poke(0x200, 0xC000)
    machine.poke(0xC000, 9)
    machine.poke(0x208, 0xD000)
    machine.poke(0x300, 21)
    machine.poke(0x308, 0xD008)
    machine.poke(0x310, 31)
    machine.poke(0x318, 0xD010)
    traces = {"overwrite": TRACE, "enqueue": TRACE, "free": TRACE}
    assert run(machine, PipelineStep.REMOTE_AFTER, traces, **places).fault is None
    assert [machine.peek(0xD000 + 8 * index, 4) for index in range(3)] == [9, 21, 31]


def test_parameters_are_checked() -> None:
    with pytest.raises(CondError, match=r"missing \['count'"):
        assemble(PipelineStep.CONDITION_COPY, condition=1)
    with pytest.raises(CondError, match="dequeue_base: given by the trace 'dequeue' as well"):
        assemble(PipelineStep.DEQUEUE, {"dequeue": TRACE}, dequeue_base=1)
