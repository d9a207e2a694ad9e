"""The order of routes, and what each says about a task."""

from __future__ import annotations

import pytest

from chips.env import TaskIds
from chips.tasks import Nop, TaskType
from runtime import errors
from runtime.api import Stream
from runtime.core.submission.ring import TaskInfo
from runtime.core.submission.route import NORMAL, RouteRank, Verdict, group_exhausted, group_interrupted
from runtime.core.submission.task_ids import FIRST_PLACES, PooledRing, TaskPool


class Recording:
    """A route that notes what it was given."""

    immediate = False

    def __init__(self, name: str, rank: RouteRank, verdict: Verdict = Verdict.TAKES) -> None:
        self.name, self.rank, self.says = name, rank, verdict
        self.sent: list[bytes] = []

    def verdict(self, task_type: TaskType) -> Verdict:
        return self.says

    def alloc(self, stream: Stream, count: int, owner: TaskInfo) -> TaskIds:
        return stream.ring.take(count, 1, owner)

    def commit(self, stream: Stream, sqes: bytes) -> None:
        self.sent.append(sqes)

    def rollback(self, stream: Stream, count: int) -> bool:
        stream.ring.give_back(count)
        return True


def test_tasks_are_offered_in_the_fixed_order(stream: Stream) -> None:
    capture = Recording("capture", RouteRank.CAPTURE)
    update = Recording("update", RouteRank.UPDATE, Verdict.SKIPS)
    split = Recording("split", RouteRank.SPLIT, Verdict.SKIPS)
    for route in (capture, split, update):
        stream.install_route(route)
    assert [route.rank for route in stream.routes] == sorted(RouteRank)
    assert stream.route is update
    assert stream.sq_path == "update"
    stream.submit(Nop())
    assert (len(update.sent), len(split.sent), len(capture.sent)) == (0, 0, 1)
    update.says = Verdict.TAKES
    stream.submit(Nop())
    assert (len(update.sent), len(capture.sent)) == (1, 1)
    for rank in (RouteRank.UPDATE, RouteRank.SPLIT, RouteRank.CAPTURE):
        stream.remove_route(rank)
    assert stream.routes == (NORMAL,)
    stream.ring.give_back(1)
    stream.ring.give_back(1)


def test_a_refusal_stops_the_search_and_leaves_nothing(stream: Stream) -> None:
    stream.install_route(Recording("an update", RouteRank.UPDATE, Verdict.REFUSES))
    ended: list[int] = []
    with pytest.raises(errors.NotSupported) as caught:
        stream.submit(Nop(), finished=lambda: ended.append(1))
    assert (caught.value.code, caught.value.message_id) == (507009, "EE1006")
    assert ended == [1]
    assert stream.ring.submitted == 0


def test_all_skip_means_the_normal_way(stream: Stream) -> None:
    stream.install_route(Recording("capture", RouteRank.CAPTURE, Verdict.SKIPS))
    stream.submit(Nop())
    stream.remove_route(RouteRank.CAPTURE)
    stream.synchronize(1000)
    assert stream.ring.reclaimed == 1


def test_a_change_of_route_drops_prepared_launches(stream: Stream) -> None:
    stream.launchers["key"] = lambda: None
    stream.install_route(Recording("capture", RouteRank.CAPTURE))
    assert not stream.launchers
    stream.launchers["key"] = lambda: None
    stream.remove_route(RouteRank.CAPTURE)
    assert not stream.launchers


def test_faults_of_task_groups(stream: Stream) -> None:
    assert group_exhausted(stream, "kernel k").code == 507000
    assert group_interrupted(stream, "kernel k").code == 107034


def test_the_pool_grows_to_its_limit_and_no_further() -> None:
    pool = TaskPool(FIRST_PLACES + 1)
    assert all(pool.take() for _ in range(FIRST_PLACES + 1))
    assert pool.places == FIRST_PLACES + 1
    assert not pool.take()
    pool.give_back(1)
    assert pool.take()


def test_pooled_ids_count_on_and_skip_what_is_in_use() -> None:
    pool = TaskPool(100)
    ring = PooledRing(16, pool)
    assert [ring.take(1, 0, "t").task_id for _ in range(3)] == [0, 1, 2]
    ring.reclaim(1, lambda blocks: None)
    assert pool.used == 2
    ring._next = 0xFFFE
    assert ring.take(2, 0, "t").task_id == 0xFFFE
    assert ring.take(1, 0, "t").task_id == 0
    assert ring.take(1, 0, "t").task_id == 3
    assert ring.position_of(3) == 6
    ring.give_back(1)
    assert ring.take(1, 0, "t").task_id == 3
    ring.reclaim(ring.pending, lambda blocks: None)
    assert pool.used == 0


def test_a_pool_that_is_used_up_leaves_no_room() -> None:
    pool = TaskPool(1)
    ring = PooledRing(16, pool)
    ring.take(1, 0, "t")
    assert not ring.fits(1)
    with pytest.raises(errors.ResourceExhausted, match="all 1 tasks"):
        ring.take(1, 0, "t")
