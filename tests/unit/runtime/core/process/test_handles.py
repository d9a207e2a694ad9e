"""Handles that go stale safely, and children held weakly."""

from __future__ import annotations

import gc
import threading

import pytest

from runtime import errors
from runtime.core.process.handles import Children, HandleTable


class Thing:
    """Something with a handle."""


class Other:
    """Something of another kind."""


def test_zero_is_never_given_out_and_never_found() -> None:
    table = HandleTable()
    assert table.add(Thing()) != 0
    with pytest.raises(errors.InvalidHandle):
        table.get(0, Thing)


def test_a_handle_finds_its_object() -> None:
    table, thing = HandleTable(), Thing()
    handle = table.add(thing)
    assert table.get(handle, Thing) is thing
    assert len(table) == 1


def test_a_stale_handle_never_reaches_the_next_object() -> None:
    table, new = HandleTable(), Thing()
    old = table.add(Thing())
    table.remove(old)
    fresh = table.add(new)
    assert fresh != old
    assert table.get(fresh, Thing) is new
    with pytest.raises(errors.InvalidHandle, match="no live thing") as caught:
        table.get(old, Thing)
    assert (caught.value.code, caught.value.message_id) == (107017, "EE1017")


def test_removing_twice_or_with_a_stale_handle_does_nothing() -> None:
    table = HandleTable()
    old = table.add(Thing())
    table.remove(old)
    fresh = table.add(Thing())
    table.remove(old)
    assert isinstance(table.get(fresh, Thing), Thing)
    assert len(table) == 1


def test_a_slot_is_used_a_thousand_times_under_a_thousand_handles() -> None:
    table, handles = HandleTable(), set()
    for _ in range(1000):
        handle = table.add(Thing())
        handles.add(handle)
        table.remove(handle)
    assert len(handles) == 1000
    assert len(table) == 0


@pytest.mark.parametrize("handle", [-1, 1 << 70, 0xFFFFFF, 12345, -(1 << 24)])
def test_numbers_that_were_never_handles(handle: int) -> None:
    table = HandleTable()
    table.add(Thing())
    with pytest.raises(errors.InvalidHandle):
        table.get(handle, Thing)
    table.remove(handle)
    assert len(table) == 1


def test_a_handle_of_another_kind_is_refused() -> None:
    table = HandleTable()
    with pytest.raises(errors.InvalidHandle, match="no live other"):
        table.get(table.add(Thing()), Other)


def test_handles_stay_apart_when_threads_make_and_drop_them() -> None:
    table = HandleTable()
    mixed_up: list[int] = []

    def work() -> None:
        for _ in range(300):
            thing = Thing()
            handle = table.add(thing)
            if table.get(handle, Thing) is not thing:
                mixed_up.append(handle)
            table.remove(handle)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mixed_up == []
    assert len(table) == 0


def test_children_are_seen_in_order_and_forgotten_with_their_last_reference() -> None:
    children, first, second = Children(), Thing(), Thing()
    children.add(first)
    children.add(second)
    assert list(children) == [first, second]
    del first
    gc.collect()
    assert list(children) == [second]
    children.remove(second)
    children.remove(second)
    assert len(children) == 0


def test_children_may_be_removed_while_they_are_looked_at() -> None:
    children, things = Children(), [Thing() for _ in range(5)]
    for thing in things:
        children.add(thing)
    for child in children:
        children.remove(child)
    assert len(children) == 0
