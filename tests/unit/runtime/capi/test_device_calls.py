"""The C API of initialisation, devices and contexts: codes, messages and outputs, call by call (core_spec 1.6 to 4)."""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.capi.aclrt import Acl, Out
from runtime.capi.aclrt.entry import UNTOUCHED, find

SOCS = {"910B1": "ascend910b1", "910_9391": "ascend910_9391", "950": "ascend950pr_9599"}
ALL = tuple(SOCS)


class Caller:
    """Calls by name; `step` compares code, message and outputs with what is expected."""

    def __init__(self, soc: str, devices: int = 2) -> None:
        physical = ",".join(str(3 + index) for index in range(devices))
        options = f"devices={devices}&kernels=noop" + (f"&physical={physical}" if devices else "")
        self.acl = Acl(f"fake://{SOCS[soc]}?{options}")

    def step(self, name: str, expected: int, message: str = "", /, **given: Any) -> Any:
        """Call; a parameter given as Out() is an output, whose value is returned when it is the only one."""
        self.acl.reports.take_text()
        assert self.acl.call(name, **given) == expected, name
        assert self.acl.reports.message_ids() == ((message,) if message else ()), name
        outputs = [value.value for value in given.values() if isinstance(value, Out)]
        return outputs[0] if len(outputs) == 1 else outputs


@pytest.fixture(params=ALL)
def soc(request: pytest.FixtureRequest) -> str:
    """One of the chips that were recorded."""
    return str(request.param)


@pytest.fixture
def api(soc: str) -> Iterator[Caller]:
    """An initialised process on a machine with two cards, whose physical ids are 3 and 4."""
    caller = Caller(soc)
    caller.step("aclInit", 0)
    yield caller
    caller.acl.close()


# -- initialisation ------------------------------------------------------------------------------------------------


def test_counting_of_initialisations(api: Caller) -> None:
    for _ in range(2):
        api.step("aclInit", 100002)
    assert [api.step("aclFinalizeReference", 0, refCount=Out()) for _ in range(3)] == [2, 1, 0]
    assert api.step("aclFinalizeReference", 100037, refCount=Out()) == 0
    api.step("aclFinalize", 100037)
    api.step("aclInit", 0)
    api.step("aclFinalize", 0)
    api.step("aclFinalize", 100037)


def test_finalising_before_any_initialisation_succeeds() -> None:
    caller = Caller("910B1")
    caller.step("aclFinalize", 0)
    caller.step("aclFinalize", 0)


def test_everything_goes_on_after_finalising(api: Caller) -> None:
    api.step("aclrtSetDevice", 0, deviceId=1)
    api.step("aclFinalize", 0)
    assert api.step("aclrtGetDevice", 0, deviceId=Out()) == 1
    api.step("aclrtSynchronizeDevice", 0)
    api.step("aclrtResetDevice", 0, deviceId=1)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", 0, ""), ("{}", 0, ""), ('{ "a": ', 100006, "EH0004"), ("[1]", 100006, "EH0004"),
        ('{"a":' * 10 + "1" + "}" * 10, 0, ""), ('{"a":' * 11 + "1" + "}" * 11, 100006, "EH0004"),
        ('{"defaultDevice":{"default_device":"1"}}', 0, ""),
        ('{"defaultDevice":{"default_device":"x"}}', 500001, "EH0009"),
        ('{"defaultDevice":{"default_device":"01"}}', 500001, "EH0009"),
        ('{"err_msg_mode":"1"}', 0, ""),
        ('{"err_msg_mode":"2"}', 100000, "EH0009"),
        ('{"StackSize":{"aicore_stack_size":65536}}', 0, ""),
        ('{"StackSize":{"aicore_stack_size":"much"}}', 500001, ""),
        ('{"simd_printf_fifo_size_per_core":1}', 500001, ""),
        ('{"acl_graph":{"event_mode":"0"}}', 0, ""),
        ('{"acl_graph":{"event_mode":"2"}}', 100000, "EH0009"),
        ('{"defaultDevice":{"default_device":"7"}}', 107001, "EE1003"),
    ],
)  # fmt: skip
def test_configuration_files(tmp_path: Path, text: str, code: int, message: str) -> None:
    path = tmp_path / "acl.json"
    path.write_text(text)
    caller = Caller("910B1")
    caller.step("aclInit", code, message, configPath=str(path))
    caller.acl.close()


