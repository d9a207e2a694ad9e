"""One card, several processes: common limits, memory and signals, and what is left when one of them ends.

Two machines of one process under one name stand for two processes wherever the process itself does not matter.
"""

from __future__ import annotations

import ctypes
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import npuhal
from fakes.errors import FakeError, NotShareable
from fakes.shared.folder import Folder, folder
from fakes.shared.table import PER_CARD, Table
from npuhal import constants as c
from npuhal import structs as s
from npuhal.errors import BadUrl
from tests.tools.processes import Line, processes, shared_name
from tests.unit.fakes.conftest import CHIPS
from tests.unit.fakes.rig import Rig

MiB = 1 << 20
Pair = tuple[Rig, Rig]


@pytest.fixture(params=CHIPS)
def soc(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return shared_name(str(abs(hash(request.node.nodeid))))


@pytest.fixture
def pair(soc: str, name: str, open_rig: Callable[..., Rig]) -> Pair:
    """Two machines that share two cards."""
    options: dict[str, object] = {"devices": 2, "hbm": "64m", "notifys": 100, "sqs": 60, "shared": name}
    return open_rig(soc, **options), open_rig(soc, **options)


def usage(rig: Rig, kind: int = c.DRV_RESOURCE_NOTIFY_ID) -> tuple[int, int]:
    info = s.halResourceInfo()
    assert rig.hal.halResourceInfoQuery(rig.dev, 0, kind, ctypes.byref(info)) == 0
    return info.capacity, info.usedNum


def free_bytes(rig: Rig) -> int:
    info = s.MemInfo()
    assert rig.hal.halMemGetInfo(rig.dev, c.MEM_INFO_TYPE_HBM_SIZE, ctypes.byref(info)) == 0
    return int(info.phy_info.huge_free)


def share(rig: Rig, address: int, pids: tuple[int, ...] = (os.getpid(),)) -> Any:
    key = ctypes.create_string_buffer(65)
    assert rig.hal.halShmemCreateHandle(address, 1, key, 65) == 0
    if pids:
        assert rig.hal.halShmemSetPidHandle(key, (ctypes.c_int32 * len(pids))(*pids), len(pids)) == 0
    return key


def try_open(rig: Rig, key: Any) -> tuple[int, int]:
    view = ctypes.c_uint64()
    return int(rig.hal.halShmemOpenHandleByDevId(0, key, ctypes.byref(view))), view.value


# -- limits ------------------------------------------------------------------------------------------------------------


def test_ids_run_out_for_all_together(pair: Pair) -> None:
    one, two = pair
    taken = {one.take_id(c.DRV_NOTIFY_ID) for _ in range(60)} | {two.take_id(c.DRV_NOTIFY_ID) for _ in range(40)}
    assert len(taken) == 100
    for rig in pair:
        assert usage(rig) == (100, 100)
        assert rig.try_id(c.DRV_NOTIFY_ID)[0] == c.DRV_ERROR_NO_NOTIFY_RESOURCES
    freed = s.halResourceIdInputInfo(type=c.DRV_NOTIFY_ID, resourceId=min(one.fake.device().ids["notify"].used))
    assert two.hal.halResourceIdFree(0, ctypes.byref(freed)) == c.DRV_ERROR_IOCRL_FAIL  # not its own
    assert one.hal.halResourceIdFree(0, ctypes.byref(freed)) == 0
    assert two.try_id(c.DRV_NOTIFY_ID, wanted=freed.resourceId)[0] == 0
    assert one.try_id(c.DRV_NOTIFY_ID, wanted=freed.resourceId)[0] == c.DRV_ERROR_NO_NOTIFY_RESOURCES


def test_cards_have_ids_of_their_own(pair: Pair) -> None:
    one, two = pair
    assert two.hal.halDeviceOpen(1, None, ctypes.byref(s.hal_dev_open_out())) == 0
    one.take_id(c.DRV_NOTIFY_ID)
    two.dev = 1
    assert (usage(one)[1], usage(two)[1]) == (1, 0)


def test_queues_run_out_for_all_together(pair: Pair) -> None:
    one, two = pair
    made = [rig.stream(depth=64) for _ in range(30) for rig in pair]
    assert len({stream.sq_id for stream in made}) == 60
    with pytest.raises(AssertionError):
        one.stream(depth=64)
    assert two.hal.halDeviceClose(0, None) == 0
    one.stream(depth=64)


def test_memory_runs_out_for_all_together(pair: Pair) -> None:
    one, two = pair
    total = free_bytes(one)
    address = one.alloc(total // 2 // (2 * MiB) * 2 * MiB, c.MEM_PAGE_HUGE)
    assert free_bytes(two) == free_bytes(one) < total
    with pytest.raises(AssertionError):
        two.alloc(total, c.MEM_PAGE_HUGE)
    assert "other processes hold" in two.fake.problems[-1]
    assert one.hal.halMemFree(address) == 0
    two.alloc(total, c.MEM_PAGE_HUGE)


def test_imagined_holders_count_once(soc: str, name: str, open_rig: Callable[..., Rig]) -> None:
    rigs = [open_rig(soc, shared=name, notifys=100, fault="ids:notify:90") for _ in range(2)]
    assert [usage(rig) for rig in rigs] == [(100, 90)] * 2


# -- memory and signals ------------------------------------------------------------------------------------------------


def test_memory_under_a_key_is_the_same_memory(pair: Pair) -> None:
    one, two = pair
    address = one.alloc(4096)
    key = share(one, address)
    rc, view = try_open(two, key)
    assert rc == 0
    one.put(address, b"from one")
    assert two.get(view, 8) == b"from one"
    stream = two.stream()
    stream.send(two.copy(stream, view, view + 4, 4))
    stream.drain()
    assert one.get(address, 4) == b" one"
    assert two.hal.halShmemCloseHandle(view) == 0
    assert one.hal.halMemFree(address) == 0
    assert try_open(two, key)[0] == c.DRV_ERROR_IOCRL_FAIL


@pytest.mark.parametrize("scheme", ["fake", "fake-abi"])
def test_the_owner_may_free_what_another_process_has_open(
    soc: str, name: str, scheme: str, open_rig: Callable[..., Rig]
) -> None:
    one, two = (open_rig(soc, scheme, hbm="64m", shared=name) for _ in range(2))
    total = free_bytes(one)
    address = one.alloc(4 * MiB, c.MEM_PAGE_HUGE)
    one.put(address, b"kept")
    key = share(one, address)
    rc, view = try_open(two, key)
    assert rc == 0
    assert one.hal.halMemFree(address) == 0
    assert one.hal.halMemFree(address) != 0
    assert try_open(two, key)[0] == c.DRV_ERROR_IOCRL_FAIL
    for other in [one.alloc(4 * MiB, c.MEM_PAGE_HUGE) for _ in range(3)]:
        assert other != address
        one.put(other, b"over")
        assert one.hal.halMemFree(other) == 0
    assert two.get(view, 4) == b"kept"
    assert free_bytes(one) == total - 4 * MiB
    assert two.hal.halShmemCloseHandle(view) == 0
    assert one.hal.halMemFree(one.alloc(4096)) == 0
    assert free_bytes(one) == total


def test_exported_memory_outlives_its_process_until_the_last_importer_has_closed_it(pair: Pair) -> None:
    one, two = pair
    total = free_bytes(two)
    address = one.alloc(4 * MiB, c.MEM_PAGE_HUGE)
    one.put(address, b"kept")
    key = share(one, address)
    rc, view = try_open(two, key)
    assert rc == 0
    one.hal.close()
    assert try_open(two, key)[0] == c.DRV_ERROR_IOCRL_FAIL  # the name is gone with its owner
    assert two.get(view, 4) == b"kept"
    assert free_bytes(two) == total - 4 * MiB
    assert two.hal.halShmemCloseHandle(view) == 0
    assert free_bytes(two) == total


def test_memory_of_a_closed_card_stays_for_who_has_it_open(pair: Pair) -> None:
    one, two = pair
    address = one.alloc(4096)
    one.put(address, b"kept")
    _, view = try_open(two, share(one, address))
    assert one.hal.halDeviceClose(0, None) == 0
    assert one.hal.halDeviceOpen(0, None, ctypes.byref(s.hal_dev_open_out())) == 0
    others = [one.alloc(4096) for _ in range(100)]
    for other in others:
        one.put(other, bytes(4096))
    assert two.get(view, 4) == b"kept"


def test_physical_memory_by_number(pair: Pair) -> None:
    one, two = pair
    handle, number, imported = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
    prop = s.drv_mem_prop(side=c.MEM_DEV_SIDE, devid=0, pg_type=c.MEM_HUGE_PAGE_TYPE)
    assert one.hal.halMemCreate(ctypes.byref(handle), 2 * MiB, ctypes.byref(prop), 0) == 0
    assert one.hal.halMemExportToShareableHandle(handle, 0, 0, ctypes.byref(number)) == 0

    def open_it() -> int:
        return int(two.hal.halMemImportFromShareableHandle(number, 0, ctypes.byref(imported)))

    assert open_it() == c.DRV_ERROR_OPER_NOT_PERMITTED
    assert one.hal.halMemSetPidToShareableHandle(number, (ctypes.c_int32 * 1)(os.getpid()), 1) == 0
    assert open_it() == 0
    views = []
    for rig, mine in ((one, handle), (two, imported)):
        view = ctypes.c_void_p()
        assert rig.hal.halMemAddressReserve(ctypes.byref(view), 2 * MiB, 0, 0, 0) == 0
        assert rig.hal.halMemMap(view, 2 * MiB, 0, mine, 0) == 0
        views.append(view.value or 0)
    one.put(views[0], b"physical")
    assert two.get(views[1], 8) == b"physical"
    assert one.hal.halMemUnmap(views[0]) == one.hal.halMemRelease(handle) == 0
    assert two.get(views[1], 8) == b"physical"
    total = free_bytes(two)
    assert two.hal.halMemUnmap(views[1]) == two.hal.halMemRelease(imported) == 0
    one.hal.halMemFree(one.alloc(4096))  # the maker settles when it allocates next
    assert free_bytes(two) == total + 2 * MiB


def test_a_notify_that_one_waits_for_and_the_other_fires(pair: Pair) -> None:
    one, two = pair
    stream, number, key = one.stream(), one.take_id(c.DRV_NOTIFY_ID), ctypes.create_string_buffer(65)
    info = s.drvShrIdInfo(id_type=c.SHR_ID_NOTIFY_TYPE, shrid=number)
    assert one.hal.halShrIdCreate(ctypes.byref(info), key, 65) == 0
    assert two.hal.halShrIdOpen(key, ctypes.byref(info)) == c.DRV_ERROR_OPER_NOT_PERMITTED
    assert one.hal.halShrIdSetPid(key, ctypes.byref(ctypes.c_int32(os.getpid())), 1) == 0
    assert two.hal.halShrIdOpen(key, ctypes.byref(info)) == 0
    stream.send(one.sqe("notify_wait", stream, 1, notify_id=number, clr_flag=1) if not one.v1 else
                one.sqe("notify_wait", stream, 1, notify_id=number))  # fmt: skip
    assert stream.head == 0
    assert two.hal.halShrIdRecord(key) == 0
    stream.drain()
    assert one.fake.device().notifies.get(number).value == 0
    assert two.hal.halShrIdClose(key) == 0
    assert two.hal.halShrIdRecord(key) == c.DRV_ERROR_IOCRL_FAIL


def test_a_signal_starts_at_zero_for_the_next_owner(pair: Pair) -> None:
    one, two = pair
    number = one.take_id(c.DRV_NOTIFY_ID)
    one.fake.device().notifies.get(number).value = 1
    one.hal.close()
    assert two.try_id(c.DRV_NOTIFY_ID, wanted=number)[0] == 0
    assert two.fake.device().notifies.get(number).value == 0


# -- who may come ------------------------------------------------------------------------------------------------------


def test_another_machine_under_the_same_name_is_refused(soc: str, name: str, open_rig: Callable[..., Rig]) -> None:
    open_rig(soc, shared=name, devices=2)
    with pytest.raises(BadUrl, match="open elsewhere as a machine with other chips or options"):
        open_rig(soc, shared=name, devices=3)
    open_rig(soc, shared=name, devices=2)


def test_a_name_is_new_when_the_last_one_has_gone(soc: str, name: str, open_rig: Callable[..., Rig]) -> None:
    open_rig(soc, shared=name, devices=2).hal.close()
    assert not folder(name).exists()
    open_rig(soc, shared=name, devices=3).hal.close()
    assert not folder(name).exists()


@pytest.mark.parametrize("wrong", ["", "a/b", "..", "x" * 65])
def test_a_name_that_is_none(wrong: str) -> None:
    with pytest.raises(BadUrl, match="up to 64 letters"):
        npuhal.open_hal(f"fake://ascend910b3?shared={wrong}")


def test_checkers_that_cannot_see_other_processes(name: str, open_rig: Callable[..., Rig]) -> None:
    with pytest.raises(BadUrl, match="race cannot be had with shared"):
        npuhal.open_hal(f"fake://ascend910b3?shared={name}&check=race,uaf")
    checks = open_rig(shared=name, check="all").fake.checks
    assert checks is not None
    assert {"uaf", "bounds", "leak"} <= checks.wanted
    assert not {"race", "deadlock"} & checks.wanted


@pytest.fixture
def tables(name: str) -> Iterator[Callable[..., Table]]:
    made: list[Table] = []

    def make(**more: int) -> Table:
        made.append(Table(Folder(name), 1, {"notify": 8}, "a machine", **more))
        return made[-1]

    yield make
    for table in made:
        table.leave()


def test_a_card_is_open_in_64_processes_at_most(tables: Callable[..., Table]) -> None:
    made = [tables() for _ in range(PER_CARD + 1)]
    assert [table.open_card(0) for table in made] == [True] * PER_CARD + [False]
    made[3].close_card(0)
    assert made[-1].open_card(0)


def test_a_machine_has_room_for_so_many_processes(tables: Callable[..., Table]) -> None:
    made = [tables(slots=9) for _ in range(9)]
    with pytest.raises(NotShareable, match="open in 9 processes already"):
        tables(slots=9)
    made[7].leave()
    assert tables(slots=9).slot == 7


# -- processes that end ------------------------------------------------------------------------------------------------


def work_for_ever(line: Line, url: str, seed: int) -> None:
    """Take and give back what a card has, at random, and say so now and then."""
    rng = random.Random(seed)
    rig = Rig(url)
    ids: list[int] = []
    blocks: list[int] = []
    keys: list[Any] = []
    line.send("ready")
    while True:
        step = rng.randrange(6)
        if step == 0:
            ids.append(rig.try_id(c.DRV_NOTIFY_ID)[1])
        elif step == 1 and ids:
            info = s.halResourceIdInputInfo(type=c.DRV_NOTIFY_ID, resourceId=ids.pop(rng.randrange(len(ids))))
            rig.hal.halResourceIdFree(0, ctypes.byref(info))
        elif step == 2 and len(blocks) < 8:
            blocks.append(rig.alloc(2 * MiB, c.MEM_PAGE_HUGE))
        elif step == 3 and blocks:
            rig.hal.halMemFree(blocks.pop())
        elif step == 4 and blocks:
            keys.append(share(rig, rng.choice(blocks)))
        elif step == 5 and keys:
            rig.hal.halShmemDestroyHandle(keys.pop())
        line.send(step)


def kill_rounds(rounds: int, soc: str, name: str, open_rig: Callable[..., Rig]) -> None:
    options: dict[str, object] = {"hbm": "128m", "notifys": 64, "shared": name}
    rig = open_rig(soc, **options)
    rng, before = random.Random(rounds), (free_bytes(rig), usage(rig))
    for number in range(rounds):
        with processes((work_for_ever, rig.hal.url, number), (work_for_ever, rig.hal.url, -1 - number)) as children:
            for child in children:
                for _ in range(rng.randrange(1, 60)):
                    child.hear()
            rig.take_id(c.DRV_NOTIFY_ID)
            for child in children:
                child.kill()
        assert rig.hal.halDeviceClose(0, None) == 0
        assert rig.hal.halDeviceOpen(0, None, ctypes.byref(s.hal_dev_open_out())) == 0
        assert (free_bytes(rig), usage(rig)) == before
    assert len({rig.take_id(c.DRV_NOTIFY_ID) for _ in range(64)}) == 64
    rig.alloc(before[0] // (2 * MiB) * 2 * MiB, c.MEM_PAGE_HUGE)
    rig.hal.close()
    assert not folder(name).exists()


def test_processes_killed_anywhere_leave_a_whole_card(name: str, open_rig: Callable[..., Rig]) -> None:
    kill_rounds(5, "Ascend910B3", name, open_rig)


@pytest.mark.soak
def test_processes_killed_anywhere_leave_a_whole_card_long(name: str, open_rig: Callable[..., Rig]) -> None:
    kill_rounds(100, "Ascend950PR_9599", name, open_rig)


def give_and_stay(line: Line, url: str, pid: int) -> None:
    rig = Rig(url)
    address = rig.alloc(4096)
    rig.put(address, b"kept")
    line.send(share(rig, address, (pid,)).value, share(rig, address, ()).value)
    line.hear()


def test_white_lists_name_processes_and_a_killed_one_takes_its_names_along(
    soc: str, name: str, open_rig: Callable[..., Rig]
) -> None:
    rig = open_rig(soc, shared=name)
    with processes((give_and_stay, rig.hal.url, os.getpid())) as [giver]:
        allowed, refused = (ctypes.create_string_buffer(key) for key in giver.hear())
        assert try_open(rig, refused)[0] == c.DRV_ERROR_OPER_NOT_PERMITTED
        rc, view = try_open(rig, allowed)
        assert rc == 0
        giver.kill()
        assert try_open(rig, allowed)[0] == c.DRV_ERROR_IOCRL_FAIL
        assert rig.get(view, 4) == b"kept"


# -- forks -------------------------------------------------------------------------------------------------------------


def in_fork(work: Callable[[], bool]) -> bool:
    if (pid := os.fork()) == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitpid(pid, 0)[1] == 0


def refuses(rig: Rig) -> bool:
    for _ in range(2):
        with pytest.raises(FakeError, match=f"forked from {os.getppid()} after that one had opened a card"):
            rig.hal.halDeviceOpen(1, None, ctypes.byref(s.hal_dev_open_out()))
    rig.hal.close()
    return True


@pytest.mark.parametrize("shared", [False, True], ids=["alone", "shared"])
def test_a_child_of_a_process_with_an_open_card_is_refused(
    shared: bool, soc: str, name: str, open_rig: Callable[..., Rig]
) -> None:
    rig = open_rig(soc, devices=2, **({"shared": name} if shared else {}))
    number = rig.take_id(c.DRV_NOTIFY_ID)
    assert in_fork(lambda: refuses(rig))
    assert rig.fake.device().ids["notify"].taken(number)
    rig.take_id(c.DRV_NOTIFY_ID)


def test_a_child_of_a_process_without_an_open_card_is_a_process_like_any_other(
    soc: str, name: str, open_rig: Callable[..., Rig]
) -> None:
    rig = open_rig(soc, shared=name, notifys=10, open_card=False)

    def child() -> bool:
        assert rig.hal.halDeviceOpen(0, None, ctypes.byref(s.hal_dev_open_out())) == 0
        stream = rig.stream()
        stream.send(rig.nop(stream))
        stream.drain()  # its own cards run
        rig.take_id(c.DRV_NOTIFY_ID)
        return usage(rig)[1] == 1

    assert in_fork(child)
    assert usage(rig)[1] == 0
