"""Every function that the fake models has codes that it may fail with, or stands among those that never do."""

from __future__ import annotations

import pytest

from fakes.errors import FakeError
from fakes.hal import modelled
from fakes.hal.codes import code_of, codes_of
from npuhal.errors import error_name

NEVER = {"drvFlushCache", "halSupportFeature", "halGetAPIVersion"}


def test_every_function_has_codes_that_the_headers_know() -> None:
    for name in modelled() - NEVER:
        codes = codes_of(name)
        assert codes, name
        assert 0 not in codes
        assert not [code for code in codes if error_name(code).startswith("drvError_t(")], name
    assert not any(map(codes_of, NEVER))


def test_codes_are_numbers_or_names() -> None:
    assert code_of("DRV_ERROR_BUSY") == code_of("BUSY") == code_of("13") == code_of("0xd") == 13
    with pytest.raises(FakeError, match="halNothing"):
        codes_of("halNothing")
