"""Every finding of the doctor, each in a simulated root: what must be there for it, its sentence and its cure."""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from npuhal import ioctl
from runtime.cli import doctor
from runtime.cli.doctor import libraries, nodes, process, variables
from runtime.cli.doctor.findings import Finding, Level
from runtime.cli.doctor.machine import Machine
from runtime.cli.output import Output

DRIVER = "/usr/local/Ascend/driver/lib64/driver/libascend_hal.so"
SEC = "/usr/local/Ascend/driver/lib64/common/libc_sec.so"
TOOLKIT = "/usr/local/Ascend/ascend-toolkit/8.1/lib64"
NODES = ("/dev/davinci0", "/dev/davinci1", "/dev/davinci_manager", "/dev/hisi_hdc")
Build = Callable[..., Machine]
HEALTHY: dict[str, str] = {
    DRIVER: "",
    SEC: "",
    "/usr/local/Ascend/driver/version.info": "Version=25.2.0\nascendhal_version=7.36.24\n",
    "/etc/ascend_install.info": "Driver_Install_Path_Param=/usr/local/Ascend\n",
    "/etc/ld.so.conf.d/ascend_driver_so.conf": "/usr/local/Ascend/driver/lib64/driver\n",
    TOOLKIT + "/libruntime.so": "",
    TOOLKIT + "/libtsdclient.so": "",
    **dict.fromkeys(NODES, ""),
}
IN_CONTAINER = {"/.dockerenv": ""}
ON_TOOLKIT = {"LD_LIBRARY_PATH": TOOLKIT}


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Make a machine of files, leaving some of the healthy ones out."""

    def make(
        files: Mapping[str, str] = {},
        *,
        without: tuple[str, ...] = (),
        environ: Mapping[str, str] = ON_TOOLKIT,
        uid: int | None = None,
        gids: frozenset[int] = frozenset(),
        address_limit: int = resource.RLIM_INFINITY,
    ) -> Machine:
        for name, text in ({name: text for name, text in HEALTHY.items() if name not in without} | dict(files)).items():
            path = tmp_path / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Machine(
            root=tmp_path,
            environ=environ,
            uid=tmp_path.stat().st_uid if uid is None else uid,
            gids=gids,
            address_limit=address_limit,
        )

    return make


def one(findings: Iterable[Finding], level: Level) -> Finding:
    """The only finding of a level."""
    (found,) = [finding for finding in findings if finding.level is level]
    return found


def test_a_healthy_machine_has_no_problem_and_no_warning(build: Build) -> None:
    found = [finding for findings in doctor.diagnose(build()).values() for finding in findings]
    assert {finding.level for finding in found} <= {Level.OK, Level.NOTE}
    assert one(libraries._driver(build()), Level.OK).evidence.startswith("version 25.2.0, from /etc/ld.so.conf.d/")
    assert one(nodes.check(build()), Level.OK).situation == "2 device node(s), all open to this user"


# --- libraries


def test_no_driver_library_on_a_host(build: Build) -> None:
    found = one(libraries.check(build(without=(DRIVER,))), Level.PROBLEM)
    assert found.situation == "libascend_hal.so is not on this machine"
    assert DRIVER in found.evidence
    assert found.cure.startswith("install the Ascend driver package")
    assert "NPUHAL_URL=fake://ascend910b3" in found.cure


def test_no_driver_library_in_a_container(build: Build) -> None:
    found = one(libraries.check(build(IN_CONTAINER, without=(DRIVER,))), Level.PROBLEM)
    assert "-v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro" in found.cure


def test_a_driver_installed_elsewhere_is_found_by_its_install_file(build: Build) -> None:
    machine = build(
        {
            "/etc/ascend_install.info": "Driver_Install_Path_Param=/opt/npu\n",
            "/opt/npu/driver/lib64/driver/libascend_hal.so": "",
        },
        without=(DRIVER,),
    )
    found = list(libraries._driver(machine))
    assert found[0].situation == "driver library /opt/npu/driver/lib64/driver/libascend_hal.so"
    assert found[0].level is Level.OK


def test_the_named_library_is_not_there(build: Build) -> None:
    found = one(libraries.check(build(environ={"ASCEND_HAL_LIB": "/opt/gone.so"})), Level.PROBLEM)
    assert found.situation == "ASCEND_HAL_LIB names a file that is not there"
    assert found.cure == "correct or unset ASCEND_HAL_LIB"


def test_the_toolkits_stub_comes_first(build: Build) -> None:
    stub = "/usr/local/Ascend/ascend-toolkit/8.1/x86_64-linux/devlib/libascend_hal.so"
    machine = build({stub: ""}, environ={"LD_LIBRARY_PATH": f"{os.path.dirname(stub)}:{TOOLKIT}"})
    found = one(libraries.check(machine), Level.PROBLEM)
    assert "link stub" in found.situation
    assert found.evidence == f"{stub} (from LD_LIBRARY_PATH)"
    assert found.cure.startswith(f"take {os.path.dirname(stub)} out of LD_LIBRARY_PATH")


def test_a_stub_behind_the_driver_does_no_harm(build: Build) -> None:
    stub = "/opt/devlib/libascend_hal.so"
    machine = build({stub: ""}, environ={"LD_LIBRARY_PATH": f"{os.path.dirname(DRIVER)}:/opt/devlib:{TOOLKIT}"})
    assert all(finding.level is Level.OK for finding in libraries.check(machine))


def test_two_driver_libraries_on_the_path(build: Build) -> None:
    machine = build({"/opt/old/libascend_hal.so": ""}, environ={"LD_LIBRARY_PATH": f"/opt/old:{TOOLKIT}"})
    found = one(libraries.check(machine), Level.WARNING)
    assert "more than one driver library" in found.situation
    assert found.evidence == f"/opt/old/libascend_hal.so, {DRIVER}"
    assert "keep one folder" in found.cure


def test_the_driver_library_is_not_readable(build: Build) -> None:
    machine = build(uid=54321)
    machine.path(DRIVER).chmod(0o600)
    found = one(libraries.check(machine), Level.PROBLEM)
    assert found.situation == "the driver library may not be read by this user"
    assert "-rw-------" in found.evidence
    assert "make it readable" in found.cure


def test_what_the_driver_library_needs_is_missing(build: Build) -> None:
    found = one(libraries.check(build(without=(SEC,))), Level.PROBLEM)
    assert found.situation.startswith("libc_sec.so")
    assert SEC in found.evidence
    assert "install the driver whole" in found.cure


def test_no_toolkit_is_a_note_and_its_daemon_a_warning(build: Build) -> None:
    found = list(libraries.check(build(environ={})))
    assert "does not need one" in one(found, Level.NOTE).situation
    warning = one(found, Level.WARNING)
    assert warning.situation.startswith("libtsdclient.so is not on the loader's path")
    assert "set_env.sh" in warning.cure


def test_mixed_toolkits_are_named_with_their_versions(build: Build) -> None:
    old = "/opt/cann/8.0/lib64"
    machine = build(
        {
            old + "/libruntime_v100.so": "",
            "/opt/cann/8.0/version.cfg": "runtime_running_version=[8.0.RC3:8.0]\n",
            "/usr/local/Ascend/ascend-toolkit/8.1/version.info": "Version=8.1.0\n",
        },
        environ={"LD_LIBRARY_PATH": f"{TOOLKIT}:{old}"},
    )
    found = one(libraries.check(machine), Level.WARNING)
    assert found.situation == "parts of the CANN runtime of different versions would be mixed in one process"
    assert f"libruntime_v100.so in {old} (8.0.RC3)" in found.evidence
    assert f"libruntime.so in {TOOLKIT} (8.1.0)" in found.evidence
    assert "set_env.sh of one toolkit only" in found.cure


def test_a_second_toolkit_that_is_not_used_is_a_note(build: Build) -> None:
    machine = build({"/opt/cann/lib64/libruntime.so": ""}, environ={"LD_LIBRARY_PATH": f"{TOOLKIT}:/opt/cann/lib64"})
    found = one(libraries.check(machine), Level.NOTE)
    assert "not used: /opt/cann/lib64/libruntime.so" in found.evidence


# --- device nodes


@pytest.mark.parametrize(
    ("files", "cure"),
    [
        ({}, "install the Ascend driver package, or load it"),
        ({"/proc/modules": "ext4 1 2\ndrv_devmng_host 1 2\n"}, "the driver is loaded but found no card"),
        (IN_CONTAINER, "start the container with --device /dev/davinci0"),
        ({"/proc/1/cgroup": "0::/kubepods/besteffort/x\n"}, "start the container with --device /dev/davinci0"),
    ],
)
def test_no_device_node(build: Build, files: dict[str, str], cure: str) -> None:
    found = one(nodes.check(build(files, without=NODES)), Level.PROBLEM)
    assert found.situation == "there is no NPU device node"
    assert found.cure.startswith(cure)
    assert ("drv_devmng_host" in found.evidence) == ("/proc/modules" in files)


@pytest.mark.parametrize(
    ("files", "cure"), [({}, "load the Ascend driver"), (IN_CONTAINER, "start the container with")]
)
def test_no_manager_node(build: Build, files: dict[str, str], cure: str) -> None:
    found = one(nodes.check(build(files, without=("/dev/davinci_manager",))), Level.PROBLEM)
    assert "no /dev/davinci_manager" in found.situation
    assert found.cure.startswith(cure)


@pytest.mark.parametrize(
    ("files", "cure"), [({}, "load the Ascend driver whole"), (IN_CONTAINER, "add --device /dev/hisi_hdc")]
)
def test_no_channel_node(build: Build, files: dict[str, str], cure: str) -> None:
    found = one(nodes.check(build(files, without=("/dev/hisi_hdc",))), Level.WARNING)
    assert "no /dev/hisi_hdc" in found.situation
    assert found.cure.startswith(cure)


@pytest.mark.parametrize(
    ("files", "cure"),
    [({}, "sudo usermod -aG HwHiAiUser $USER"), (IN_CONTAINER, "run the container with --group-add HwHiAiUser")],
)
def test_nodes_of_another_group(build: Build, files: dict[str, str], cure: str) -> None:
    machine = build(files, uid=54321)
    gid = machine.root.stat().st_gid
    machine.path("/etc/group").write_text(f"daemon:x:1:\nHwHiAiUser:x:{gid}:\n")
    for node in NODES:
        machine.path(node).chmod(0o660)
    found = one(nodes.check(machine), Level.PROBLEM)
    assert found.situation == "this user may not open the device nodes"
    assert "/dev/davinci0 (-rw-rw---- uid" in found.evidence
    assert found.cure.startswith(cure)


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        ("EPERM", "start it with --device /dev/davinci1"),
        ("EACCES", "see the audit log"),
        ("ENXIO", "npu-smi info"),
        ("ENODEV", "npu-smi info"),
        ("EBUSY", "another container holds the device"),
        ("EIO", "see dmesg"),
    ],
)
def test_a_node_that_does_not_open(build: Build, error: str, cure: str) -> None:
    state = ioctl.NodeState("/dev/davinci1", True, True, 0o660, "root", "HwHiAiUser", True, error)
    machine = replace(build(), uid=os.geteuid(), probe=lambda root: [state])
    found = one(nodes.check(machine), Level.PROBLEM)
    assert found.situation == "/dev/davinci1 cannot be opened, although its permissions allow it"
    assert found.evidence == f"{error}; mode 660, owner root, group HwHiAiUser"
    assert cure in found.cure


def test_a_folder_where_a_node_should_be(build: Build) -> None:
    machine = build(without=("/dev/davinci1",))
    machine.path("/dev/davinci1").mkdir()
    found = one(nodes.check(replace(machine, uid=os.geteuid())), Level.PROBLEM)
    assert found.evidence.startswith("EISDIR; mode")
    assert "this is a folder" in found.cure


def test_a_member_of_the_group_and_root_may_open_the_nodes(build: Build) -> None:
    gid = build().root.stat().st_gid
    for machine in (build(uid=54321, gids=frozenset({gid})), build(uid=0)):
        for node in NODES:
            machine.path(node).chmod(0o660)
        assert one(nodes.check(machine), Level.OK).cure == ""


def test_devices_are_ordered_by_number(build: Build) -> None:
    machine = build({"/dev/davinci10": "", "/dev/davinci2": ""})
    assert nodes.device_nodes(machine) == ["/dev/davinci0", "/dev/davinci1", "/dev/davinci2", "/dev/davinci10"]


def test_a_container_without_the_drivers_folder(build: Build) -> None:
    gone = tuple(name for name in HEALTHY if name.startswith(("/usr/local/Ascend/driver", "/etc/ascend")))
    found = one(nodes.check(build(IN_CONTAINER, without=gone)), Level.PROBLEM)
    assert found.situation == "devices are mapped into this container, but the driver's folder is not"
    assert found.cure.startswith("add -v /usr/local/Ascend/driver")


def test_a_container_renumbers_devices(build: Build) -> None:
    machine = build({**IN_CONTAINER, "/dev/davinci4": "", "/dev/davinci6": ""}, without=NODES[:2])
    found = one(nodes.check(machine), Level.NOTE)
    assert found.evidence.startswith("davinci4 is 0, davinci6 is 1")


# --- the process


def test_a_limited_address_space(build: Build) -> None:
    found = one(process.check(build(address_limit=8 << 30)), Level.WARNING)
    assert found.evidence.startswith("RLIMIT_AS is 8192 MiB")
    assert found.cure == "ulimit -v unlimited"


def test_the_address_sanitizer(build: Build) -> None:
    found = one(process.check(build(environ={"LD_PRELOAD": "/usr/lib/libasan.so.6"})), Level.WARNING)
    assert "address sanitizer" in found.situation
    assert "run without the sanitizer" in found.cure


def test_another_runtime_in_this_process(build: Build) -> None:
    maps = "7f00-7f01 r-xp 0 08:01 1 /usr/local/Ascend/lib64/libruntime_v100.so\n7f02-7f03 rw-p 0 0:0 0 [heap]\n"
    found = one(process.check(build({"/proc/self/maps": maps})), Level.PROBLEM)
    assert found.evidence == "/usr/local/Ascend/lib64/libruntime_v100.so"
    assert "do not import acl or torch_npu" in found.cure


def holders(machine: Machine, count: int) -> None:
    for pid in range(100, 100 + count):
        folder = machine.path(f"/proc/{pid}/fd")
        folder.mkdir(parents=True)
        (folder / "5").symlink_to("/dev/davinci_manager")
        (folder.parent / "comm").write_text("python3\n")


def test_others_on_the_device_are_a_note(build: Build) -> None:
    machine = build()
    holders(machine, 2)
    found = one(process.check(machine), Level.NOTE)
    assert found.situation == "2 other process(es) use the driver"
    assert found.evidence == "100 python3, 101 python3"


def test_a_device_that_is_nearly_full(build: Build) -> None:
    machine = build()
    holders(machine, 60)
    found = one(process.check(machine), Level.WARNING)
    assert found.situation == "60 processes use the driver; a device takes 64"
    assert "end processes" in found.cure


# --- the environment


@pytest.mark.parametrize(
    ("mask", "level", "situation"),
    [
        ("0,1", Level.NOTE, "selects and renumbers"),
        ("1", Level.NOTE, "selects and renumbers"),
        ("1,0", Level.PROBLEM, "hides every device: its ids do not ascend"),
        ("1,1", Level.PROBLEM, "hides every device: an id stands in it twice"),
        ("", Level.PROBLEM, "hides every device: it names no device"),
        ("7", Level.PROBLEM, "hides every device: it names no device"),
        ("0, 1", Level.WARNING, "read only up to ' 1'"),
        ("0,9", Level.WARNING, "read only up to '9'"),
    ],
)
def test_the_visible_device_mask(build: Build, mask: str, level: Level, situation: str) -> None:
    (found,) = variables.check(build(environ={"ASCEND_RT_VISIBLE_DEVICES": mask}))
    assert found.level is level
    assert situation in found.situation
    assert (found.cure == "") == (level is Level.NOTE)


def test_the_mask_tells_which_device_is_which(build: Build) -> None:
    (found,) = variables.check(build(environ={"ASCEND_RT_VISIBLE_DEVICES": "1"}))
    assert found.evidence == "ASCEND_RT_VISIBLE_DEVICES='1': device 0 is davinci1"


def test_a_mask_without_any_device(build: Build) -> None:
    (found,) = variables.check(build(without=NODES, environ={"ASCEND_RT_VISIBLE_DEVICES": "0"}))
    assert "no device it could select" in found.situation
    assert found.cure.startswith("unset it")


@pytest.mark.parametrize(
    ("name", "value", "situation"),
    [
        ("ASCEND_GLOBAL_LOG_LEVEL", "5", "is not a number from 0 to 4"),
        ("ASCEND_GLOBAL_LOG_LEVEL", "error", "is not a number from 0 to 4"),
        ("ASCEND_MODULE_LOG_LEVEL", "RUNTIME=1,GE=2", "all of it is ignored"),
        ("ASCEND_HOST_LOG_FILE_NUM", "0", "is not a number from 1 to 1000"),
        ("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "180001", "is not a number from 0 to 180000"),
        ("ASCEND_TRACE_RECORD_NUM", "9", "is not a number from 10 to 1000"),
        ("AUTO_USE_UC_MEMORY", "yes", "is none of 0, 1"),
        ("ASCEND_PROCESS_LOG_PATH", "logs", "is not an absolute path"),
        (
            "ASCEND_PROCESS_LOG_PATH",
            "/etc/ascend_install.info/x",
            "lies below /etc/ascend_install.info, which is a file",
        ),
        ("ASCEND_SLOG_PRINT_TO_STDOUT", "1", "is the old name of ASCEND_LOG_PRINT_TO_STDOUT and goes away"),
        ("ASCEND_RT_VISIBLE_DEVICE", "0", "is read by nobody"),
    ],
)
def test_values_and_names_that_do_not_work(build: Build, name: str, value: str, situation: str) -> None:
    (found,) = variables.check(build({"/etc/ld.so.conf.d/x.conf": ""}, environ={name: value}))
    assert found.level is Level.WARNING
    assert found.situation.startswith(name)
    assert situation in found.situation
    assert found.evidence == (f"{name} is set" if "nobody" in situation else f"{name}={value}")
    assert found.cure


def test_a_door_that_does_not_exist(build: Build) -> None:
    (found,) = variables.check(build(environ={"NPUHAL_URL": "fakes://ascend910b3"}))
    assert found.level is Level.PROBLEM
    assert "unknown scheme 'fakes'" in found.situation
    assert found.cure.startswith("correct or unset NPUHAL_URL")


def test_a_log_folder_that_is_not_writable(build: Build) -> None:
    machine = build(environ={"ASCEND_WORK_PATH": "/var/log/npu"}, uid=54321)
    machine.path("/var/log").mkdir(parents=True)
    machine.path("/var/log").chmod(0o755)
    (found,) = variables.check(machine)
    assert "is a folder this user may not write to (drwxr-xr-x" in found.situation


def test_the_old_name_loses_against_the_new_one(build: Build) -> None:
    environ = {"ASCEND_SLOG_PRINT_TO_STDOUT": "1", "ASCEND_LOG_PRINT_TO_STDOUT": "0"}
    found = one(variables.check(build(environ=environ)), Level.WARNING)
    assert "which is set too and wins" in found.situation


@pytest.mark.parametrize(
    ("name", "value", "situation"),
    [
        ("ASCEND_RT_LAUNCH_BLOCKING", "1", "makes every launch wait"),
        ("ASCEND_MODULE_LOG_LEVEL", "RUNTIME=1:GE=2", "log level per module"),
        ("NPUHAL_URL", "fake://ascend910b3?devices=2", "which backend"),
        ("ASCEND_VISIBLE_DEVICES", "0", "has no effect here: it is read by the container tool"),
        ("ASCEND_WORK_PATH", "/tmp/made/later", "where logs and dumps go"),
    ],
)
def test_a_set_variable_is_told_with_its_effect(build: Build, name: str, value: str, situation: str) -> None:
    (found,) = variables.check(build(environ={name: value}))
    assert found.level is Level.NOTE
    assert situation in found.situation


def test_variables_of_others_are_left_alone(build: Build) -> None:
    assert list(variables.check(build(environ={"PATH": "/bin", "PYTHONPATH": "x", "PROFILING_MODE": "true"}))) == []


# --- the command


def test_a_bad_door_does_not_keep_the_doctor_from_looking(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = build(environ={"NPUHAL_URL": "nonsense", **ON_TOOLKIT})
    monkeypatch.setattr(doctor, "Machine", lambda: machine)
    out = Output(io.StringIO())
    assert doctor.run(argparse.Namespace(json=True, probe=False, bundle=None, url=None, device=0, elf=None), out) == 1
    assert isinstance(out.stream, io.StringIO)
    assert set(json.loads(out.stream.getvalue())["findings"]) == {"libraries", "devices", "process", "environment"}


def test_a_check_that_breaks_is_a_finding(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(machine: Machine) -> object:
        raise OSError("no entry")

    monkeypatch.setattr(doctor, "SECTIONS", (("devices", broken),))
    found = doctor.diagnose(build())["devices"][0]
    assert found.situation == "the check of devices could not be finished"
    assert found.evidence == "OSError: no entry"


def test_an_empty_root_has_findings_and_no_traceback(tmp_path: Path) -> None:
    found = doctor.diagnose(Machine(root=tmp_path, environ={}))
    assert [finding.level for finding in found["libraries"]] == [Level.PROBLEM, Level.NOTE]
    assert not [
        finding for findings in found.values() for finding in findings if "could not be finished" in finding.situation
    ]


def test_every_problem_and_warning_has_a_cure(tmp_path: Path) -> None:
    environ = {"ASCEND_GLOBAL_LOG_LEVEL": "x", "ASCEND_RT_VISIBLE_DEVICES": "x"}
    for findings in doctor.diagnose(Machine(root=tmp_path, environ=environ, address_limit=1)).values():
        for finding in findings:
            assert finding.cure or finding.level in (Level.NOTE, Level.OK)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_prints_findings_and_tells_by_its_status(
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
    as_json: bool,
) -> None:
    healthy, broken = build(), build(environ={"ASCEND_RT_VISIBLE_DEVICES": "1,0", **ON_TOOLKIT})
    for machine, status in ((healthy, 0), (broken, 1)):
        monkeypatch.setattr(doctor, "Machine", lambda machine=machine: machine)
        out = Output(io.StringIO())
        arguments = argparse.Namespace(json=as_json, probe=False, bundle=None, url=None, device=0, elf=None)
        assert doctor.run(arguments, out) == status
        assert isinstance(out.stream, io.StringIO)
        text = out.stream.getvalue()
        if as_json:
            assert set(json.loads(text)["findings"]) == {"libraries", "devices", "process", "environment"}
        else:
            assert ("PROBLEM  the visible-device mask" in text) == bool(status)
            assert ("cure: give ascending ids" in text) == bool(status)


def test_a_library_that_the_url_names_is_looked_at(build: Build) -> None:
    elsewhere = "/opt/driver/libascend_hal.so"
    machine = build({elsewhere: ""}, environ={**ON_TOOLKIT, "NPUHAL_URL": f"hal://{elsewhere}"}, without=(DRIVER,))
    findings = list(libraries.check(machine))
    assert any(finding.situation == f"driver library {elsewhere}" for finding in findings)
    assert any("from NPUHAL_URL" in finding.evidence for finding in findings)


def test_a_url_that_names_no_file_is_a_problem(build: Build) -> None:
    machine = build(environ={**ON_TOOLKIT, "NPUHAL_URL": "hal:///opt/nowhere.so"})
    (finding, *_) = libraries.check(machine)
    assert (finding.level, finding.evidence) == (Level.PROBLEM, "/opt/nowhere.so")
    assert finding.cure == "correct or unset NPUHAL_URL"


@pytest.mark.parametrize(
    ("modules", "told"), [("ext4 1 2\n", True), ("asdrv_pbl 1 2\n", False), ("asdrv_vpbl 1 2\n", False)]
)
def test_a_driver_that_the_library_does_not_see(build: Build, modules: str, told: bool) -> None:
    machine = build({"/proc/modules": modules})
    found = [row for row in nodes.check(machine) if "does not find its kernel module" in row.situation]
    assert bool(found) == told
    if told:
        assert found[0].level is Level.WARNING
        assert "asdrv_pbl, asdrv_vpbl" in found[0].evidence
