"""pyACL: shapes, TypeErrors, aliasing, threads, and scripts run by `npuhal run`."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.capi.pyacl.binding import process
from runtime.core.process import lifetime
from tests.unit.runtime.capi.acl_module import opened

H2D, D2H, D2D = 1, 2, 3
SIZE = 4096


@pytest.fixture(params=["fake://ascend910b3", "fake://ascend950pr_9599", "fake-abi://ascend310b1"])
def acl(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The module on a fresh machine of two devices, initialised and with device 0 set."""
    with opened(f"{request.param}?devices=2") as module:
        assert module.init() == 0
        assert module.rt.set_device(0) == 0
        yield module


def test_absent_calls_warn_and_keep_their_shape(acl: Any) -> None:
    with pytest.warns(RuntimeWarning, match="no aclprofInit"):
        assert acl.prof.init("here") == 200001
    assert acl.prof.get_op_num(0, 2) == (0, 100000)  # what is there answers as the C function does


def test_shapes(acl: Any) -> None:
    assert acl.init() == 100002
    assert acl.rt.get_device_count() == (2, 0)
    assert acl.get_soc_name("ignored") == acl.get_soc_name()
    assert acl.rt.get_run_mode() == (1, 0)
    assert len(acl.get_version()) == 4
    assert len(acl.rt.device_get_stream_priority_range()) == 3
    free, total, ret = acl.rt.get_mem_info(1)
    assert (0 < free <= total, ret) == (True, 0)
    assert acl.rt.get_mem_info(0)[2] == 0
    rates, ret = acl.rt.get_device_utilization_rate(0)
    assert (set(rates), ret) == (
        {"cube_utilization", "vector_utilization", "aicpu_utilization", "memory_utilization", "utilization_extend"}, 0,
    )  # fmt: skip
    uuid, ret = acl.rt.device_get_uuid(0)
    assert (len(uuid["bytes"]), ret) == (16, 0)
    assert acl.rt.synchronize_device(0) == 0


