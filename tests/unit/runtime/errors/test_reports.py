"""Last error and recent messages: per thread, read and cleared, and blind to argument errors of the acl layer."""

from __future__ import annotations

import threading

import pytest

from runtime.errors import ThreadReports, fault


def test_the_last_error_stays_until_it_is_taken() -> None:
    reports = ThreadReports()
    assert reports.peek() == 0
    reports.post(fault(107002, "a"))
    reports.post(fault(207000, "b"))
    assert reports.peek() == 207000
    assert reports.take() == 207000
    assert reports.take() == 0


@pytest.mark.parametrize(("code", "ee"), [(100000, ""), (100000, "EH0008"), (107000, "EH0007"), (148046, "EH0007")])
def test_argument_errors_of_the_acl_layer_are_not_the_last_error(code: int, ee: str) -> None:
    reports = ThreadReports()
    reports.post(fault(107003, "a"))
    reports.post(fault(code, "b", ee=ee))
    assert reports.peek() == 107003


def test_messages_are_read_and_cleared_with_the_first_as_the_reason() -> None:
    reports = ThreadReports()
    reports.post(fault(107000, ee="EE1003", params=("f", 0, "size", "> 0")))
    reports.post(fault(507000, "set-up failed", ee="EE9999"))
    assert reports.message_ids() == ("EE9999", "EE1003")
    text = reports.take_text()
    assert text.startswith("EE1003: f: size is 0")
    assert "after that: EE9999: set-up failed" in text
    assert reports.take_text() == ""
    assert reports.message_ids() == ()


def test_a_fault_without_a_message_leaves_its_text_once() -> None:
    reports = ThreadReports()
    for _ in range(3):  # as who asks again and again
        reports.post(problem := fault(207000, "not on this chip"))
    assert reports.message_ids() == ()
    assert reports.take_text() == str(problem)


def test_only_the_first_messages_are_kept() -> None:
    reports = ThreadReports()
    for number in range(ThreadReports.KEPT + 5):
        reports.post(fault(107000, f"call {number}", ee="EE1001"))
    assert len(reports.message_ids()) == ThreadReports.KEPT
    assert reports.take_text().startswith("EE1001: call 0 [")


def test_threads_do_not_see_each_others_errors() -> None:
    reports = ThreadReports()
    reports.post(fault(107002, "here", ee="EE1018"))
    seen: list[object] = []
    other = threading.Thread(target=lambda: seen.extend((reports.peek(), reports.take_text())))
    other.start()
    other.join()
    assert seen == [0, ""]
    assert reports.peek() == 107002


def test_a_question_that_had_no_answer_is_withdrawn_and_nothing_else() -> None:
    reports = ThreadReports()
    for call in ("first", "aclrtGetDevice", "last"):
        reports.post(fault("ACL_ERROR_RT_CONTEXT_NULL", f"{call}: no device"))
        reports.withdraw("aclrtGetDevice")
    assert reports.take_text().count("no device") == 2
    reports.withdraw("aclrtGetDevice")
    assert reports.take_text() == ""