def test_a_configuration_file_that_does_not_exist() -> None:
    Caller("910B1").step("aclInit", 100003, "EH0003", configPath="/nonexistent/acl.json")


def test_the_default_device_of_the_file_serves_every_thread(tmp_path: Path) -> None:
    path = tmp_path / "acl.json"
    path.write_text(json.dumps({"defaultDevice": {"default_device": "1"}}))
    caller = Caller("910B1")
    caller.step("aclInit", 0, configPath=str(path))
    assert caller.step("aclrtGetDevice", 0, deviceId=Out()) == 1
    assert caller.step("aclrtGetPrimaryCtxState", 0, deviceId=1, active=Out()) == 0
    caller.step("aclrtSynchronizeDevice", 0)
    assert caller.step("aclrtGetPrimaryCtxState", 0, deviceId=1, active=Out()) == 1
    caller.acl.close()


def test_a_machine_without_devices() -> None:
    caller = Caller("910B1", devices=0)
    caller.step("aclInit", 500000)
    assert caller.step("aclrtGetDeviceCount", 0, count=Out()) == 0
    caller.step("aclrtSetDevice", 107001, "EE1003", deviceId=0)
    assert caller.acl.call("aclrtGetSocName") is None


def test_what_is_said_of_the_machine(api: Caller, soc: str) -> None:
    assert api.acl.call("aclrtGetSocName").lower() == SOCS[soc]
    assert api.step("aclrtGetRunMode", 0, runMode=Out()) == 1
    version = {"majorVersion": Out(), "minorVersion": Out(), "patchVersion": Out()}
    assert api.step("aclrtGetVersion", 0, **version) == [1, 17, 0]
    api.step("aclrtGetVersion", 100000, "EH0008", minorVersion=Out(), patchVersion=Out())
    api.step("aclrtGetRunMode", 100000, "EH0008")
    assert api.step("aclGetCannAttribute", 100003, "EH0003", cannAttr=0, value=Out()) is UNTOUCHED


def test_fixing_another_soc(api: Caller) -> None:
    api.step("rtSetSocVersion", 107000, "EE1011", version="Ascend123")
    api.step("rtSetSocVersion", 107000, "EE1004")
    api.step("rtSetSocVersion", 0, version="Ascend310P3")
    api.step("aclrtSetDevice", 507033, deviceId=0)
    assert api.acl.call("aclrtGetSocName") == "Ascend310P3"


@pytest.mark.parametrize(
    ("call", "answer", "told"),
    [
        ("halDeviceOpen", "DRV_ERROR_BUSY", "DRV_ERROR_BUSY"),
        ("halMemAlloc", "DRV_ERROR_OUT_OF_MEMORY", "DRV_ERROR_OUT_OF_MEMORY"),
    ],
)
def test_the_reason_of_a_failed_opening_is_told_once(api: Caller, call: str, answer: str, told: str) -> None:
    api.acl.runtime.hal.fake.faults.on_call(call, answer, times=0)
    assert api.acl.call("aclrtSetDevice", deviceId=1) == 507033
    first, *_ = api.acl.call("aclGetRecentErrMsg").splitlines()
    assert "device 1 cannot be opened" in first
    assert call in first
    assert told in first
    assert api.acl.call("aclGetRecentErrMsg") is None


# -- set and reset -------------------------------------------------------------------------------------------------


