"""`pytest --npu-torch`: tests of PyTorch programs on this runtime; what checkers find in a test fails that test."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

OPTION = "--npu-torch"


def add_option(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.getgroup("npu").addoption(
        OPTION, action="store_true",
        help="let torch_npu run on this runtime, without CANN; on a fake, operators are computed on the host",
    )


def configure(config: pytest.Config, url: str) -> None:
    """Make the process ready for torch_npu, where the option asks for it.

    Raises:
        pytest.UsageError: torch_npu is not installed, or its libraries cannot be made.
    """
    if not config.getoption(OPTION):
        return
    from npuhal.compiler import BuildError
    from runtime.capi.shim.torch.setup import prepare

    try:
        prepare(url)
    except BuildError as problem:
        raise pytest.UsageError(f"{OPTION}: {problem}") from None
    config.pluginmanager.register(TorchTests(), "npuhal-torch")


class TorchTests:
    """Looks at the checkers' reports when a test is over."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Fail a test whose work is wrong; a failure of its own goes first."""
        try:
            result = yield
        except BaseException:
            self._found()
            raise
        if found := self._found():
            pytest.fail("\n".join(map(str, found)), pytrace=False)
        return result

    def _found(self) -> tuple[Any, ...]:
        """Return what the checkers have found since the last test."""
        if "torch_npu" not in sys.modules:
            return ()
        from runtime.capi.shim.torch.reports import WORDS
        from runtime.capi.shim.torch.session import finish

        finish()
        return WORDS.taken()
