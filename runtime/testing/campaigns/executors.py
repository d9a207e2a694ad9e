"""What the jobs of a campaign are given to: processes of this machine, a Dask cluster, a Ray cluster.

Each is a `concurrent.futures.Executor`; a campaign needs nothing else of it. Dask and Ray are optional (`npuhal[dask]`,
`npuhal[ray]`) and must have this package on their workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from runtime import errors
from runtime.testing.campaigns import work

KINDS = ("processes", "dask:tcp://HOST:PORT", "ray:ray://HOST:PORT")
"""How an executor is named."""


@contextmanager
def opened(name: str, jobs: int = 0) -> Iterator[tuple[Executor, int]]:
    """Open an executor by its name, give it with how many jobs it does at a time, and shut it down afterwards.

    Args:
        name: one of `KINDS`.
        jobs: how many at a time; 0: as many as there are processors, of this machine or of the cluster.

    Raises:
        InvalidArgument 107000: no such executor. NotSupported 207000: the package for it is not installed.
    """
    kind, _, address = name.partition(":")
    if kind == "processes" and not address:
        width = jobs or os.cpu_count() or 1
        pool = ThreadPoolExecutor(width, "npuhal-campaign")  # each job has a process of its own
        try:
            yield pool, width
        finally:
            work.stop()
            pool.shutdown(cancel_futures=True)
    elif kind == "dask" and address:
        with _import("distributed", "dask").Client(address) as client:
            yield client.get_executor(pure=False, retries=2), jobs or sum(client.ncores().values()) or 1
    elif kind == "ray" and address:
        ray = _import("ray", "ray")
        ray.init(address, ignore_reinit_error=True)
        try:
            yield RayExecutor(ray), jobs or int(ray.cluster_resources().get("CPU", 1))
        finally:
            ray.shutdown()
    else:
        raise errors.fault(
            "ACL_ERROR_RT_PARAM_INVALID", f"{name!r} is no executor", hint=f"use {', '.join(KINDS)}"
        )


class RayExecutor(Executor):
    """Gives functions to a Ray cluster."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called on the cluster."""
        future: Future[Any] = self._ray.remote(fn).remote(*args, **kwargs).future()
        return future


def _import(module: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise errors.fault(
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", f"the package {module} is not installed",
            hint=f"pip install 'npuhal[{extra}]'",
        ) from missing
