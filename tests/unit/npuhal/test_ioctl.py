"""Requests, layouts, node probes and strace lines of the kernel interface."""

from __future__ import annotations

import ctypes
import errno
import os

import pytest
import yaml

from npuhal import constants, declarations, ioctl, structs
from npuhal.declarations import KERNEL_CHAPTERS
from tests.tools.corpus import corpus


@pytest.mark.parametrize(
    ("name", "code", "module", "argument"),
    [
        ("DAVINCI_INTF_IOCTL_OPEN", 0x5A00, "davinci_manager", "davinci_intf_open_arg"),
        ("TRS_RES_ID_ALLOC", 0xC02C5800, "TSDRV", "trs_res_id_para"),
        ("TRS_SQCQ_SEND", 0x40405813, "TSDRV", "halTaskSendInfo"),
        ("TRS_STL_BIND", 0x5815, "TSDRV", ""),
        ("SHR_ID_GET_INFO", 0xC0C84E0A, "TRS_SHR_ID", "shr_id_ioctl_info"),
        ("DEVMM_SVM_MEM_MAP", 0x41584D34, "SVM", "devmm_ioctl_arg"),
        ("SVM_MMS_STATS_MEM_CFG", 0x66805523, "svm", "mms_stats"),
        ("APM_RES_ADDR_MAP", 0xC0785508, "apm", "apm_cmd_res_map"),
        ("UDA_GET_DEV_LIST", 0xC0105502, "uda", "uda_dev_list"),
        ("URD_IOCTL_CMD", 0x5601, "URD", "urd_ioctl_arg"),
        ("QUEUE_ENQUEUE_CMD", 0x40705102, "QUEUE", "queue_ioctl_enqueue"),
        ("DEVDRV_MANAGER_GET_DEVINFO", 0x4D14, "DEVMNG", "devdrv_manager_hccl_devinfo"),
        ("HDCDRV_CMD_CONNECT", 0x4813, "HISI_HDC", "hdcdrv_cmd"),
        ("SCHED_SET_SCHED_CPU_ID", 0xC0085700, "ESCHED", ""),
        ("SCHED_QUERY_TABLE_ENTRY_STAT", 0xC008571B, "ESCHED", ""),
        ("DMS_SUBCMD_GET_DEV_SPLIT_MODE", 0x450F, "URD", ""),
        ("DMS_SUBCMD_GET_CHIP_INFO", 0x451D, "URD", ""),
    ],
)
def test_known_requests(name, code, module, argument):
    request = ioctl.request(name)
    assert (request.code, request.module, request.argument) == (code, module, argument)
    assert request in ioctl.find(code)
    assert ioctl.find(code, module) == (request,)


def test_letters_repeat_so_the_module_decides():
    names = {request.name for request in ioctl.find(0xC0105502)}
    assert {"UDA_GET_DEV_LIST", "APM_QUERY_SLAVE_PID_BY_LOCAL_MASTER", "RMO_GET_RES_LEN", "SVM_CASM_OP_TASK"} == names
    assert [request.name for request in ioctl.find(0xC0105502, "uda")] == ["UDA_GET_DEV_LIST"]


def test_the_multiplexers_own_requests_go_to_any_module():
    assert [request.name for request in ioctl.find(0x5A01, "TSDRV")] == ["DAVINCI_INTF_IOCTL_CLOSE"]


def test_unknown_requests():
    assert ioctl.find(0x12345678) == ()
    with pytest.raises(KeyError):
        ioctl.request("NO_SUCH_REQUEST")
    with pytest.raises(KeyError):
        ioctl.struct("no_such_struct")


def test_structs_shared_with_the_hal_are_the_same_classes():
    assert ioctl.struct("halTaskSendInfo") is structs.halTaskSendInfo
    assert ioctl.struct("trs_cmd_res_map").res_info.size == ctypes.sizeof(structs.res_addr_info)


def test_every_request_has_a_code_and_names_are_unique():
    requests = list(ioctl.requests())
    assert len({request.name for request in requests}) == len(requests)
    assert len({(request.module, request.code) for request in requests}) == len(requests)


def test_every_line_of_the_kernel_tables_belongs_to_a_row():
    for chapter in KERNEL_CHAPTERS:
        assert declarations._ROW.sub("", declarations._text(chapter)).strip() == ""


