"""Condition programs run on a small machine: they must do what their descriptions say."""

from __future__ import annotations

import operator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chips.programs import assemble
from chips.programs.body import float_status, function_call, schedule_end
from chips.programs.capture import CaptureCondition, ConditionKind, WhileJumpBack
from chips.programs.execute import Execution, execute
from chips.programs.label import LabelSwitch
from chips.programs.model import ModelExecute, StartQueues
from chips.programs.program import decode
from chips.programs.rdma import ProducerIndexModify, rdma_count, rdma_doorbell
from chips.programs.stream import STATE_OFFSET, Condition, QueueRegisters, StreamActive, StreamSwitch
from chips.programs.wait import BoundQueue, ExternalWait, KnownQueue, MemoryWait, SwapBuffer, WaitFor
from tests.unit.chips.cond_machine import SELECTOR, TABLE, Queues

VARIABLE, OTHER, STARTS, DFX, BLOCK = 0x1000, 0x2000, 0x3000, 0x8000, 0x1_0000
GENERATIONS = ("v100", "v200", "v201", "arch9201")
WORD = st.integers(0, (1 << 64) - 1)
SIGNED = st.integers(-(1 << 63), (1 << 63) - 1)


def active(machine: Queues, generation: str, sq_id: int = 3) -> StreamActive:
    state = machine.page(sq_id) + STATE_OFFSET if generation == "arch9201" else SELECTOR
    registers = QueueRegisters.at(machine.page(sq_id), state=state, tail_offset=machine.tail_offset)
    return StreamActive(sq_id=sq_id, registers=registers, starts=STARTS, dfx=DFX, sq_mask=0x7FF)


def run(code: bytes, machine: Queues, generation: str = "v100") -> Execution:
    result = execute(code, machine, generation)
    assert result.fault is None
    return result


@pytest.mark.parametrize("generation", GENERATIONS)
def test_stream_active_rewinds_counts_and_starts(generation: str) -> None:
    machine = Queues()
    machine.set_queue(3, head=9, tail=9, enabled=True)
    run(active(machine, generation).assemble(generation), machine, generation)
    assert machine.log == [("goto", 3, 0), ("activate", 3, 0)]
    assert not machine.enabled(3)
    assert machine.peek(STARTS, 2) == 1


@pytest.mark.parametrize("generation", GENERATIONS)
def test_stream_active_refuses_a_queue_with_work(generation: str) -> None:
    machine = Queues()
    machine.set_queue(3, head=4, tail=9, enabled=True)
    result = execute(active(machine, generation).assemble(generation), machine, generation)
    assert result.fault is not None
    assert "error word" in result.fault
    assert machine.log == []
    assert (machine.peek(DFX + 16) >> 48, machine.peek(DFX + 24) >> 48) == (4, 9)


def test_a_stuck_state_machine_ends_in_an_error() -> None:
    machine = Queues()
    machine.states[3] = 9
    result = execute(active(machine, "v100").assemble("v100"), machine)
    assert result.fault is not None
    assert result.status == 3


COMPARE = {
    Condition.EQUAL: operator.eq,
    Condition.NOT_EQUAL: operator.ne,
    Condition.GREATER: operator.gt,
    Condition.GREATER_OR_EQUAL: operator.ge,
    Condition.LESS: operator.lt,
    Condition.LESS_OR_EQUAL: operator.le,
}


@pytest.mark.parametrize("condition", list(Condition))
@given(variable=SIGNED, value=SIGNED, generation=st.sampled_from(GENERATIONS), same=st.booleans())
def test_switch_compares_with_a_constant(
    condition: Condition, variable: int, value: int, generation: str, same: bool
) -> None:
    value = variable if same else value
    machine = Queues()
    machine.poke(VARIABLE, variable & (1 << 64) - 1)
    switch = StreamSwitch(
        variable=VARIABLE, condition=condition, target=active(machine, generation), current_sq=1, value=value
    )
    run(switch.assemble(generation), machine, generation)
    taken = [("goto", 3, 0), ("activate", 3, 0), ("deactivate", 1, 0)]
    assert machine.log == (taken if COMPARE[condition](variable, value) else [])


@pytest.mark.parametrize("wide", [True, False])
@given(variable=SIGNED, value=SIGNED, condition=st.sampled_from(list(Condition)))
def test_switch_compares_with_memory(wide: bool, variable: int, value: int, condition: Condition) -> None:
    machine = Queues()
    machine.poke(VARIABLE, variable & (1 << 64) - 1)
    machine.poke(OTHER, value & (1 << 64) - 1)
    switch = StreamSwitch(
        variable=VARIABLE,
        condition=condition,
        target=active(machine, "v100"),
        current_sq=1,
        value_address=OTHER,
        wide=wide,
    )
    run(switch.assemble("v100"), machine)

    def seen(number: int) -> int:
        bits = 64 if wide else 32
        low = number & (1 << bits) - 1
        return low - (1 << bits) if low >> (bits - 1) else low

    assert bool(machine.log) == COMPARE[condition](seen(variable), seen(value))