def test_resetting_too_often(api: Caller) -> None:
    api.step("aclrtResetDevice", 507007, "EE1018", deviceId=0)
    api.step("aclrtResetDeviceForce", 507007, deviceId=0)
    for _ in range(3):
        api.step("aclrtSetDevice", 0, deviceId=0)
    api.step("aclrtResetDeviceForce", 0, deviceId=0)
    assert api.step("aclrtGetDevice", 107002, deviceId=Out()) is UNTOUCHED
    api.step("aclrtResetDevice", 507007, "EE1018", deviceId=0)


def test_the_state_of_the_primary_context(api: Caller) -> None:
    assert api.step("aclrtGetPrimaryCtxState", 0, deviceId=0, active=Out()) == 0
    api.step("aclrtSetDevice", 0, deviceId=0)
    assert api.step("aclrtGetPrimaryCtxState", 0, deviceId=0, active=Out()) == 1
    api.step("aclrtGetPrimaryCtxState", 107001, "EE1003", deviceId=5, active=Out())
    api.step("aclrtGetPrimaryCtxState", 100000, "EH0012", deviceId=0, flags=Out(), active=Out())
    api.step("aclrtGetPrimaryCtxState", 100000, "EH0008", deviceId=0, flags=Out())


@pytest.mark.parametrize(
    ("name", "parameter", "extra"),
    [("aclrtSetDevice", "deviceId", {}), ("aclrtResetDevice", "deviceId", {}),
     ("aclrtResetDeviceForce", "deviceId", {}), ("aclrtCreateContext", "deviceId", {"context": "out"}),
     ("aclrtQueryDeviceStatus", "deviceId", {"deviceStatus": "out"}), ("rtSetDefaultDeviceId", "deviceId", {}),
     ("aclrtGetLogicDevIdByUserDevId", "userDevid", {"logicDevId": "out"})],
)  # fmt: skip
def test_wrong_device_ids_are_refused(api: Caller, name: str, parameter: str, extra: dict[str, str]) -> None:
    given = {key: Out() for key in extra}
    for wrong in (2, 64, 1000):
        api.step(name, 107001, "EE1003", **{parameter: wrong}, **given)


def test_a_default_device_set_and_taken_back(api: Caller) -> None:
    api.step("rtSetDefaultDeviceId", 0, deviceId=1)
    assert api.step("aclrtGetDevice", 0, deviceId=Out()) == 1
    api.step("rtSetDefaultDeviceId", 0, deviceId=-1)
    api.step("aclrtGetDevice", 107002, deviceId=Out())


def test_time_limits_of_device_synchronise(api: Caller) -> None:
    api.step("aclrtSynchronizeDevice", 107002, "EE1018")
    api.step("aclrtSetDevice", 0, deviceId=0)
    api.step("aclrtSynchronizeDevice", 0)
    for timeout, code, message in ((-1, 0, ""), (10, 0, ""), (0, 107000, "EE1003"), (-2, 107000, "EH0007")):
        api.step("aclrtSynchronizeDeviceWithTimeout", code, message, timeout=timeout)


def test_state_of_devices_that_work_and_do_not(api: Caller) -> None:
    assert api.step("aclrtQueryDeviceStatus", 0, deviceId=0, deviceStatus=Out()) == 0
    api.acl.runtime.hal.fake.device(0).fail(2)
    assert api.step("aclrtQueryDeviceStatus", 0, deviceId=0, deviceStatus=Out()) == 1
    api.step("aclrtQueryDeviceStatus", 100000, "EH0008", deviceId=0)


def test_task_schedulers(api: Caller) -> None:
    for number in (0, 1):
        api.step("aclrtSetTsDevice", 0, tsId=number)
    api.step("aclrtSetTsDevice", 100000, "EH0007", tsId=2)


def test_callbacks_of_device_states(api: Caller) -> None:
    told: list[Any] = []
    register = {"regName": "x", "callback": lambda *facts: told.append(facts), "args": 7}
    api.step("aclrtRegDeviceStateCallback", 0, **register)
    api.step("aclrtRegDeviceStateCallback", 107000, "EE1011", **register)
    api.step("aclrtRegDeviceStateCallback", 100000, "EH0008", callback=print)
    api.step("aclrtSetDevice", 0, deviceId=1)
    api.step("aclrtResetDevice", 0, deviceId=1)
    assert told == [(1, 0, 7), (1, 1, 7), (1, 2, 7), (1, 3, 7)]
    api.step("aclrtRegDeviceStateCallback", 0, regName="x")
    api.step("aclrtRegDeviceStateCallback", 0, regName="nope")