def test_all_measured_requests_and_layouts():
    document = yaml.load(corpus("data/ioctl_abi.yaml").read_text(), Loader=yaml.CSafeLoader)
    compared = set()
    for module in document["modules"].values():
        for measured in module["ioctls"]:
            assert ioctl.request(measured["name"]).code == measured["req"], measured["name"]
        for tag, measured in module["structs"].items():
            name = tag.split()[-1]
            try:
                struct = ioctl.struct(name)
            except KeyError:
                continue
            compared.add(name)
            assert ctypes.sizeof(struct) == measured["size"], name
            for path, _, offset, size, *bits in measured["fields"]:
                if not bits:
                    assert place(struct, path) == (offset, size), (name, path)
    arguments = {request.argument for request in ioctl.requests() if request.argument}
    assert arguments - set(structs.names()) <= compared


def place(struct, path):
    """Return (offset, size) of a field, inside of named unions too."""
    offset = 0
    for name in path.split("."):
        descriptor = getattr(struct, name)
        offset += descriptor.offset
        struct = {field: kind for field, kind, *_ in struct._fields_}.get(name)
    return offset, descriptor.size


# probes


@pytest.fixture
def root(tmp_path):
    (tmp_path / "dev").mkdir()
    return tmp_path


def states(root, **options):
    return {state.path: state for state in ioctl.probe_nodes(str(root), **options)}


def test_absent_nodes(root):
    found = states(root)
    assert set(found) == {"/dev/davinci_manager", "/dev/hisi_hdc"}
    assert not found["/dev/hisi_hdc"].exists
    assert found["/dev/hisi_hdc"].error == "ENOENT"


def test_no_dev_folder(tmp_path):
    assert [state.exists for state in ioctl.probe_nodes(str(tmp_path))] == [False, False]


def test_numbered_nodes_in_order_and_their_rights(root):
    for name in ("davinci_manager", "davinci0", "davinci10", "davinci2", "davinci_x", "davinci"):
        (root / "dev" / name).write_text("")
        (root / "dev" / name).chmod(0o660)
    found = states(root)
    assert [path for path in found if path.startswith("/dev/davinci") and path[-1].isdigit()] == [
        "/dev/davinci0",
        "/dev/davinci2",
        "/dev/davinci10",
    ]
    node = found["/dev/davinci0"]
    assert (node.exists, node.is_device, node.mode, node.in_group, node.error) == (True, False, 0o660, True, "")
    assert node.owner
    assert node.group


def test_a_node_that_cannot_be_opened(root, monkeypatch):
    (root / "dev" / "davinci_manager").write_text("")

    def refuse(path, flags):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "open", refuse)
    assert states(root)["/dev/davinci_manager"].error == "EPERM"
    assert states(root, try_open=False)["/dev/davinci_manager"].error == ""


def test_a_stranger_is_not_in_the_group(root, monkeypatch):
    (root / "dev" / "hisi_hdc").write_text("")
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    monkeypatch.setattr(os, "getegid", lambda: 4321)
    monkeypatch.setattr(os, "getgroups", list)
    assert not states(root)["/dev/hisi_hdc"].in_group


def test_character_devices_are_told_from_files(root):
    (root / "dev" / "hisi_hdc").symlink_to("/dev/null")
    assert states(root)["/dev/hisi_hdc"].is_device


def test_names_of_unknown_owners_are_numbers(root, monkeypatch):
    (root / "dev" / "hisi_hdc").write_text("")

    def unknown(number):
        raise KeyError(number)

    monkeypatch.setattr(ioctl.pwd, "getpwuid", unknown)
    assert states(root)["/dev/hisi_hdc"].owner == str(os.getuid())


# strace


@pytest.mark.parametrize(
    ("line", "names", "result", "error", "meaning"),
    [
        ("ioctl(7, 0xc02c5800, 0x7ffd1c) = 0", "TRS_RES_ID_ALLOC", 0, "", ""),
        (
            "[pid  812] 09:12:01.5 ioctl(7</dev/davinci_manager>, _IOC(_IOC_READ|_IOC_WRITE, 0x58, 0xf, 0x60), 0x7f)"
            " = -1 ENOSPC (No space left on device) <0.000031>",
            "TRS_SQCQ_ALLOC",
            -1,
            "ENOSPC",
            "DRV_ERROR_NO_RESOURCES",
        ),
        ("ioctl(4, _IOWR('X', 0x14, 0x48), 0x7f) = -1 EBUSY (x)", "TRS_SQCQ_RECV", -1, "EBUSY", "DRV_ERROR_BUS_DOWN"),
        ("ioctl(4, _IO('X', 21)) = -1 EINVAL (x)", "TRS_STL_BIND", -1, "EINVAL", "DRV_ERROR_IOCRL_FAIL"),
        ("ioctl(9, _IOC(_IOC_NONE, 0x4e, 1, 0), 0) = -1 EBUSY (x)", "SHR_ID_CREATE", -1, "EBUSY", "DRV_ERROR_BUSY"),
        ("ioctl(7, 0x40405813, 0x7ffd1c <unfinished ...>", "TRS_SQCQ_SEND", None, "", ""),
        ("ioctl(9, _IOC(_IOC_READ|_IOC_WRITE, 0x57, 8, 0x8), 0x7f) = 0", "SCHED_SUBMIT_EVENT_ID", 0, "", ""),
        ("ioctl(5, _IOC(_IOC_NONE, 0x45, 0x1d, 0), 0x7f) = 0", "DMS_SUBCMD_GET_CHIP_INFO", 0, "", ""),
    ],
)  # fmt: skip
def test_strace_lines(line, names, result, error, meaning):
    call = ioctl.decode_strace(line)
    assert call is not None
    assert (call.name, call.result, call.error, call.meaning) == (names, result, error, meaning)


