"""A pytest plug-in: devices as fixtures, on the fake by default, over many schedules if asked.

    def test_add(npu):
        x = npu.upload(numpy.ones(8, "f4"))
        ...

`npu` is `runtime.device(0)` of the process while the test runs: code under test that opens its device itself works on
the machine of the test. Which machine that is: NPUHAL_URL, else --npu-url, else npu_url of the ini file, else a fake.

Fixtures: npu, npus, npu_runtime, fake_hal, npu_reports, npu_schedule; npu_module and npu_session for set-ups that are
too slow to be made anew for each test. Marks: npu(soc, **options), npu_faults. `expected` is for tests of mistakes,
`sweep` lets each driver call of a program fail once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.checkers.report import Expected
    from runtime.testing.sweeps.cases import SweepReport
    from runtime.testing.sweeps.sweep import sweep
else:

    def __getattr__(name: str) -> object:
        """Load what is used; runs of pytest without a device pay nothing, not even for `npuhal.late`."""
        if name == "sweep":
            from runtime.testing.sweeps.sweep import sweep as found
        elif name == "SweepReport":
            from runtime.testing.sweeps.cases import SweepReport as found
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return found

__all__ = ["SweepReport", "expected", "sweep"]


def expected(*checks: str, match: str = "") -> Expected:
    """Expect reports of the fake's checkers from a block, as `pytest.warns` does warnings.

    >>> with expected("race", match="nothing orders") as found:
    ...     mistake(npu)
    >>> assert len(found) == 1

    What other checkers find in the block stays, and fails the test at its end.

    Args:
        checks: names of checkers (`fakes.checkers.CHECKS`); each must find something.
        match: a regular expression that one report of them must contain.

    Raises:
        AssertionError: at the end of the block, where a named checker has found nothing, or nothing that matches.
        TypeError: no name, or one that is none of a checker.
        RuntimeError: the process has no runtime on a fake whose checkers are on.
    """
    __tracebackhide__ = True
    from runtime.core.process import lifetime

    one = lifetime.started()
    machine = None if one is None or one.closed else getattr(one.hal, "fake", None)
    if machine is None:
        raise RuntimeError("expected(): the process does not run on a fake; ask for the fixture npu first")
    if machine.checks is None:
        raise RuntimeError(f"expected(): no checker is on in {one.url if one else ''}; add check=all to the URL")
    found: Expected = machine.reports.expected(*checks, match=match)
    return found
