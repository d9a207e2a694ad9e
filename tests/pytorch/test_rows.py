"""What torch programs use beside operators: devices, streams, events, copies, the allocator, graphs, threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.pytorch.conftest import _MISSING

if not _MISSING:
    from tests.pytorch import workers


def test_devices_are_those_of_the_machine(torch: Any, npu: Any) -> None:
    assert torch.npu.is_available()
    assert npu.device_count() == 2
    assert npu.get_device_name(0).startswith("Ascend")
    assert npu.get_device_properties(0).total_memory > 1 << 30
    with npu.device(1):
        assert npu.current_device() == 1
    assert npu.current_device() == 0


def test_streams_and_events_order_copies(torch: Any, npu: Any) -> None:
    for _ in range(2):
        stream, start, end = npu.Stream(), npu.Event(enable_timing=True), npu.Event(enable_timing=True)
        data = torch.arange(1000.0).pin_memory()
        with npu.stream(stream):
            start.record()
            there = data.to("npu", non_blocking=True)
            end.record()
        npu.current_stream().wait_stream(stream)
        doubled = there * 2
        assert doubled.sum().item() == 999000
        end.synchronize()
        assert end.query()
        assert start.elapsed_time(end) >= 0
        stream.synchronize()
        assert stream.query()
    outer = npu.ExternalEvent()
    outer.record()
    outer.wait()
    npu.synchronize()


def test_an_event_is_over_when_a_stream_that_waited_for_it_is(torch: Any, npu: Any) -> None:
    stream, event = npu.Stream(), npu.Event()
    with npu.stream(stream):
        made = torch.ones(10, device="npu") * 2
        event.record()
    npu.current_stream().wait_event(event)
    more = made + 1
    npu.current_stream().synchronize()
    assert event.query()
    assert more.sum().item() == 30


def test_host_functions_are_called(torch: Any, npu: Any) -> None:
    called, stream = [], npu.current_stream()
    npu._subscribe_report(stream)
    npu._launch_host_func(stream, called.append, 7)
    npu.synchronize()
    npu._unsubscribe_report(stream)
    assert called == [7]


def test_copies_and_casts_keep_what_views_show(torch: Any, npu: Any) -> None:
    whole = torch.arange(24.0).reshape(4, 6)
    there = whole.npu()
    views: list[Callable[[Any], Any]] = [
        lambda x: x, lambda x: x.t(), lambda x: x[:, 1:3], lambda x: x[1::2, ::3], lambda x: x.t().contiguous(),
        lambda x: x.half().float(), lambda x: x.to(torch.int32), lambda x: x.bfloat16().float(), lambda x: x.flip(0),
    ]  # fmt: skip
    for view in views:
        assert torch.equal(view(there).cpu(), view(whole))
    target = torch.zeros(6, 4, device="npu")
    target.t().copy_(there)
    assert torch.equal(target.cpu(), whole.t())
    pinned = torch.empty(4, 6).pin_memory()
    pinned.copy_(there, non_blocking=True)
    npu.synchronize()
    assert torch.equal(pinned, whole)


def test_the_allocator_counts_and_runs_out(torch: Any, npu: Any) -> None:
    before = npu.memory_allocated()
    block = torch.empty(1 << 20, device="npu")
    assert npu.memory_allocated() - before >= 4 << 20
    assert npu.memory_snapshot()
    del block
    npu.empty_cache()
    assert npu.memory_allocated() == before
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 40, dtype=torch.uint8, device="npu")
    npu.set_per_process_memory_fraction(0.01)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(4 << 30, dtype=torch.uint8, device="npu")
    finally:
        npu.set_per_process_memory_fraction(1.0)


def test_graphs_replay_operators_of_two_streams(torch: Any, npu: Any) -> None:
    graph, other = npu.NPUGraph(), npu.Stream()
    inputs, result = torch.ones(8, device="npu"), torch.zeros(8, device="npu")
    npu.synchronize()
    with npu.graph(graph):
        doubled = inputs * 2
        other.wait_stream(npu.current_stream())
        with npu.stream(other):
            tripled = inputs * 3
        npu.current_stream().wait_stream(other)
        result.copy_(doubled + tripled)
    for value in (1.0, 5.0):
        inputs.fill_(value)
        graph.replay()
        npu.synchronize()
        assert result.cpu().tolist() == [5 * value] * 8


def test_threads_have_streams_of_their_own(torch: Any, npu: Any) -> None:
    found: dict[int, float] = {}

    def work(number: int) -> None:
        npu.set_device(0)
        with npu.stream(npu.Stream()):
            x = torch.full((100,), float(number), device="npu")
            for _ in range(10):
                x = x + 1
            found[number] = x.cpu()[0].item()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {number: number + 10.0 for number in range(6)}


def test_two_cards_exchange_tensors_and_events(torch: Any, npu: Any) -> None:
    first = torch.ones(5, device="npu:0")
    second = first.to("npu:1")
    with npu.device(1):
        third = second + 1
        npu.synchronize()
    assert third.to("npu:0").sum().item() == 10
    event = npu.Event()
    event.record()
    with npu.device(1):
        event.wait()
        npu.synchronize()


def test_processes_have_a_card_each(torch: Any, npu: Any) -> None:
    assert [workers.run(workers.other_card, index) for index in (0, 1)] == [6.0, 10.0]


def test_processes_share_a_tensor(torch: Any, npu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUHAL_URL", f"fake://ascend910b3?shared=torch-{os.getpid()}")
    assert workers.run(workers.changed_by_another_process) == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_segments_of_the_allocator_grow(torch: Any, npu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True")
    total, crossing, kinds, reserved = workers.run(workers.expandable_segments)
    assert total == 10 << 18
    assert crossing
    assert kinds
    assert all(kinds)
    assert reserved == 0


@pytest.mark.filterwarnings("ignore:Cannot create tensor with internal format")
def test_operators_of_the_older_convention(torch: Any, npu: Any) -> None:
    npu.set_compile_mode(jit_compile=True)
    try:
        x, y = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
        there, other = x.npu(), y.npu()
        for _ in range(2):
            assert torch.equal((there + there).relu().cpu(), x * 2)
            assert torch.equal((there @ other).cpu(), x @ y)
            assert torch.equal(torch.cat([there, there]).sum(0).cpu(), x.sum(0) * 2)
            with pytest.raises(RuntimeError, match="Cumprod"):
                torch.cumprod(there, 0)
    finally:
        npu.set_compile_mode(jit_compile=False)


def test_loaders_with_a_pinning_thread(torch: Any, npu: Any) -> None:
    from torch.utils.data import DataLoader, TensorDataset

    rows = TensorDataset(torch.arange(64.0).reshape(16, 4))
    total = sum(x.npu(non_blocking=True).sum().item() for (x,) in DataLoader(rows, batch_size=4, pin_memory=True))
    assert total == sum(range(64))


def test_devices_stop_and_start_again(torch: Any, npu: Any) -> None:
    npu.stop_device(0)
    npu.restart_device(0)
    assert torch.ones(3).npu().sum().item() == 3


@pytest.mark.parametrize("url", ["fake://ascend910b3", "fake://ascend950"])
def test_a_device_goes_on_after_an_exception_when_it_is_restarted(
    torch: Any, npu: Any, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUHAL_URL", url)
    assert workers.run(workers.restarted) == [9.0, 9.0]


def test_programs_may_make_the_card_the_default_device(torch: Any, npu: Any) -> None:
    torch.set_default_device("npu")
    try:
        model = torch.nn.Linear(4, 2)
        loss = torch.nn.functional.dropout(model(torch.ones(3, 4)), 0.5).square().sum()
        loss.backward()
        assert model.weight.grad.device == loss.device == torch.device("npu:0")
        assert torch.randperm(5).sort()[0].tolist() == list(range(5))
    finally:
        torch.set_default_device(None)


def test_random_numbers_repeat_from_a_seed(torch: Any, npu: Any) -> None:
    def drawn() -> list[Any]:
        torch.manual_seed(3)
        made = [torch.rand(50, device="npu"), torch.randn(50, device="npu"), torch.randperm(9, device="npu"),
                torch.nn.functional.dropout(torch.ones(500, device="npu"), 0.25)]  # fmt: skip
        return [each.cpu() for each in made]

    one, two = drawn(), drawn()
    assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    uniform, _, order, kept = one
    assert 0 <= uniform.min() < uniform.max() < 1
    assert sorted(order.tolist()) == list(range(9))
    assert 0.6 < (kept > 0).float().mean() < 0.9
    assert kept.max() == pytest.approx(4 / 3)


def test_an_operator_that_is_not_there_fails_at_its_call_by_name(torch: Any, npu: Any) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="aclnnBatchNormStats"):
            torch.batch_norm_stats(torch.ones(2, 3, 4, device="npu"), 1e-5)
    assert torch.ones(3, device="npu").sum().item() == 3


@pytest.mark.parametrize("card", [0, 1])
def test_tensors_of_every_type_are_printed(torch: Any, npu: Any, card: int) -> None:
    kinds = ("float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64", "uint8", "bool",
             "complex64")  # fmt: skip
    for kind in kinds:
        x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, kind))
        there = x.to(f"npu:{card}")
        assert there.tolist() == x.tolist()
        told, wanted = repr(there), repr(x)
        assert f"device='npu:{card}'" in told
        assert told.partition(", device")[0].partition(", dtype")[0] == wanted.rstrip(")").partition(", dtype")[0]
    odd = torch.tensor([float("nan"), float("inf"), 1e9])
    assert str(odd.npu()).startswith(str(odd).rstrip(")"))
    assert f"{torch.tensor(2.5, device='npu')}" == "2.5"


def test_results_whose_size_the_data_decide(torch: Any, npu: Any) -> None:
    torch.manual_seed(0)
    numbers, mask = torch.randint(0, 4, (5, 6)), torch.rand(5, 6) > 0.5
    calls: list[Callable[[Any, Any], Any]] = [
        lambda x, m: x.masked_select(m), lambda x, m: x[m], lambda x, m: x[m[:, 0]], lambda x, m: x[:, m[0]],
        lambda x, m: x.nonzero(), lambda x, m: torch.nonzero(x, as_tuple=True), lambda x, m: torch.where(m),
        lambda x, m: torch.nonzero(x[0, 0]), lambda x, m: torch.nonzero(torch.zeros_like(x)),
        lambda x, m: x.unique(), lambda x, m: x.unique(return_inverse=True, return_counts=True),
        lambda x, m: x.unique(return_counts=True), lambda x, m: m.unique(),
        lambda x, m: x.unique(dim=1, return_inverse=True, return_counts=True),
        lambda x, m: x.flatten().unique_consecutive(return_inverse=True, return_counts=True),
        lambda x, m: x.flatten().unique_consecutive(), lambda x, m: x.unique_consecutive(dim=0, return_counts=True),
        lambda x, m: x.masked_fill(m, 7)[m], lambda x, m: x.index_put((m,), torch.tensor(9, device=x.device)),
    ]  # fmt: skip
    there = numbers.npu(), mask.npu()
    for call in calls:
        wanted = call(numbers, mask)
        for _ in range(2):
            made = call(*there)
            pairs = zip(made, wanted, strict=True) if isinstance(wanted, tuple) else [(made, wanted)]
            assert all(torch.equal(one.cpu(), other) for one, other in pairs)


def test_a_result_of_unknown_size_is_refused_in_a_graph_and_nothing_is_captured(torch: Any, npu: Any) -> None:
    x, graph = torch.tensor([0.0, 3.0], device="npu"), npu.NPUGraph()
    npu.synchronize()
    with pytest.raises(RuntimeError, match="107027"), npu.graph(graph):
        x.nonzero()
    assert x.nonzero().tolist() == [[1]]