# -- numbers -------------------------------------------------------------------------------------------------------


def test_user_logic_and_physical_ids(api: Caller) -> None:
    assert api.step("aclrtGetLogicDevIdByUserDevId", 0, userDevid=1, logicDevId=Out()) == 1
    assert api.step("aclrtGetUserDevIdByLogicDevId", 0, logicDevId=1, userDevid=Out()) == 1
    assert api.step("aclrtGetPhyDevIdByUserDevId", 0, userDevId=1, phyDevId=Out()) == 4
    assert api.step("aclrtGetUserDevIdByPhyDevId", 0, phyDevId=4, userDevId=Out()) == 1
    assert api.step("aclrtGetLogicDevIdByPhyDevId", 0, phyDevId=3, logicDevId=Out()) == 0
    assert api.step("aclrtGetPhyDevIdByLogicDevId", 0, logicDevId=0, phyDevId=Out()) == 3
    api.step("aclrtGetLogicDevIdByUserDevId", 107000, "EE1003", userDevid=-1, logicDevId=Out())
    api.step("aclrtGetUserDevIdByPhyDevId", 107001, phyDevId=9, userDevId=Out())
    api.step("aclrtGetUserDevIdByLogicDevId", 107001, "EE1003", logicDevId=9, userDevid=Out())
    api.step("aclrtGetPhyDevIdByUserDevId", 100000, "EH0008", userDevId=1)


@pytest.mark.parametrize(
    ("mask", "count", "user_of_logic"),
    [("1,3", 2, {1: 0, 3: 1}), ("1;2", 1, {1: 0}), ("2,1", None, {}), ("", None, {})],
)
def test_masks(monkeypatch: pytest.MonkeyPatch, mask: str, count: int | None, user_of_logic: dict[int, int]) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", mask)
    caller = Caller("910B1", devices=4)
    caller.step("aclInit", 0)
    if count is None:
        assert caller.step("aclrtGetDeviceCount", 207004, "EE2002", count=Out()) is UNTOUCHED
        caller.step("aclrtSetDevice", 107001, "EE1003", deviceId=0)
        caller.step("aclrtGetLogicDevIdByUserDevId", 107001, "EE1003", userDevid=0, logicDevId=Out())
    else:
        assert caller.step("aclrtGetDeviceCount", 0, count=Out()) == count
        caller.step("aclrtSetDevice", 107001, "EE1003", deviceId=count)
    for logic in range(4):
        code = 0 if logic in user_of_logic else 107001
        found = caller.step("aclrtGetUserDevIdByLogicDevId", code, logicDevId=logic, userDevid=Out())
        assert found == user_of_logic.get(logic, UNTOUCHED)
    caller.acl.close()


# -- facts, peers, limits ------------------------------------------------------------------------------------------


def test_attributes(api: Caller, soc: str) -> None:
    cubes = api.step("aclrtGetDeviceInfo", 0, deviceId=0, attr=101, value=Out())
    assert api.step("aclrtGetDeviceInfo", 0, deviceId=0, attr=201, value=Out()) == 2 * cubes
    assert api.step("aclGetDeviceCapability", 0, deviceId=0, deviceInfo=0, value=Out()) == cubes
    assert api.step("aclrtGetDeviceInfo", 0, attr=601, value=Out()) == {"950": 3510}.get(soc, 2201)
    for attribute in (*range(202, 213), 301, 302, *range(401, 410), 501):
        assert isinstance(api.step("aclrtGetDeviceInfo", 0, deviceId=0, attr=attribute, value=Out()), int)
    api.step("aclrtGetDeviceInfo", 107000, "EE1003", deviceId=0, attr=999, value=Out())
    api.step("aclrtGetDeviceInfo", 107000, "EE1003", deviceId=3, attr=1, value=Out())
    api.step("aclrtGetDeviceInfo", 100000, "EH0008", deviceId=0, attr=1)
    api.step("aclGetDeviceCapability", 100000, deviceId=0, deviceInfo=99, value=Out())


