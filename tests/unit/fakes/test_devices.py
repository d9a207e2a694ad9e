"""Cards: opening, identity by seed, ids with limits, information."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import npuhal
from chips import find_chip
from fakes.machine import identity
from fakes.machine.ids import IdPool
from npuhal import constants as c
from npuhal import structs as s
from tests.unit.fakes.rig import Rig


def number(rig: Rig, module: int, info: int, dev: int = 0) -> int:
    value = ctypes.c_int64(-1)
    assert rig.hal.halGetDeviceInfo(dev, module, info, ctypes.byref(value)) == 0
    return value.value


def test_opening_twice_and_closing_twice_have_their_codes(rig: Rig) -> None:
    out = s.hal_dev_open_out()
    again = rig.hal.halDeviceOpen(0, ctypes.byref(s.hal_dev_open_in()), ctypes.byref(out))
    assert again == c.DRV_ERROR_REPEATED_INIT
    assert rig.hal.halDeviceOpen(64, None, ctypes.byref(out)) == c.DRV_ERROR_PARA_ERROR
    assert rig.hal.halDeviceOpen(0, None, None) == c.DRV_ERROR_PARA_ERROR
    assert rig.hal.halDeviceClose(0, None) == 0
    assert rig.hal.halDeviceClose(0, None) == c.DRV_ERROR_UNINIT


def test_a_closed_device_gives_no_ids_or_memory(rig: Rig) -> None:
    assert rig.hal.halDeviceClose(0, None) == 0
    assert rig.try_id(c.DRV_STREAM_ID)[0] == c.DRV_ERROR_OPEN_FAILED
    pointer = ctypes.c_void_p()
    assert rig.hal.halMemAlloc(ctypes.byref(pointer), 64, c.MEM_DEV) == c.DRV_ERROR_INVALID_HANDLE


def test_the_card_is_what_its_chip_file_says(rig: Rig) -> None:
    chip = rig.fake.chip
    name = ctypes.create_string_buffer(50)
    assert rig.hal.halGetSocVersion(0, name, 50) == 0
    assert name.value.decode() == chip.soc
    assert number(rig, c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_VERSION) >> 8 & 0xFF == chip.chip_value
    assert number(rig, c.MODULE_TYPE_AICORE, c.INFO_TYPE_CORE_NUM) == chip.spec("SoCInfo", "ai_core_cnt")
    assert number(rig, c.MODULE_TYPE_SYSTEM, c.INFO_TYPE_CORE_NUM) == 1
    value = ctypes.c_int64()
    assert rig.hal.halGetDeviceInfo(0, 99, 99, ctypes.byref(value)) == c.DRV_ERROR_INVALID_VALUE


def test_ids_of_the_four_name_spaces_differ_and_translate(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(devices=4, seed=5)
    seen = set()
    for logic in range(4):
        physical, local, back = ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_uint32()
        assert rig.hal.drvDeviceGetPhyIdByIndex(logic, ctypes.byref(physical)) == 0
        assert rig.hal.drvGetLocalDevIDByHostDevID(logic, ctypes.byref(local)) == 0
        assert logic not in (physical.value, local.value)
        assert rig.hal.drvDeviceGetIndexByPhyId(physical, ctypes.byref(back)) == 0
        assert back.value == logic
        assert rig.hal.drvGetDevIDByLocalDevID(local, ctypes.byref(back)) == 0
        assert back.value == logic
        seen.add(physical.value)
    assert len(seen) == 4


def test_the_device_list_is_cut_to_the_room_given(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(devices=3)
    ids = (ctypes.c_uint32 * 4)(9, 9, 9, 9)
    assert rig.hal.drvGetDevIDs(ids, 2) == 0
    assert list(ids) == [0, 1, 9, 9]


def test_what_the_driver_decides_depends_on_the_seed_alone() -> None:
    chip = find_chip("Ascend910B3")
    cards = [[identity.draw(chip, seed, index, 8) for index in range(8)] for seed in range(20)]
    assert identity.draw(chip, 3, 5, 8) == cards[3][5]
    for name in ("stars_base", "rtsq_base", "swap_base", "qos", "ts_version", "chip_id", "physical_base", "in_place"):
        assert len({getattr(card, name) for cards_of_seed in cards for card in cards_of_seed}) > 1, name
    for cards_of_seed in cards:
        physical = [card.physical for card in cards_of_seed]
        assert len(set(physical)) == 8
        assert all(number != index for index, number in enumerate(physical))
        assert len({card.local for card in cards_of_seed}) == 8


def test_first_ids_vary_and_specified_ids_are_honoured(open_rig: Callable[..., Rig]) -> None:
    firsts = {open_rig(seed=seed).take_id(c.DRV_STREAM_ID) for seed in range(6)}
    assert len(firsts) > 1
    rig = open_rig()
    assert rig.try_id(c.DRV_STREAM_ID, 1000) == (0, 1000)
    assert rig.try_id(c.DRV_STREAM_ID, 1000)[0] == c.DRV_ERROR_NO_STREAM_RESOURCES


def test_ids_run_out_with_the_code_of_their_kind(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(streams=3, events=2, notifys=2, models=1)
    for kind, count, code in (
        (c.DRV_STREAM_ID, 3, c.DRV_ERROR_NO_STREAM_RESOURCES), (c.DRV_EVENT_ID, 2, c.DRV_ERROR_NO_EVENT_RESOURCES),
        (c.DRV_NOTIFY_ID, 2, c.DRV_ERROR_NO_NOTIFY_RESOURCES), (c.DRV_MODEL_ID, 1, c.DRV_ERROR_NO_MODEL_RESOURCES),
    ):  # fmt: skip
        taken = [rig.take_id(kind) for _ in range(count)]
        assert len(set(taken)) == count
        assert rig.try_id(kind)[0] == code
        free = s.halResourceIdInputInfo(type=kind, resourceId=taken[0])
        assert rig.hal.halResourceIdFree(0, ctypes.byref(free)) == 0
        assert rig.hal.halResourceIdFree(0, ctypes.byref(free)) == c.DRV_ERROR_IOCRL_FAIL
        assert rig.take_id(kind) == taken[0]


def test_a_stream_with_a_queue_keeps_its_id(rig: Rig) -> None:
    stream = rig.stream()
    free = s.halResourceIdInputInfo(type=c.DRV_STREAM_ID, resourceId=stream.stream_id)
    assert rig.hal.halResourceIdFree(0, ctypes.byref(free)) == c.DRV_ERROR_IOCRL_FAIL


def test_clients_that_never_told_their_version_get_fewer_streams() -> None:
    for version, expected in ((0, 2048), (0x072418, 32768)):
        hal = npuhal.open_hal("fake://Ascend910B3")
        hal.halSetRuntimeApiVer(version)
        info = s.halResourceInfo()
        assert hal.halResourceInfoQuery(0, 0, c.DRV_RESOURCE_STREAM_ID, ctypes.byref(info)) == 0
        assert info.capacity == expected
        hal.close()


def test_control_messages_answer_what_only_the_device_knows(rig: Rig) -> None:
    card = rig.fake.device().identity
    for operation, expected in ((5, card.stars_base), (6, card.ts_version), (16, card.swap_base)):
        body = ctypes.create_string_buffer(operation.to_bytes(4, "little"), 44)
        answer, size = ctypes.create_string_buffer(44), ctypes.c_size_t(44)
        message = s.tsdrv_ctrl_msg(tsid=0, msg_len=44, msg=ctypes.addressof(body))
        rc = rig.hal.halTsdrvCtl(0, c.TSDRV_CTL_CMD_CTRL_MSG, ctypes.byref(message), 16, answer, ctypes.byref(size))
        assert rc == 0
        assert answer.raw[:12] == body.raw[:4] + expected.to_bytes(8, "little")


def test_a_pool_goes_on_below_its_first_id_and_reuses_returned_ones() -> None:
    pool = IdPool("stream", 4, first=2)
    assert [pool.take() for _ in range(5)] == [2, 3, 0, 1, None]
    assert pool.give(3)
    assert not pool.give(3)
    assert pool.take(ceiling=3) is None
    assert pool.take() == 3
    pool.reset()
    pool.occupy(3)
    assert (pool.free, pool.take(), pool.take()) == (1, 1, None)


def test_the_daemon_answers_the_cards_qos(rig: Rig) -> None:
    daemon = rig.hal.daemon()
    assert daemon is not None
    daemon.open(0)
    assert daemon.capability_qos(0) == rig.fake.device().identity.qos
    assert daemon.connection_status(0) == c.HDC_SESSION_STATUS_CONNECT
    daemon.close(0)


def test_physical_ids_may_be_given(open_rig: Callable[..., Rig]) -> None:
    rig = open_rig(devices=2, physical="5,9")
    assert [device.identity.physical for device in rig.fake.devices] == [5, 9]