def test_strace_line_of_an_unknown_module_gives_all_it_may_be():
    line = "ioctl(5, _IOR('U', 0, 0x14), 0x7ffd) = -1 EPERM (Operation not permitted)"
    call = ioctl.decode_strace(line)
    assert call is not None
    assert call.name == "APM_GET_SIGN/RMO_RES_MAP/UDA_GET_USER_INFO/SVM_CASM_CREATE_KEY"
    known = ioctl.decode_strace(line, module="uda")
    assert known is not None
    assert (known.name, known.descriptor, known.meaning) == ("UDA_GET_USER_INFO", 5, "DRV_ERROR_OPER_NOT_PERMITTED")


@pytest.mark.parametrize(
    "line",
    ["openat(AT_FDCWD, \"/x\", O_RDWR) = 3", "ioctl(1, TCGETS, {B38400}) = 0", "ioctl(3, 0x5401, 0) = 0", "", "ioctl(",
     "ioctl(3</dev/input/event3>, 0x4501, 0x7f) = 0"],
)  # fmt: skip
def test_lines_of_other_calls_are_left_alone(line):
    assert ioctl.decode_strace(line) is None


def test_errno_tables_name_codes_of_the_header():
    names = set(constants.enum("drvError_t"))
    for module in ("TSDRV", "SVM"):
        for error in errno.errorcode.values():
            assert ioctl.translate_errno(error, module) in names


BOX = """\
812 openat(AT_FDCWD, "/dev/davinci_manager", O_RDWR) = 5</dev/davinci_manager>
812 ioctl(5</dev/davinci_manager>, _IOC(_IOC_NONE, 0x5a, 0, 0), 0x7ffd) = 0
812 ioctl(5</dev/davinci_manager>, _IOC(_IOC_READ, 0x55, 0, 0x14), 0x7ffd) = -1 EPERM (Operation not permitted)
812 ioctl(5</dev/davinci_manager>, _IOC(_IOC_READ|_IOC_WRITE, 0x55, 0x2, 0x10), 0x7ffd) = 0
812 ioctl(5</dev/davinci_manager>, _IOC(_IOC_READ, 0x55, 0x1, 0x4), 0x7ffd <unfinished ...>
813 ioctl(6</dev/davinci_manager>, 0xc02c5800, 0x7f <unfinished ...>
812 <... ioctl resumed>) = 0
812 write(1, "x", 1) = 1
813 <... ioctl resumed>) = -1 ENOSPC (No space left on device)
812 close(5</dev/davinci_manager>) = 0
[pid   812] ioctl(5</dev/davinci_manager>, 0xc0085708, 0x7f) = 0
"""


def test_a_whole_trace_names_the_module_of_each_file_and_joins_what_was_cut():
    rows = ioctl.read_strace(BOX.splitlines())
    assert [(row.number, row.process, row.call.result) for row in rows] == [
        (2, 812, 0), (3, 812, -1), (4, 812, 0), (5, 812, 0), (6, 813, -1), (11, 812, 0),
    ]  # fmt: skip
    names = [row.call.name for row in rows]
    assert names[0] == "DAVINCI_INTF_IOCTL_OPEN"
    assert names[1:3] == ["UDA_GET_USER_INFO", "UDA_GET_DEV_LIST"]
    assert names[4:] == ["TRS_RES_ID_ALLOC", "SCHED_SUBMIT_EVENT_ID"]
    assert rows[1].call.meaning == "DRV_ERROR_OPER_NOT_PERMITTED"
    assert rows[4].call.meaning == "DRV_ERROR_NO_RESOURCES"