def test_capabilities(api: Caller) -> None:
    given = {"deviceId": 0, "value": Out()}
    api.step("aclrtGetDeviceCapability", 107002, "EE1018", devFeatureType=1, **given)
    assert api.step("aclrtGetDeviceCapability", 0, devFeatureType=21, **given) == 1
    for kind in (2, 99):
        api.step("aclrtGetDeviceCapability", 107000, "EE1003", devFeatureType=kind, **given)


@pytest.mark.parametrize(
    ("name", "on_910", "on_950"),
    [("Ascend910B1", 1, 0), ("Ascend910B4", 1, 0), ("Ascend910_9391", 1, 0), ("Ascend950PR_9599", 0, 1),
     ("Ascend310P3", 0, 0)],
)  # fmt: skip
def test_binaries_run_on_chips_of_their_family(api: Caller, soc: str, name: str, on_910: int, on_950: int) -> None:
    found = api.step("aclrtCheckArchCompatibility", 0, socVersion=name, canCompatible=Out())
    assert found == (on_950 if soc == "950" else on_910)


def test_chips_that_nobody_knows(api: Caller) -> None:
    for name, message in (("nope", "EE1011"), ("", "EE1001"), (None, "EE1004")):
        api.step("aclrtCheckArchCompatibility", 107000, message, socVersion=name, canCompatible=Out())


def test_names_and_places_on_the_bus(api: Caller) -> None:
    names = []
    for index in range(2):
        text = ctypes.create_string_buffer(64)
        api.step("aclrtDeviceGetPCIBusId", 0, deviceId=index, pciBusId=ctypes.addressof(text), len=64)
        assert api.step("aclrtDeviceGetByPCIBusId", 0, pciBusId=text.value.decode().upper(), deviceId=Out()) == index
        uuid = ctypes.create_string_buffer(16)
        api.step("aclrtDeviceGetUuid", 0, deviceId=index, uuid=ctypes.addressof(uuid))
        names.append(uuid.raw)
    assert len({*names, bytes(16)}) == 3
    api.step("aclrtDeviceGetPCIBusId", 107000, "EE1001", deviceId=0, pciBusId=ctypes.addressof(text), len=12)
    api.step("aclrtDeviceGetByPCIBusId", 107000, "EE1001", pciBusId="0000:01:00.0", deviceId=Out())
    api.step("aclrtDeviceGetUuid", 107001, "EE1003", deviceId=9, uuid=ctypes.addressof(uuid))
    api.step("aclrtDeviceGetUuid", 100000, "EH0008", deviceId=0)


def test_peers(api: Caller) -> None:
    pair = {"deviceId": 0, "peerDeviceId": 1}
    assert api.step("aclrtDeviceCanAccessPeer", 0, canAccessPeer=Out(), **pair) == 1
    api.step("aclrtDeviceCanAccessPeer", 100000, "EH0009", canAccessPeer=Out(), deviceId=0, peerDeviceId=0)
    api.step("aclrtDeviceCanAccessPeer", 107001, canAccessPeer=Out(), deviceId=0, peerDeviceId=7)
    api.step("aclrtDeviceEnablePeerAccess", 107002, peerDeviceId=1)
    api.step("aclrtSetDevice", 0, deviceId=0)
    for _ in range(2):
        api.step("aclrtDeviceEnablePeerAccess", 0, peerDeviceId=1, flags=0)
    assert api.step("aclrtDevicePeerAccessStatus", 0, status=Out(), **pair) == 1
    api.step("aclrtDeviceEnablePeerAccess", 200006, "EH0009", peerDeviceId=1, flags=1)
    api.step("aclrtDeviceEnablePeerAccess", 100000, "EH0009", peerDeviceId=0)
    api.step("aclrtDeviceEnablePeerAccess", 107001, peerDeviceId=9)
    for _ in range(2):
        api.step("aclrtDeviceDisablePeerAccess", 0, peerDeviceId=1)
    assert api.step("aclrtDevicePeerAccessStatus", 0, status=Out(), **pair) == 0
    assert api.step("aclrtGetDevicesTopo", 0, deviceId=0, otherDeviceId=1, value=Out()).bit_count() == 1
    api.step("aclrtGetDevicesTopo", 107001, deviceId=0, otherDeviceId=9, value=Out())
    api.step("aclrtGetDevicesTopo", 100000, "EH0008", deviceId=0, otherDeviceId=1)


