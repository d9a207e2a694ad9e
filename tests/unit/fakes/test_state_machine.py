"""Random programs of allocations, copies, kernels, events and frees against a model that runs them in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from fakes import kernels
from fakes.schedule.scheduler import POLICIES
from npuhal import constants as c
from runtime.testing.script import ATTRIBUTE, Script
from tests.tools.examples import examples
from tests.tools.examples_as_scripts import Steps, checked, noted
from tests.unit.fakes.rig import Rig, Stream

CODE = b"xor and rotate" * 4
SIZE = 64
STREAMS = 3


def mix(ctx: kernels.Context) -> None:
    """Change x by y in a way that does not commute."""
    x, y = ctx.args.array(0, "uint8", SIZE), ctx.args.array(1, "uint8", SIZE)
    x[:] = np.roll(x, 1) ^ (y + np.uint8(int(ctx.args[2])))


def mixed(x: bytes, y: bytes, key: int) -> bytes:
    left, right = (np.frombuffer(data, "uint8") for data in (x, y))
    return (np.roll(left, 1) ^ (right + np.uint8(key))).tobytes()


@dataclass(eq=False)
class Buffer:
    """A device buffer, what the model says it holds, and the last stream that used it."""

    address: int
    content: bytes
    user: int | None = None


class Program(RuleBasedStateMachine):
    """Streams share buffers; an event orders a buffer's next user behind its last one."""

    buffers = Bundle("buffers")

    def __init__(self) -> None:
        super().__init__()
        self.steps = Steps(Program)
        self.live: list[Buffer] = []
        self.rig: Rig | None = None

    @initialize(
        seed=st.integers(0, 1000), policy=st.sampled_from(sorted(POLICIES)),
        soc=st.sampled_from(["Ascend910B3", "Ascend950PR_9599"]), scheme=st.sampled_from(["fake", "fake-abi"]),
    )  # fmt: skip
    @noted
    def open(self, seed: int, policy: str, soc: str, scheme: str) -> None:
        self.rig = Rig(f"{scheme}://{soc}?seed={seed}&policy={policy}")
        self.rig.fake.attach(CODE, mix, grid=True)
        self.pc = self.rig.load(CODE)
        self.streams = [self.rig.stream(depth=16) for _ in range(STREAMS)]

    def send(self, stream: Stream, sqe: bytes) -> None:
        while (rc := stream.send(sqe)) == c.DRV_ERROR_NO_RESOURCES:
            for other in self.streams:
                assert other.head >= 0
        assert rc == 0

    def use(self, index: int, *buffers: Buffer) -> Stream:
        """Order the stream behind whoever used the buffers last."""
        assert self.rig is not None
        stream = self.streams[index]
        for user in {buffer.user for buffer in buffers} - {None, index}:
            assert user is not None
            event = self.rig.take_event()
            self.send(self.streams[user], self.rig.record(self.streams[user], event))
            self.send(stream, self.rig.wait(stream, event))
        for buffer in buffers:
            buffer.user = index
        return stream

    @rule(target=buffers, content=st.binary(min_size=SIZE, max_size=SIZE))
    @noted
    def allocate(self, content: bytes) -> Buffer:
        assert self.rig is not None
        buffer = Buffer(self.rig.alloc(SIZE), content)
        self.rig.put(buffer.address, content)
        self.live.append(buffer)
        return buffer

    @rule(dst=buffers, src=buffers, index=st.integers(0, STREAMS - 1))
    @noted
    def copy(self, dst: Buffer, src: Buffer, index: int) -> None:
        assert self.rig is not None
        stream = self.use(index, dst, src)
        self.send(stream, self.rig.copy(stream, dst.address, src.address, SIZE))
        dst.content = src.content

    @rule(x=buffers, y=buffers, index=st.integers(0, STREAMS - 1), key=st.integers(0, 255))
    @noted
    def launch(self, x: Buffer, y: Buffer, index: int, key: int) -> None:
        assert self.rig is not None
        stream = self.use(index, x, y)
        self.send(stream, self.rig.kernel(stream, self.pc, self.rig.arguments(x.address, y.address, key), 4))
        x.content = mixed(x.content, y.content, key)

    @rule(index=st.integers(0, STREAMS - 1))
    @noted
    def poll(self, index: int) -> None:
        assert 0 <= self.streams[index].head < 16

    def finish(self) -> None:
        assert self.rig is not None
        self.rig.fake.run_until_idle()
        for stream in self.streams:
            stream.drain()

    @rule(buffer=buffers)
    @noted
    def read(self, buffer: Buffer) -> None:
        assert self.rig is not None
        self.finish()
        assert self.rig.get(buffer.address, SIZE) == buffer.content

    @precondition(lambda self: self.live)
    @rule(buffer=consumes(buffers))
    @noted
    def free(self, buffer: Buffer) -> None:
        assert self.rig is not None
        self.finish()
        assert self.rig.hal.halMemFree(buffer.address) == 0
        assert self.rig.fake.memory.find(buffer.address) is None
        self.live.remove(buffer)

    @invariant()
    @checked
    def nothing_went_wrong(self) -> None:
        assert self.rig is None or not self.rig.fake.problems

    @noted
    def teardown(self) -> None:
        if self.rig is not None:
            self.finish()
            for buffer in self.live:
                assert self.rig.get(buffer.address, SIZE) == buffer.content
            self.rig.close()


TestProgram = Program.TestCase
TestProgram.settings = settings(max_examples=examples(25), stateful_step_count=40)


def test_what_has_failed_is_a_script() -> None:
    state = Program()
    state.open(seed=1, policy="random", soc="Ascend950PR_9599", scheme="fake")
    first, second = (state.allocate(content=bytes([number]) * SIZE) for number in (1, 2))
    state.launch(x=first, y=second, index=0, key=3)
    state.copy(dst=second, src=first, index=2)
    state.read(buffer=second)
    first.content = b""  # a model that is wrong
    with pytest.raises(AssertionError) as failed:
        state.teardown()
    assert state.rig is not None
    state.rig.close()
    text = getattr(failed.value, ATTRIBUTE)
    assert text.splitlines()[-3:] == [
        "copy2 = state.copy(dst=allocate1, src=allocate0, index=2)", "read2 = state.read(buffer=allocate1)",
        "teardown2 = state.teardown()",
    ]  # fmt: skip
    Script(None).run(text)  # where the model is right
