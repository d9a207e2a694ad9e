"""Schedules: the order is the policy's, the result is the program's, the seed repeats it byte for byte."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fakes import kernels
from fakes.schedule.scheduler import POLICIES
from npuhal import constants as c
from tests.unit.fakes.rig import Rig, Stream

CODE = b"accumulate-kernel" * 4
ROOT = Path(__file__).resolve().parents[3]
STREAMS = 4
ROUNDS = 5


def accumulate(ctx: kernels.Context) -> None:
    """Mix the value of another buffer into ours: the result depends on the order of the rounds."""
    mine, other = ctx.args.array(0, "uint64", 1), ctx.args.array(1, "uint64", 1)
    mine[:] = mine * np.uint64(6364136223846793005) + other + np.uint64(1)


def program(rig: Rig) -> bytes:
    """Four streams that read each other's buffers, ordered by events; returns the memory at the end."""
    rig.fake.attach(CODE, accumulate, grid=True)
    pc = rig.load(CODE)
    streams = [rig.stream() for _ in range(STREAMS)]
    data = [rig.alloc(8) for _ in streams]
    for index, address in enumerate(data):
        rig.put(address, (index + 1).to_bytes(8, "little"))
    scratch = [rig.alloc(8) for _ in streams]
    for _ in range(ROUNDS):
        done = [rig.take_event() for _ in streams]
        copied = [rig.take_event() for _ in streams]
        for index, stream in enumerate(streams):
            send(stream, rig.copy(stream, scratch[index], data[index - 1], 8), rig.record(stream, copied[index]))
        for index, stream in enumerate(streams):
            send(stream, rig.wait(stream, copied[(index + 1) % STREAMS]))
            send(stream, rig.kernel(stream, pc, rig.arguments(data[index], scratch[index])))
            send(stream, rig.record(stream, done[index]))
        for index, stream in enumerate(streams):
            send(stream, rig.wait(stream, done[index - 1]))
    for stream in streams:
        stream.drain()
    return b"".join(rig.get(address, 8) for address in data)


def send(stream: Stream, *sqes: bytes) -> None:
    while (rc := stream.send(*sqes)) == c.DRV_ERROR_NO_RESOURCES:
        assert stream.head >= 0
    assert rc == 0


def order(rig: Rig) -> tuple[tuple[int, int], ...]:
    first = min(entry.stream for entry in rig.fake.log)
    return tuple((entry.stream - first, entry.position) for entry in rig.fake.log)


@pytest.mark.parametrize("soc", ["Ascend910B3", "Ascend950PR_9599"])
def test_many_schedules_give_one_result(open_rig: Callable[..., Rig], soc: str) -> None:
    results, orders = set(), set()
    for seed in range(200):
        rig = open_rig(soc, policy=tuple(POLICIES)[seed % len(POLICIES)] if seed % 2 else "random", seed=seed)
        results.add(program(rig))
        orders.add(order(rig))
        rig.close()
    assert len(results) == 1
    assert len(orders) >= 50


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_seed_gives_the_same_log(open_rig: Callable[..., Rig], policy: str) -> None:
    logs = set()
    for _ in range(3):
        rig = open_rig(policy=policy, seed=77)
        program(rig)
        logs.add(rig.fake.log_text())
        rig.close()
    assert len(logs) == 1