def test_compute_groups_are_refused(api: Caller) -> None:
    for group in (0, 5, -1):
        api.step("aclrtSetGroup", 207000, "EE1005", groupId=group)
    api.step("aclrtGetGroupCount", 207000, "EE1005", count=Out())
    api.step("aclrtGetGroupCount", 100000, "EH0008")


def test_limits_of_cores(api: Caller) -> None:
    for name, given in (("Get", {"value": Out()}), ("Set", {"value": 4}), ("Reset", {})):
        api.step(f"aclrt{name}DeviceResLimit", 507033, deviceId=0, **({"type": 0} if given else {}), **given)
    api.step("aclrtSetDevice", 0, deviceId=0)
    most = api.step("aclrtGetDeviceResLimit", 0, deviceId=0, type=0, value=Out())
    api.step("aclrtSetDeviceResLimit", 0, deviceId=0, type=0, value=8)
    assert api.step("aclrtGetResInCurrentThread", 0, type=0, value=Out()) == 8
    api.step("aclrtSetDeviceResLimit", 107000, "EE1003", deviceId=0, type=0, value=most + 1)
    api.step("aclrtSetDeviceResLimit", 107000, "EE1003", deviceId=0, type=2, value=1)
    api.step("aclrtSetDeviceResLimit", 107001, "EE1003", deviceId=9, type=0, value=4)
    api.step("aclrtSetStreamResLimit", 0, type=0, value=3)
    assert api.step("aclrtGetResInCurrentThread", 0, type=0, value=Out()) == 8
    api.step("aclrtUseStreamResInCurrentThread", 0)
    assert api.step("aclrtGetResInCurrentThread", 0, type=0, value=Out()) == 3
    api.step("aclrtUnuseStreamResInCurrentThread", 0)
    api.step("aclrtResetStreamResLimit", 0)
    assert api.step("aclrtGetStreamResLimit", 0, type=0, value=Out()) == 8
    api.step("aclrtResetDeviceResLimit", 0, deviceId=0)
    assert api.step("aclrtGetDeviceResLimit", 0, deviceId=0, type=0, value=Out()) == most


def test_saturation_mode(api: Caller, soc: str) -> None:
    api.step("aclrtSetDevice", 0, deviceId=0)
    api.step("aclrtSetDeviceSatMode", 207000 if soc == "950" else 0, mode=0)
    assert api.step("aclrtGetDeviceSatMode", 0, mode=Out()) == (1 if soc == "950" else 0)
    for mode in (2, 3, -1):
        api.step("aclrtSetDeviceSatMode", 107000, "EE1003", mode=mode)


# -- contexts ------------------------------------------------------------------------------------------------------


