"""What v201 writes otherwise for kernels: one die, cube kernels marked, self tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chips.tasks import AicKernel, CoreKernel

if TYPE_CHECKING:
    from chips.env import EncodeEnv

_SELF_TEST_MEMORY = 204800  # bytes of vector core memory left to a self test


def complete(fields: dict[str, int], task: CoreKernel, env: EncodeEnv, alone: bool) -> None:
    """Complete the fields of a kernel; a cube kernel in a fusion task is not marked."""
    fields["die_friendly"] = 0
    if alone and isinstance(task, AicKernel):
        fields["pi_mix"] = 1
    if task.self_test:
        fields |= {"stl": 1, "simt_dcu_size": _SELF_TEST_MEMORY}