def meets(test: WaitFor, seen: int, value: int) -> bool:
    def signed(number: int) -> int:
        return number - (1 << 64) if number >> 63 else number

    return {
        WaitFor.GREATER_OR_EQUAL: signed(seen) >= signed(value),
        WaitFor.EQUAL: seen == value,
        WaitFor.AND: seen & value != 0,
        WaitFor.NOR: seen | value != (1 << 64) - 1,
    }[test]


WAITS = {
    "v100": (KnownQueue(sq_id=2, paused=0x7000, tail=0x5000_2008), None),
    "v100 bound": (BoundQueue(sq_id_address=0x7100, queues=TABLE, tail_offset=8), None),
    "v2": (KnownQueue(sq_id=2, paused=0x7000), SwapBuffer(base=0x9000, shift=6, offset=32, update=0x9800)),
    "v2 bound": (BoundQueue(sq_id_address=0x7100), SwapBuffer(base=0x9000, shift=6, offset=32, update=0x9800)),
}


@pytest.mark.parametrize("form", WAITS)
@given(seen=WORD, value=WORD, test=st.sampled_from(list(WaitFor)), profiling=st.booleans())
def test_memory_wait(form: str, seen: int, value: int, test: WaitFor, profiling: bool) -> None:
    queue, swap = WAITS[form]
    machine = Queues()
    machine.poke(VARIABLE, seen)
    machine.poke(0x7100, 2)
    machine.poke(0x7200, int(profiling))
    machine.set_queue(2, head=10, tail=20, enabled=True)
    wait = MemoryWait(
        address=VARIABLE,
        value=value,
        test=test,
        size=3,
        position=10,
        depth=4096,
        profiling=0x7200,
        queue=queue,
        swap=swap,
    )
    log_word = 0x9000 + (2 << 6) + 32
    machine.poke(log_word, 0x4001, 4)
    run(wait.assemble("v100"), machine)
    paused = machine.peek(0x7000, 1) if isinstance(queue, KnownQueue) else machine.peek(0x7100) >> 32
    if meets(test, seen, value):
        assert machine.log == ([] if swap else [("goto", 2, 14)])
        assert paused == 0
    elif swap is None and profiling:
        assert machine.log == []  # gives way once so that the profiler sees the pause
        assert paused == 1
    else:
        assert machine.log == [("goto", 2, 11)]
        assert paused == int(profiling)
    switched_off = swap is not None and profiling and not meets(test, seen, value)
    assert machine.peek(log_word, 4) == (0x0001 if switched_off else 0x4001)


def test_a_paused_wait_switches_the_log_on_again() -> None:
    queue, swap = WAITS["v2"]
    machine = Queues()
    machine.poke(0x7000, 1, 1)
    wait = MemoryWait(
        address=VARIABLE,
        value=0,
        test=WaitFor.EQUAL,
        size=3,
        position=0,
        depth=8,
        profiling=0x7200,
        queue=queue,
        swap=swap,
    )
    run(wait.assemble("v200"), machine, "v200")
    assert machine.peek(0x7000, 1) == 0
    assert machine.peek(0x9000 + (2 << 6) + 32, 4) == 0x4000
    assert machine.peek(0x9800, 4) == 0x8000_0002


@given(flag=st.integers(0, 255), there=st.booleans())
def test_external_wait(flag: int, there: bool) -> None:
    machine = Queues()
    machine.poke(0x7300, 0x7400 if there else 0)
    machine.poke(0x7400, 0xAB00 | flag, 2)
    machine.poke(0x7100, 5)
    run(ExternalWait(entry=0x7300, sq_id_address=0x7100, position=7, depth=8).assemble("v200"), machine, "v200")
    assert machine.log == ([("goto", 5, 0)] if there and flag == 0 else [])


@given(index=st.integers(0, 6), enabled=st.booleans())
def test_label_switch(index: int, enabled: bool) -> None:
    machine = Queues()
    machine.poke(VARIABLE, index, 4)
    machine.poke(0x7500, 3, 4)
    for label, (sq_id, head) in enumerate([(1, 30), (4, 40), (5, 50)]):
        machine.poke(OTHER + 16 * label, head << 16 | sq_id)
        machine.poke(OTHER + 16 * label + 8, STARTS + 16 * label)
    for sq_id in (4, 5):
        machine.set_queue(sq_id, head=2, tail=2, enabled=enabled)
    switch = LabelSwitch(
        index=VARIABLE,
        count=3,
        labels=OTHER,
        label_count=0x7500,
        queues=TABLE,
        dfx=DFX,
        current_sq=1,
        tail_offset=8,
    )
    run(switch.assemble("v100"), machine)
    chosen = min(index, 2)
    sq_id, head = [(1, 30), (4, 40), (5, 50)][chosen]
    if sq_id == 1:
        assert machine.log == [("goto", 1, head)]
    else:
        assert machine.log == [("goto", sq_id, head), ("activate", sq_id, 0), ("deactivate", 1, 0)]
        assert machine.peek(STARTS + 16 * chosen, 2) == 1
        assert not machine.enabled(sq_id)