def test_contexts_come_and_go(api: Caller) -> None:
    assert api.step("aclrtGetCurrentContext", 107002, context=Out()) is UNTOUCHED
    first = api.step("aclrtCreateContext", 0, deviceId=0, context=Out())
    second = api.step("aclrtCreateContext", 0, deviceId=0, context=Out())
    api.step("aclrtDestroyContext", 0, context=first)
    api.step("aclrtSetCurrentContext", 107000, "EE1018", context=first)
    assert api.step("aclrtGetCurrentContext", 0, context=Out()) == second
    api.step("aclrtDestroyContext", 107002, "EE1017", context=first)
    api.step("aclrtSetCurrentContext", 100000, "EH0008")
    api.step("aclrtDestroyContext", 0, context=second)
    api.step("aclrtGetDevice", 107002, deviceId=Out())
    assert api.step("aclrtCreateContext", 107001, "EE1003", deviceId=-1, context=Out()) is UNTOUCHED
    api.step("aclrtCreateContext", 100000, "EH0008", deviceId=0)


def test_the_primary_context_cannot_be_destroyed(api: Caller) -> None:
    api.step("aclrtSetDevice", 0, deviceId=0)
    primary = api.step("aclrtGetCurrentContext", 0, context=Out())
    api.step("aclrtDestroyContext", 107002, "EE1017", context=primary)
    assert api.step("aclrtGetCurrentContext", 0, context=Out()) == primary


def test_a_thread_in_the_primary_context_loses_it_with_the_reset(api: Caller) -> None:
    api.step("aclrtSetDevice", 0, deviceId=0)
    primary = api.step("aclrtGetCurrentContext", 0, context=Out())
    codes: list[int] = []
    was_reset, ready = threading.Event(), threading.Event()

    def other() -> None:
        codes.append(api.acl.call("aclrtSetCurrentContext", context=primary))
        ready.set()
        was_reset.wait(60)
        codes.append(api.acl.call("aclrtGetDevice", deviceId=Out()))
        codes.append(api.acl.call("aclrtSynchronizeDevice"))

    thread = threading.Thread(target=other)
    thread.start()
    assert ready.wait(60)
    api.step("aclrtResetDevice", 0, deviceId=0)
    was_reset.set()
    thread.join(60)
    assert codes == [0, 107002, 107002]


def test_the_default_streams_handle(api: Caller) -> None:
    assert api.step("aclrtCtxGetCurrentDefaultStream", 107002, "EE1018", stream=Out()) is UNTOUCHED
    api.step("aclrtSetDevice", 0, deviceId=0)
    handle = api.step("aclrtCtxGetCurrentDefaultStream", 0, stream=Out())
    assert handle
    assert api.step("aclrtCtxGetCurrentDefaultStream", 0, stream=Out()) == handle
    api.step("aclrtCtxGetCurrentDefaultStream", 100000, "EH0008")


def test_parameters_of_the_system(api: Caller) -> None:
    api.step("aclrtCtxGetSysParamOpt", 107002, "EE1018", opt=0, value=Out())
    api.step("aclrtSetDevice", 0, deviceId=0)
    for option in range(3):
        api.step("aclrtCtxGetSysParamOpt", 107021, opt=option, value=Out())
        api.step("aclrtCtxSetSysParamOpt", 0, opt=option, value=1)
        assert api.step("aclrtCtxGetSysParamOpt", 0, opt=option, value=Out()) == 1
    for name, wrong in (("aclrtCtxSetSysParamOpt", 3), ("aclrtSetSysParamOpt", 4), ("aclrtSetSysParamOpt", -1)):
        api.step(name, 100000, "EH0007", opt=wrong, value=1)
    assert api.step("aclrtGetSysParamOpt", 0, opt=3, value=Out()) == 0  # numbers of the process start at 0
    api.step("aclrtSetSysParamOpt", 0, opt=3, value=1)
    assert api.step("aclrtGetSysParamOpt", 0, opt=3, value=Out()) == 1
    api.step("aclrtCtxGetSysParamOpt", 100000, "EH0008", opt=0)


@pytest.mark.parametrize(
    "name", ["aclrtSetDevice", "aclrtResetDevice", "aclrtResetDeviceForce", "aclrtCreateContext", "aclrtDestroyContext"]
)
def test_calls_that_change_devices_wait_for_a_snapshot(name: str) -> None:
    found = find(name)
    assert found is not None
    assert found.waits_for_snapshot
