"""Secrets inside of values: what a helper gets instead, and what stays."""

from __future__ import annotations

import pytest

from runtime.cli.doctor.secrets import hidden, printable


@pytest.mark.parametrize(("given", "shown"), [
    ("fake://ascend910b3?seed=3&password=Pw9&x=1", "fake://ascend910b3?seed=3&password=***&x=1"),
    ("https://bob:Pw9@host/x", "https://***@host/x"),
    ("https://bob:P@w/9@host/x", "https://***@host/x"),
    ("git+https://oauth2:ghp_9@host/x.git", "git+https://***@host/x.git"),
    ("http://Pw9@host", "http://***@host"),
    ("/home/bob:Pw9@host/log", "/home/***@host/log"),
    ("/opt/token=Pw9/lib", "/opt/token=***"),
    ("https://h/?sig=Pw9&key=Pw9&api_key=Pw9", "https://h/?sig=***&key=***&api_key=***"),
    ("Authorization: Bearer Pw9.x", "Authorization: Bearer ***"),
    ("TOKEN%3DPw9", "TOKEN%3D***"),
])  # fmt: skip
def test_a_secret_is_hidden(given: str, shown: str) -> None:
    assert hidden(given) == shown
    assert hidden({given: [given, 5, None]}) == {shown: [shown, 5, None]}


@pytest.mark.parametrize("text", [
    "/opt/x@1.2/bin:/opt/y@2/bin", "tcp://host:8786/x", "signal=3 key=5 author=me", "/root/bin:/usr/bin",
    "fake://ascend910b3?seed=3&check=all,leak", "hal:///usr/lib64/libascend_hal.so", "task 3: 0x51: failed", "",
])  # fmt: skip
def test_what_is_none_stays(text: str) -> None:
    assert hidden(text) == text


def test_one_line_of_any_text() -> None:
    assert printable("a\nb\x1b[31m\udcff \u2028\u00e9") == "a\\nb\\x1b[31m\\udcff \\u2028\u00e9"