def starts(machine: Queues) -> StartQueues:
    return StartQueues(queues=TABLE, state=SELECTOR, dfx=DFX, sq_mask=0x7FF, tail_offset=machine.tail_offset)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_model_execute_starts_every_head(generation: str) -> None:
    machine = Queues()
    machine.set_queue(2, head=3, tail=3, enabled=True)
    heads, counters = (6, 2, 5), (0x3000, 0x3010, 0x3020)
    block = ModelExecute(address=BLOCK, heads=heads, counters=counters, start=starts(machine))
    code = block.assemble(generation)
    machine.poke(BLOCK, int.from_bytes(code, "little"), len(code))
    size = block.program(generation).size_bytes
    # as the device does it: the words of the SQE call the block
    run(function_call(BLOCK, size), machine, generation)
    assert machine.log == [step for sq_id in heads for step in (("goto", sq_id, 0), ("activate", sq_id, 0))]
    assert [machine.peek(counter, 2) for counter in counters] == [1, 1, 1]
    assert not machine.enabled(2)


def test_model_execute_names_what_is_wrong_with_a_queue() -> None:
    machine = Queues()
    machine.set_queue(6, head=3, tail=4, enabled=True)
    block = ModelExecute(address=BLOCK, heads=(6,), counters=(STARTS,), start=starts(machine))
    machine.poke(BLOCK, int.from_bytes(block.assemble("v100"), "little"), len(block.assemble("v100")))
    result = execute(function_call(BLOCK, 448), machine)
    assert result.fault == "error word at word 109"
    machine.poke(TABLE + 8 * 6, 0)
    assert execute(function_call(BLOCK, 448), machine).fault == "error word at word 104"


def condition(machine: Queues, kind: ConditionKind, models: int) -> CaptureCondition:
    for model in range(models):
        machine.poke(0xA000 + 8 * model, 0xB000 + 16 * model)
        machine.poke(0xA100 + 8 * model, 2 if model == 0 else 1)
        machine.poke(0xA200 + 8 * model, 0xC000 + 16 * model)
    for slot, sq_id in enumerate((2, 3, 4, 0, 5)):
        machine.poke(0xB000 + 8 * slot, sq_id)
        machine.poke(0xC000 + 8 * slot, STARTS)
    machine.poke(0x7100, 7)
    return CaptureCondition(
        kind=kind,
        variable=VARIABLE,
        models=models,
        head_lists=0xA000,
        head_counts=0xA100,
        counter_lists=0xA200,
        sq_id_address=0x7100,
        next_head=12,
        start=starts(machine),
    )


SKIP = [("goto", 7, 12)]


@pytest.mark.parametrize(
    ("kind", "models", "value", "started"),
    [
        (ConditionKind.IF, 1, 5, (2, 3)),
        (ConditionKind.IF, 1, 0, ()),
        (ConditionKind.IF, 2, 0, (4,)),
        (ConditionKind.WHILE, 1, 1, (2, 3)),
        (ConditionKind.WHILE, 1, 0, ()),
        (ConditionKind.SWITCH, 3, 2, (5,)),
        (ConditionKind.SWITCH, 3, 3, ()),
    ],
)
@pytest.mark.parametrize("generation", ["v100", "v201"])
def test_capture_condition(
    kind: ConditionKind, models: int, value: int, started: tuple[int, ...], generation: str
) -> None:
    machine = Queues()
    node = condition(machine, kind, models)
    machine.poke(VARIABLE, value)
    run(node.assemble(generation), machine, generation)
    wanted = [step for sq_id in started for step in (("goto", sq_id, 0), ("activate", sq_id, 0))]
    assert machine.log == (wanted or SKIP)


@pytest.mark.parametrize(
    ("kind", "models"), [(ConditionKind.IF, 3), (ConditionKind.WHILE, 2), (ConditionKind.SWITCH, 0)]
)
def test_capture_condition_counts_its_models(kind: ConditionKind, models: int) -> None:
    node = replace(condition(Queues(), kind, 1), models=models)
    with pytest.raises(ValueError, match=f"models = {models}: a {kind.name} node takes"):
        node.assemble("v100")