@pytest.mark.parametrize("plan", [{}, {"plan": ""}, {"plan": "0:4:1,0:6:2,0:9:1,0:15:0,0:21:1"}])
@pytest.mark.parametrize("policy", POLICIES)
def test_how_often_the_host_looks_in_vain_changes_nothing(
    open_rig: Callable[..., Rig], policy: str, plan: dict[str, str]
) -> None:
    """A clock decides how often: in waits that reach their time limit, or that another thread ends."""
    logs, plans = set(), set()
    for looks in (1, 2, 3, 30):
        rig = open_rig(policy=policy, seed=3, devices=2, **plan)
        streams = [rig.stream() for _ in range(5)]
        for _ in range(3):
            waiting, others, events = streams[::2], streams[1::2], [rig.take_event() for _ in range(3)]
            for stream, event in zip(waiting, events, strict=True):
                send(stream, rig.wait(stream, event), rig.nop(stream), rig.nop(stream))
            settle(others[0])
            assert {waiting[0].head for _ in range(looks)} == {waiting[0].head}
            for stream in others:
                send(stream, *[rig.nop(stream)] * 2)
            send(others[0], *[rig.record(others[0], event) for event in events])
            settle(others[0])
        for stream in streams:
            stream.drain()
        logs.add(rig.fake.log_text())
        plans.add(rig.fake.plan)
        rig.close()
    assert len(logs) == len(plans) == 1


def settle(stream: Stream) -> None:
    """Look until nothing can go on, whatever the policy does at a look."""
    for _ in range(60):
        assert stream.head >= 0


def test_the_log_is_the_same_in_every_process() -> None:
    code = (
        "from tests.unit.fakes.rig import Rig; from tests.unit.fakes.test_schedules import program; "
        "rig = Rig('fake://ascend910b3?policy=random&seed=5'); program(rig); print(rig.fake.log_text())"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": str(ROOT)},
        ).stdout
        for hashes in ("1", "2")
    ]  # fmt: skip
    assert runs[0].count(b"kernel") == STREAMS * ROUNDS
    assert runs[0] == runs[1]


def test_policies_differ_in_how_far_the_device_gets(open_rig: Callable[..., Rig]) -> None:
    done = {}
    for policy in ("device_ahead", "round_robin", "host_ahead"):
        rig = open_rig(policy=policy)
        stream = rig.stream()
        stream.send(*[rig.nop(stream)] * 20)
        stream.send(rig.nop(stream))
        done[policy] = (rig.fake.device().executed, stream.head)
    assert done == {"device_ahead": (20, 21), "round_robin": (0, 16), "host_ahead": (0, 1)}


def test_a_starved_queue_runs_last(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(policy="starved", seed=2)
    streams = [rig.stream() for _ in range(3)]
    for stream in streams:
        stream.send(*[rig.nop(stream)] * 10)
    rig.fake.device().run_until_idle()
    assert len({entry.stream for entry in list(rig.fake.log)[-10:]}) == 1


def test_hold_step_and_release(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(policy="device_ahead")
    device = rig.fake.device()
    one, two = rig.stream(), rig.stream()
    device.hold()
    one.send(*[rig.nop(one)] * 5)
    two.send(*[rig.nop(two)] * 5)
    assert (one.head, two.head) == (0, 0)
    assert device.step(3) == 3
    assert one.head + two.head == 3
    device.hold(one.stream_id)
    device.release()
    two.drain()
    before = one.head
    assert device.run_until_idle() == 0
    device.release(one.stream_id)
    assert device.run_until_idle() == 5 - before
    assert device.idle


def test_free_running_cards_work_without_host_calls(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(free_run=1)
    stream = rig.stream()
    finished = threading.Event()
    rig.fake.attach(CODE, lambda ctx: finished.set())
    stream.send(rig.kernel(stream, rig.load(CODE), rig.arguments(0)))
    assert finished.wait(20)


def test_costs_of_random_programs_never_go_back_in_time(open_rig: Callable[..., Rig]) -> None:
    rng = random.Random(3)
    rig = open_rig(policy="random", seed=9)
    a, b = rig.alloc(1 << 16), rig.alloc(1 << 16)
    streams = [rig.stream() for _ in range(3)]
    for _ in range(60):
        stream = rng.choice(streams)
        send(stream, rig.copy(stream, a, b, rng.randrange(1, 1 << 16)) if rng.random() < 0.5 else rig.nop(stream))
    for stream in streams:
        stream.drain()
    for stream in streams:
        entries = [entry for entry in rig.fake.log if entry.stream == stream.stream_id]
        assert all(x.end <= y.start for x, y in itertools.pairwise(entries))