def test_copies_write_into_bytes_in_place(acl: Any) -> None:
    device, ret = acl.rt.malloc(SIZE, 0)
    assert ret == 0
    data = np.arange(SIZE, dtype=np.uint8).tobytes()
    assert acl.rt.memcpy(device, SIZE, acl.util.bytes_to_ptr(data), SIZE, H2D) == 0
    back = bytes(SIZE)
    assert acl.rt.memcpy(acl.util.bytes_to_ptr(back), SIZE, device, SIZE, D2H) == 0
    assert back == data
    host, ret = acl.rt.malloc_host(SIZE)
    stream, ret = acl.rt.create_stream()
    assert acl.rt.memcpy_async(host, SIZE, device, SIZE, D2H, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.util.ptr_to_bytes(host, SIZE) == data
    with pytest.warns(DeprecationWarning, match="will go away"):
        view = acl.util.ptr_to_numpy(host, (SIZE,), 2)
    assert bytes(view) == data
    for call, handle in (("destroy_stream", stream), ("free_host", host), ("free", device)):
        assert getattr(acl.rt, call)(handle) == 0


def test_memory_of_a_module_and_by_description(acl: Any) -> None:
    pointer, ret = acl.rt.malloc_with_cfg(SIZE, 0, {"attrs": [{"attr": 1, "value": {"moduleId": 3}}], "numAttrs": 1})
    assert ret == 0
    place, ret = acl.rt.pointer_get_attributes(pointer)
    assert (place["location"], ret) == ({"id": 0, "type": 1}, 0)
    plain, ret = acl.rt.malloc_with_cfg(SIZE, 0, {})
    assert ret == 0
    assert [acl.rt.free(each) for each in (pointer, plain)] == [0, 0]
    prop = {"handleType": 0, "allocationType": 0, "memAttr": 4, "location": {"id": 0, "type": 1}, "reserve": 0}
    granularity, ret = acl.rt.mem_get_allocation_granularity(prop, 0)
    assert (granularity > 0, ret) == (True, 0)
    handle, ret = acl.rt.malloc_physical(granularity, prop, 0)
    assert ret == 0
    assert acl.rt.free_physical(handle) == 0


def test_stream_attributes(acl: Any) -> None:
    stream, _ = acl.rt.create_stream()
    assert acl.rt.set_stream_attribute(stream, 3, {"userCustomTag": 77}) == 0
    assert acl.rt.get_stream_attribute(stream, 3) == ({"userCustomTag": 77}, 0)
    assert acl.rt.get_stream_attribute(stream, 9) == ({"reserved": [0, 0, 0, 0]}, 107000)


def test_callbacks_run_in_the_subscribed_thread(acl: Any) -> None:
    stream, _ = acl.rt.create_stream()
    context, _ = acl.rt.get_context()
    seen: list[Any] = []
    ready, over = threading.Event(), threading.Event()

    def receive(word: str) -> None:
        assert acl.rt.set_context(context) == 0
        ready.set()
        while not over.is_set():
            acl.rt.process_report(10)
        seen.append(word)

    number, ret = acl.util.start_thread(receive, "done")
    assert ret == 0
    assert ready.wait(60)
    assert acl.rt.subscribe_report(number, stream) == 0
    assert acl.rt.launch_callback(lambda data: seen.append((data, threading.get_ident())), ["x"], 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    over.set()
    assert acl.util.stop_thread(number) == 0
    assert seen == [(["x"], number), "done"]
    assert acl.rt.unsubscribe_report(number, stream) == 0


def test_threads_tell_what_went_wrong(acl: Any) -> None:
    number, _ = acl.util.start_thread(lambda: 1 / 0, None)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        acl.util.stop_thread(number)
    with pytest.raises(TypeError, match=r"exactly 2 arguments \(0 given\)"):
        acl.util.start_thread()
    with pytest.raises(TypeError, match="must be callable"):
        acl.util.start_thread(1, 2)


def test_data_buffers_and_media_memory(acl: Any) -> None:
    buffer = acl.create_data_buffer(0x1000, 64)
    assert (acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size(buffer)) == (0x1000, 64)
    assert acl.update_data_buffer(buffer, 0x2000, 8) == 0
    assert (acl.get_data_buffer_addr(buffer), acl.get_data_buffer_size_v2(buffer)) == (0x2000, 8)
    assert [acl.destroy_data_buffer(buffer), acl.destroy_data_buffer(buffer)] == [0, 100000]
    pointer, ret = acl.media.dvpp_malloc(SIZE)
    assert ret == 0
    assert acl.media.dvpp_free(pointer) == 0


def test_addresses_of_what_has_none(acl: Any) -> None:
    with pytest.raises(ValueError, match="bytes are expected"):
        acl.util.bytes_to_ptr(bytearray(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with pytest.raises(ValueError, match="NumPy array"):
            acl.util.numpy_to_ptr([1])
        with pytest.warns(UserWarning, match="contiguous"):
            acl.util.numpy_to_ptr(np.zeros((4, 4))[:, 1])
    with pytest.raises(ValueError, match="no bytes"):
        acl.util.ptr_to_bytes(0, 4)


def test_after_finalize_every_call_answers_a_code(acl: Any) -> None:
    stream, _ = acl.rt.create_stream()
    acl.rt.reset_device_force(0)
    assert acl.finalize() == 0
    assert acl.rt.destroy_stream(stream) != 0
    assert acl.rt.malloc(SIZE, 0)[1] != 0
    assert acl.finalize() == 100037


SCRIPT = """
import sys
import acl
import acl.rt
from acl.rt import memcpy

assert acl.init() == 0
print(acl.get_soc_name(), sys.argv[1:], memcpy is acl.rt.memcpy, __name__)
sys.exit(3)
"""


def test_npuhal_run(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "runtime.cli", "run", "--url", "fake://ascend310b1", str(script), "--flag", "x"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert ended.stdout.split("\n")[0] == "Ascend310B1 ['--flag', 'x'] True __main__"
    assert ended.returncode == 3
    missing = subprocess.run([*command[:-3], "nowhere.py"], capture_output=True, text=True, timeout=250)
    assert missing.returncode == 2
    assert "cannot open 'nowhere.py'" in missing.stderr


def test_described_copies_and_failed_memory(acl: Any) -> None:
    rt = acl.rt
    desc, source, target = (rt.malloc(256, 0)[0] for _ in range(3))
    stream, _ = rt.create_stream()
    assert rt.memset(source, 256, 7, 256) == 0
    assert rt.get_memcpy_desc_size(6)[1] == 0
    assert rt.set_memcpy_desc(desc, 6, source, target, 100, 0) == (desc, 0)
    assert rt.memcpy_async_with_desc(desc, 6, stream) == 0
    assert rt.synchronize_stream(stream) == 0
    memory = process().runtime.hal.fake.memory  # type: ignore[attr-defined]
    assert memory.read(target, 100) == b"\7" * 100
    assert rt.device_get_bare_tgid()[1] == 0
    if "310b" in process().runtime.hal.url:
        assert rt.get_mem_uce_info(0, 4) == ([], 207000)
        return
    assert rt.get_mem_uce_info(0, 4) == ([], 0)
    process().runtime.hal.fake.device(0).failed_memory.append((source, 64))  # type: ignore[attr-defined]
    found, code = rt.get_mem_uce_info(0, 4)
    assert code == 0
    assert [(each["addr"], each["len"]) for each in found] == [(source, 64)]
    assert rt.mem_uce_repair(0, found) == 0
    assert rt.get_mem_uce_info(0, 4) == ([], 0)


@pytest.mark.parametrize("soc", ["ascend910b3", "ascend950"])
def test_a_machine_that_was_shut_down_is_opened_anew(soc: str) -> None:
    with opened(f"fake://{soc}") as acl:
        for _ in range(2):
            assert acl.rt.synchronize_stream(5) in (107002, 107017)
            assert acl.rt.set_device(0) == 0
            stream, code = acl.rt.create_stream()
            assert (code, acl.rt.synchronize_stream(stream)) == (0, 0)
            lifetime.shutdown(force=True)
