"""What the driver of STARS v1 refuses in an entry: it turns such an entry into an invalid one (hal_semantics 4.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chips.generations.v100.tables import LAYOUTS, NEVER_CREDIT

_ENDLESS = frozenset({"notify_wait", "event_wait", "aicpu", "aicpu_model", "aicpu_timeout", "host_callback"})
_FFTS = LAYOUTS["kernel_aic"].when["type"]


def inspect(layout: str, fields: Mapping[str, int]) -> Iterator[str]:
    """Say what is wrong with the values of a decoded entry."""
    if layout == "invalid":
        yield "an invalid entry: the scheduler answers with an SQE error"
        return
    if layout == "sdma" and not (fields["sssv"] and fields["dssv"]):
        yield "a copy without both sub-streams valid (sssv, dssv); the driver makes it an invalid entry"
    if layout == "sdma_pointer" and not (fields["va"] and fields["descriptor"]):
        yield "a copy by descriptor without a virtual address; the driver makes it an invalid entry"
    endless = fields.get("kernel_credit") == NEVER_CREDIT
    if endless and layout not in _ENDLESS and fields["type"] != _FFTS:
        yield "credit 255 is for waits, AICPU and FFTS entries only; the driver makes it an invalid entry"
