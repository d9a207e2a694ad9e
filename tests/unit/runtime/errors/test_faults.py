"""Faults: what they carry, how they read, that they survive a process boundary, and that the first one is kept."""

from __future__ import annotations

import pickle
import threading

import pytest

from npuhal.errors import HalError, check
from runtime import errors


def hal_error(code: int, call: str, detail: str = "") -> HalError:
    with pytest.raises(HalError) as caught:
        check(code, call, detail)
    return caught.value


def test_a_fault_says_what_which_code_who_answers_and_what_to_do() -> None:
    problem = errors.fault("ACL_ERROR_RT_CONTEXT_NULL", "thread 'reader' has no context", hint="call set_device(0)")
    assert str(problem) == (
        "thread 'reader' has no context [107002 ACL_ERROR_RT_CONTEXT_NULL, core layer]\n  cure: call set_device(0)"
    )


@pytest.mark.parametrize("code", [107002, "ACL_ERROR_RT_CONTEXT_NULL", "RT_ERROR_CONTEXT_NULL", 0x07070001])
def test_public_and_inner_numbers_and_names_give_the_same_fault(code: int | str) -> None:
    problem = errors.fault(code)
    assert isinstance(problem, errors.ContextError)
    assert problem.code == 107002


@pytest.mark.parametrize("code", [0, "ACL_SUCCESS", 4711, "ACL_ERROR_RT_NOPE"])
def test_what_is_no_error_code_is_refused(code: int | str) -> None:
    with pytest.raises(ValueError, match="is no error code"):
        errors.fault(code)


def test_a_user_message_is_the_text_when_none_is_given() -> None:
    problem = errors.fault(107000, ee="EE1003", params=("rtMalloc", 0, "size", "(0, 2^64)"))
    assert problem.message == "rtMalloc: size is 0, which is out of range; expected (0, 2^64)"
    assert "107000 ACL_ERROR_RT_PARAM_INVALID EE1003" in str(problem)
    assert errors.user_text(problem).startswith("EE1003: rtMalloc: size is 0")


@pytest.mark.parametrize("params", [(), ("synchronize", "stream 3 is captured")])
def test_the_c_api_says_what_the_error_says_behind_the_number_of_its_message(params: tuple[str, ...]) -> None:
    problem = errors.fault(107027, "stream 3 is captured", ee="EE1016", params=params)
    assert problem.message == "stream 3 is captured"
    assert errors.user_text(problem) == f"EE1016: {problem}"


def test_without_a_message_the_text_is_the_error() -> None:
    problem = errors.fault(207000, "no such thing on this chip")
    assert errors.user_text(problem) == str(problem)


def test_an_unknown_message_number_is_refused() -> None:
    with pytest.raises(ValueError, match="EE1008"):
        errors.fault(107000, ee="EE1008")


@pytest.mark.parametrize(
    ("code", "builtin"),
    [(207001, MemoryError), (507046, TimeoutError), (107000, ValueError), (207000, NotImplementedError)],
)
def test_families_are_also_the_builtin_exception_of_their_meaning(code: int, builtin: type[Exception]) -> None:
    assert isinstance(errors.fault(code), builtin)


@pytest.mark.parametrize("code", [107002, 207001, 507046, 507015, 207000])
def test_a_fault_survives_pickling_whole(code: int) -> None:
    problem = errors.fault(code, "boom", ee="EE1001", params=("x",), hint="h", details={"stream": 4})
    problem.place = "script.py:7"  # type: ignore[attr-defined]
    copy = pickle.loads(pickle.dumps(problem))
    assert type(copy) is type(problem)
    assert copy.__dict__ == problem.__dict__
    assert str(copy) == str(problem)


def test_a_driver_error_becomes_the_fault_of_its_code_and_stays_as_its_cause() -> None:
    below = hal_error(48, "halResourceIdAlloc", "stream")
    problem = errors.from_hal(below, "creating a stream on device 0")
    assert isinstance(problem, errors.ResourceExhausted)
    assert (problem.code, problem.layer) == (207008, "core")
    assert (problem.hal_call, problem.hal_code, problem.hal_name) == (
        "halResourceIdAlloc",
        48,
        "DRV_ERROR_NO_STREAM_RESOURCES",
    )
    assert problem.__cause__ is below
    assert "halResourceIdAlloc answered 48 DRV_ERROR_NO_STREAM_RESOURCES" in str(problem)
    assert problem.hint == below.hint


def test_a_driver_error_without_an_own_code_is_a_general_one() -> None:
    assert errors.from_hal(hal_error(13, "halDeviceOpen")).code == 507899


def test_the_first_fault_is_kept_and_later_ones_are_chained_to_it() -> None:
    first, second = errors.fault(507015, "kernel add"), errors.fault(507001, "copy")
    kept = errors.FirstError()
    assert kept.keep(first) is first
    assert kept.keep(second) is first
    assert kept.keep(first) is first
    assert second.__cause__ is first
    assert kept.later == [second]
    assert kept.take() is first
    assert kept.first is None
    assert kept.later == []


def test_only_so_many_later_faults_are_kept() -> None:
    kept = errors.FirstError()
    for number in range(errors.FirstError.KEPT + 10):
        kept.keep(errors.fault(507001, f"task {number}"))
    assert len(kept.later) == errors.FirstError.KEPT
    assert kept.first is not None
    assert kept.first.message == "task 0"


def test_threads_agree_on_the_first_fault() -> None:
    kept = errors.FirstError()
    start = threading.Barrier(8)
    reported: list[errors.RuntimeFault] = []

    def fail(number: int) -> None:
        start.wait()
        reported.append(kept.keep(errors.fault(507001, f"thread {number}")))

    threads = [threading.Thread(target=fail, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id(problem) for problem in reported} == {id(kept.first)}
