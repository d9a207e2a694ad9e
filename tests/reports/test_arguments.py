"""Number and types of arguments, checked in slots on every way in: launches, batches, graphs, changes, the C API."""

from __future__ import annotations

import contextlib
import ctypes
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime import errors
from runtime.api import Device, Kernel, Stream
from runtime.cli.sample import minimal_kernel
from runtime.errors.misuse import MisuseWarning
from runtime.launch.block import HostBlock
from tests.reports.calls import Caller
from tests.unit.runtime.machines import OpenMachine

URLS = ["fake://ascend910b3", "fake-abi://ascend950", *(
    pytest.param(url, marks=pytest.mark.soak) for url in ("fake://ascend950", "fake-abi://ascend910b3")
)]  # fmt: skip


class Bench:
    """A kernel of three arguments that notes what it is given."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.stream: Stream = device.create_stream()
        self.seen: list[tuple[int, ...]] = []
        self.kernel = self.load("three", 3)

    def load(self, name: str, count: int) -> Kernel:
        kernel = self.device.load(minimal_kernel(name, count), name=name).only
        run = lambda context: self.seen.append(tuple(context.args[index] for index in range(count)))  # noqa: E731
        self.device.hal.fake.attach(kernel.code, run, name=name, grid=True)
        return kernel

    def finish(self) -> list[tuple[int, ...]]:
        """Return what the launches since the last time were given."""
        self.stream.synchronize(30_000)
        seen, self.seen = self.seen, []
        return seen


@pytest.fixture(params=URLS)
def bench(request: pytest.FixtureRequest, open_machine: OpenMachine) -> Bench:
    """A kernel of three arguments on a card."""
    return Bench(open_machine(request.param).device(0))


def by_subscript(bench: Bench, *arguments: Any) -> None:
    bench.kernel[2](*arguments, stream=bench.stream)


def by_launch(bench: Bench, *arguments: Any) -> None:
    bench.stream.launch(bench.kernel, 2, *arguments)


def by_batch(bench: Bench, *arguments: Any) -> None:
    with bench.stream.batch() as batch:
        batch.launch(bench.kernel, 2, *arguments)


def by_rows(bench: Bench, *arguments: Any) -> None:
    bench.stream.launch_many(bench.kernel, 2, [arguments])


def by_graph(bench: Bench, *arguments: Any) -> None:
    with bench.stream.capture() as graph:
        bench.kernel[2](*arguments, stream=bench.stream)
    graph.execute(bench.stream)
    bench.stream.synchronize(30_000)
    graph.close()


def by_update(bench: Bench, *arguments: Any) -> None:
    with bench.stream.capture() as graph:
        bench.kernel[2](90, 91, 92, stream=bench.stream)
    try:
        graph.update(graph.kernels[0], arguments)
        graph.execute(bench.stream)
        bench.stream.synchronize(30_000)
    finally:
        graph.close()


def by_replacement(bench: Bench, *arguments: Any) -> None:
    other = bench.load("other", 3)
    one = bench.load("one", 1)
    with bench.stream.capture() as graph:
        one[2](90, stream=bench.stream)
    try:
        graph.update(graph.kernels[0], arguments, kernel=other)
        graph.execute(bench.stream)
        bench.stream.synchronize(30_000)
    finally:
        graph.close()


WAYS = [by_subscript, by_launch, by_batch, by_rows, by_graph, by_update, by_replacement]

FITTING = [(1, 2, 3), (np.int64(1), 2, np.uint8(3)), (struct.pack("<2Q", 1, 2), 3), (struct.pack("<3Q", 1, 2, 3),)]
WRONG = [(), (1, 2), (1, 2, 3, 4), (bytes(16), 7, 8), (bytes(8), 7), (bytes(32),), (1, bytes(16), 3)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("way", WAYS)
def test_what_counts_is_what_reaches_the_kernel(bench: Bench, way: Callable[..., None]) -> None:
    for _ in range(2):
        for arguments in FITTING:
            way(bench, *arguments)
            assert bench.finish() == [(1, 2, 3)]
        for arguments in WRONG:
            with pytest.raises(errors.InvalidArgument, match=r"takes 3 arguments, \d+ (slots of 8 bytes )?were given",
                               ) as caught:
                way(bench, *arguments)
            assert (caught.value.code, caught.value.message_id) == (107000, "EE1003")
            assert bench.finish() == []
        for arguments in ((1, 2, 3.5), (1, 2, "3"), (None, 2, 3), (np.zeros(4), 2, 3)):
            with pytest.raises(errors.InvalidArgument, match="kernel argument"):
                way(bench, *arguments)
            assert bench.finish() == []


def test_the_message_names_the_value_that_takes_several_slots(bench: Bench) -> None:
    with pytest.raises(errors.InvalidArgument, match="takes 3 arguments, 4 slots of 8 bytes were given, several of "
                       "them by 16 bytes"):
        by_subscript(bench, bytes(16), 7, 8)


def test_a_structure_may_be_the_last_argument(bench: Bench) -> None:
    """As many values as the kernel takes, the last one wider: nothing is shifted."""
    for way in (by_subscript, by_launch, by_batch, by_graph):
        way(bench, 1, 2, struct.pack("<2Q", 3, 4))
        assert bench.finish() == [(1, 2, 3)]


def test_a_block_that_is_too_short_is_warned_of(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Blocks of the caller's, as the C API launches them: the vendor's runtime takes any."""
    for size, lines in ((24, 0), (32, 0), (16, 1)):
        caplog.clear()
        block = HostBlock(struct.pack("<3Q", 1, 2, 3).ljust(size, b"\0")[:size])
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            bench.kernel.launch_block(bench.stream, 2, block)
        assert bench.finish()[0][:2] == (1, 2)
        assert sum("takes 3 arguments, 24 bytes of them" in line for line in caplog.messages) == lines
        assert [each.filename for each in seen if each.category is MisuseWarning] == [__file__] * lines


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_every_way_into_c_takes_a_short_block_and_warns_at_the_callers_line(soc: str) -> None:
    """As the vendor's runtime does: 0, and what lies behind the block is in the place of the others."""
    acl, image, seen = Caller(f"fake://{soc}"), minimal_kernel("three", 3), list[tuple[int, ...]]()
    with contextlib.closing(acl.acl):
        assert acl.aclrtSetDevice(deviceId=0) == 0
        code = acl.acl.runtime.device(0).load(image).only.code  # type: ignore[attr-defined]
        acl.fake.attach(code, lambda context: seen.append((context.args[0], context.args[1])), name="three", grid=True)
        binary = acl.make("aclrtBinaryLoadFromData", "binHandle", data=image, length=len(image), options=0)
        function = acl.make("aclrtBinaryGetFunction", "funcHandle", binHandle=binary, kernelName="three")
        stream, memory = acl.make("aclrtCreateStream", "stream"), acl.make("aclrtMalloc", "devPtr", size=64, policy=0)
        words, short = struct.pack("<3Q", 1, 2, 3), 16
        assert acl.aclrtMemcpy(dst=memory, destMax=64, src=words, count=24, kind=1) == 0
        launch = {"funcHandle": function, "numBlocks": 1, "stream": stream}
        there = {"argsData": memory, "argsSize": short}
        for name, given in (
            ("aclrtLaunchKernelWithHostArgs",
             {"cfg": 0, "hostArgs": words, "argsSize": short, "placeHolderArray": 0, "placeHolderNum": 0}),
            ("aclrtLaunchKernel", there), ("aclrtLaunchKernelV2", {**there, "argsSize": 8, "cfg": 0}),
        ):
            with pytest.warns(MisuseWarning, match="three takes 3 arguments, 24 bytes of them") as told:
                assert getattr(acl, name)(**launch, **given) == 0, acl.text
            (only,) = told
            assert Path(only.filename).parent.parent.name == "tests", "the caller's line, not the package's"
        assert acl.aclrtSynchronizeStream(stream=stream) == 0
        assert seen == [(1, 2)] * 3