@pytest.mark.parametrize("value", [0, 1])
def test_while_jumps_back(value: int) -> None:
    machine = Queues()
    machine.poke(VARIABLE, value)
    machine.poke(0x7100, 7)
    run(WhileJumpBack(variable=VARIABLE, head=10, sq_id_address=0x7100).assemble("v100"), machine)
    assert machine.log == ([("goto", 7, 10)] if value else [])


@given(values=st.lists(st.tuples(WORD, st.integers(0, 0xFFFF)), max_size=4))
def test_producer_indices_grow_in_place(values: list[tuple[int, int]]) -> None:
    machine = Queues()
    for index, (value, step) in enumerate(values):
        machine.poke(0xA000 + 8 * index, 0xB000 + 32 * index)
        machine.poke(0xB000 + 32 * index, value)
        machine.poke(0xB010 + 32 * index, step << 32)
    run(ProducerIndexModify(table=0xA000, count=len(values), dfx=DFX).assemble("v100"), machine)
    for index, (value, step) in enumerate(values):
        grown = ((value >> 32 & 0xFFFF) + step) & 0xFFFF
        assert machine.peek(0xB000 + 32 * index) == value & ~(0xFFFF << 32) | grown << 32
        assert machine.peek(DFX + 8 * index) == value


def test_rdma_pair_writes_the_doorbell() -> None:
    machine = Queues()
    machine.poke(STARTS, 3, 2)
    code = rdma_count(STARTS, 6, 5) + rdma_doorbell(0xD000, 0x1_0000_0002)
    run(code, machine)
    assert machine.peek(0xD000) == 0x1_0000_0002 | (3 << 6 | 5) << 32


def test_bodies() -> None:
    machine = Queues()
    machine.poke(VARIABLE, OTHER)
    machine.poke(OTHER, (1 << 512) - 1, 64)
    run(float_status(VARIABLE), machine)
    assert machine.peek(OTHER, 64) == 0
    machine.poke(OTHER, 77)
    run(schedule_end(4, OTHER), machine, "v201")
    assert machine.peek(OTHER) == 0
    assert machine.log == [("goto", 4, 0)]
    with pytest.raises(ValueError, match="multiple of 256"):
        function_call(0x180, 64)
    with pytest.raises(ValueError, match=r"size_bytes = 0: a block has 1\.\."):
        function_call(0x100, 0)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("error", "error word at word 0"),
        (".word 0xffffffff", "0xffffffff is no instruction at word 0"),
        ("setpc r1, a\nbeq r0, r0, 2\na: nop", "branch to word 2, where no instruction starts"),
        ("a: beq r0, r0, a", "no end after 50 instructions"),
    ],
)
def test_runs_end_with_a_reason(text: str, fault: str) -> None:
    result = execute(assemble(text), Queues(), max_steps=50)
    assert result.fault is not None
    assert fault in result.fault


def test_loop_gives_up() -> None:
    result = execute(assemble("addi r1, r0, 1\na: addi r2, r2, 1\nloop r1, a, 10"), Queues(), max_loops=20)
    assert result.fault is None
    assert result.registers[2] == 21


def test_a_machine_without_a_queue_manager_says_so() -> None:
    result = execute(assemble("gqm r1, r2, r3", "v201"), Queues(), "v201")
    assert result.fault == "gqm at word 0: this machine has no queue manager"


def test_barriers_change_nothing() -> None:
    result = execute(assemble("bia r1, axi_user, r2"), Queues())
    assert result.fault is None
    assert result.registers == [0] * 16


_STRAIGHT = """
        li     r1, 0x123456789ABCDEF0
        li     r2, 0x7000
        sd     r1, r2, 8
        li     r3, 0
        csrrw  r0, jump_pc, r3
        li     r5, 0x10
        addi   r6, r5, 3
        csrrw  r7, jump_pc, r6
        sw     r7, r2, 16
        slli   r1, r6, 4
"""


def test_a_program_that_ends_early_has_done_what_comes_before() -> None:
    """Instructions that follow each other are done in one go, but not those behind the last that may be done."""
    code = assemble(_STRAIGHT)
    words = [word for word, _ in decode(code)]
    for most in range(len(words)):
        machine, before = Queues(), Queues()
        ended = execute(code, machine, max_steps=most)
        assert ended.fault == f"no end after {most} instructions (at word {words[most]})"
        assert ended.steps == most + 1
        expected = execute(code[: 4 * words[most]], before)
        assert (ended.registers, ended.csr, machine.memory) == (expected.registers, expected.csr, before.memory)
    assert execute(code, Queues(), max_steps=len(words)).fault is None


def test_a_branch_may_lead_into_the_middle_of_a_constant() -> None:
    """Two instructions set a register: whoever comes to the second one sets its lower part alone."""
    text = """
            lhwi  r1, 3
            beq   r0, r0, low
            lhwi  r1, 5
    low:    llwi  r1, 7
    """
    assert execute(assemble(text), Queues()).registers[1] == 3 << 49 | 7
