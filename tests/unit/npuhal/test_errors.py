"""The error tree: every code has a name, most a class of meaning, all survive pickling."""

from __future__ import annotations

import pickle

import pytest

from npuhal import check, constants, errors

GENERAL = {  # no cure of their own kind: the driver's log has the reason
    "DRV_ERROR_INNER_ERR", "DRV_ERROR_IOCRL_FAIL", "DRV_ERROR_CONFIG_READ_FAIL", "DRV_ERROR_FILE_OPS",
    "DRV_ERROR_LOCAL_ABNORMAL_FILE", "DRV_ERROR_MEMORY_OPT_FAIL", "DRV_ERROR_COPY_USER_FAIL", "DRV_ERROR_RESERVED",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("DRV_ERROR_INVALID_VALUE", errors.InvalidArgument),
        ("DRV_ERROR_PARA_ERROR", errors.InvalidArgument),
        ("DRV_ERROR_OUT_OF_MEMORY", errors.OutOfMemory),
        ("DRV_ERROR_NO_RESOURCES", errors.NoCredit),
        ("DRV_ERROR_NO_STREAM_RESOURCES", errors.NoIds),
        ("DRV_ERROR_WAIT_TIMEOUT", errors.Timeout),
        ("DRV_ERROR_BUS_DOWN", errors.DeviceLost),
        ("DRV_ERROR_NOT_SUPPORT", errors.NotSupported),
        ("DRV_ERROR_REPEATED_INIT", errors.RepeatedInit),
        ("DRV_ERROR_UNINIT", errors.NotInitialised),
        ("DRV_ERROR_NOT_EXIST", errors.NotFound),
        ("DRV_ERROR_BUSY", errors.Busy),
        ("DRV_ERROR_OPER_NOT_PERMITTED", errors.PermissionDenied),
        ("DEV_ERROR_UNAUTHORIZED_ACCESS_DEVICE", errors.PermissionDenied),
        ("DRV_ERROR_STATUS_FAIL", errors.StateError),
        ("DRV_ERROR_SEND_MESG", errors.ChannelError),
    ],
)
def test_check_raises_the_class_of_the_meaning(name, kind):
    code = getattr(constants, name)
    with pytest.raises(kind, match=rf"halCall answered {name} \({code}\) \(device 3\): ") as caught:
        check(code, "halCall", "device 3")
    error = caught.value
    assert type(error) is kind
    assert (error.code, error.name, error.call, error.detail) == (code, name, "halCall", "device 3")
    assert error.hint in str(error)


def test_zero_is_no_error():
    check(0, "halCall")


def test_every_code_of_the_header_has_a_class_but_a_few():
    codes = {name: code for name, code in constants.enum("drvError_t").items() if code}
    general = {name for name, code in codes.items() if errors.error_class(code) is errors.HalError}
    assert general == GENERAL
    assert {errors.error_name(code) for code in codes.values()} == set(codes)


def test_class_table_and_hints_name_only_codes_of_the_header():
    names = set(constants.enum("drvError_t"))
    meanings = {name.partition("_ERROR_")[2] for name in names}
    listed = [meaning for _, text in errors._CLASSES for meaning in text.split()]
    assert set(listed) <= meanings
    assert len(listed) == len(set(listed))
    assert set(errors.HINTS) <= names


def test_a_code_the_header_does_not_know_keeps_its_number():
    with pytest.raises(errors.HalError, match=r"drvError_t\(4711\) \(4711\)"):
        check(4711, "halCall")


@pytest.mark.parametrize(
    "error",
    [
        errors.NoCredit(14, "halSqTaskSend", "sq 3"),
        errors.NotSupported.missing("halMemPoolMalloc", "libascend_hal.so"),
        errors.LibraryNotFound((("libascend_hal.so", "no such file"),)),
        errors.MissingSymbols("lib", ("halMemAlloc", "halMemFree"), "v100"),
        errors.StubLibrary("/stub/libascend_hal.so"),
        errors.BadUrl("bad"),
    ],
)
def test_errors_survive_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_library_not_found_lists_the_places_and_the_way_out():
    text = str(errors.LibraryNotFound((("a.so", "no such file"), ("/b/a.so", "wrong ELF class"))))
    assert "a.so: no such file" in text
    assert "/b/a.so: wrong ELF class" in text
    assert "NPUHAL_URL=fake://ascend910b3" in text