def test_buffers_of_ctypes_and_memoryviews_count_by_their_bytes(bench: Bench) -> None:
    raw = (ctypes.c_uint64 * 3)(1, 2, 3)
    by_subscript(bench, memoryview(raw).cast("B"))
    assert bench.finish() == [(1, 2, 3)]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_counts_that_no_device_holds_are_refused_before_they_are_millions_of_tasks(soc: str) -> None:
    api = Caller(f"fake://{soc}")
    assert api.aclrtSetDevice(deviceId=0) == 0
    one, two = (api.make("aclrtMalloc", "devPtr", size=4096, policy=0) for _ in range(2))
    stream = api.make("aclrtCreateStream", "stream")
    for count in (1 << 44, 1 << 63):
        copy = {"dst": one, "destMax": count, "src": two, "count": count, "kind": 3, "stream": stream}
        assert api.aclrtMemcpyAsync(**copy) == 107000
        assert f"{count} bytes; the device has" in api.text
        fill = {"devPtr": one, "maxCount": count, "value": 0, "count": count, "stream": stream}
        assert api.aclrtMemsetAsync(**fill) == 107000
        assert f"{count} bytes; the device has" in api.text
    assert api.aclrtSynchronizeStream(stream=stream) == 0
    api.acl.runtime.close(force=True)
