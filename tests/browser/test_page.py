"""The trace page in a headless browser, by mouse and keys: zoom, pan, hover, selection, finding, both colour schemes.

Run by `make test-browser`. The page is a file; it must ask for nothing but itself, and have nothing to complain about.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.api import Runtime
from tests.browser.driver import Browser, browser
from tests.unit.runtime.trace.scenes import SCENES, traced

pytestmark = pytest.mark.soak
ESCAPE = "\ue00c"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page of every scene."""
    folder = tmp_path_factory.mktemp("pages")
    for name in SCENES:
        machine = Runtime("fake://ascend910b3?devices=2")
        traced(name, machine).write(folder / f"{name}.html")
        machine.close(force=True)
    return folder


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser window."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.open(Path(os.devnull))  # leaves the browser's own first page
        yield opened


@pytest.fixture
def loop(window: Browser, pages: Path) -> Iterator[Browser]:
    """The page of twenty launches, in a wide window; afterwards the console must be empty and nothing asked for."""
    window.log("browser")
    window.open(pages / "loop.html")
    window.requested()
    window.resize(1300, 900)
    yield window
    assert window.log("browser") == []
    assert window.requested() == []


def view(page: Browser) -> tuple[float, float]:
    began, ended = map(float, page.run("return document.body.dataset.view").split())
    return began, ended


def middle(page: Browser, bar: str) -> tuple[float, float]:
    """Where the middle of a bar is in the window; the bar is given as an expression."""
    x, y = page.run(
        f"const bar = {bar}; byId('view').scrollIntoView({{block: 'center'}});"
        "const box = timeline.canvas.getBoundingClientRect(), y = bar.row.y + (bar.depth + 0.5) * LANE;"
        "return [box.left + timeline.x((bar.began + bar.ended) / 2), box.top + y - timeline.box.scrollTop]"
    )
    return x, y


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1300, 420])
def test_every_scene_draws_itself_without_a_word_or_a_request(
    window: Browser, pages: Path, scene: str, dark: bool, width: int
) -> None:
    window.log("browser")
    window.requested()
    window.dark(dark)
    window.resize(width, 900)
    window.open(pages / f"{scene}.html")
    window.settle()
    assert {address.partition(":")[0] for address in window.requested()} <= {"file", "data"}
    assert window.log("browser") == []
    bars, arrows = map(int, window.run("return document.body.dataset.drawn.match(/\\d+/g)"))
    assert bars > 3
    assert arrows == window.run("return model.edges.length")
    assert (arrows == 0) == (scene in ("loop", "threads", "stretches", "memory"))
    assert window.run("return document.documentElement.scrollWidth <= innerWidth")
    back = window.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(back) < 300) == dark
    lit = window.run(  # the colours on the canvas follow the scheme too
        "return [...timeline.canvas.getContext('2d').getImageData(timeline.width - 3, timeline.height - 3, 1, 1).data]"
    )
    assert (sum(lit[:3]) < 300) == dark


def test_the_wheel_zooms_only_with_control_and_around_the_pointer(loop: Browser) -> None:
    x, y = middle(loop, "model.launches[3].host")
    time = f"timeline.time({x} - timeline.canvas.getBoundingClientRect().left)"
    before, at = view(loop), loop.run(f"return {time}")
    loop.wheel(x, y, -300)
    after = view(loop)
    assert after[1] - after[0] == pytest.approx((before[1] - before[0]) / 2.718, rel=0.01)
    assert loop.run(f"return {time}") == pytest.approx(at, abs=(before[1] - before[0]) / 1000)  # a pixel
    loop.wheel(x, y, 120, control=False)
    assert view(loop) == after


def test_dragging_pans_and_shift_measures(loop: Browser) -> None:
    loop.keys("+", "+")
    _, y = middle(loop, "model.bars.find(bar => bar.kind === 'k6')")
    before = view(loop)
    loop.drag(600, y, 500, y)
    after = view(loop)
    assert after[0] > before[0]
    assert after[1] - after[0] == pytest.approx(before[1] - before[0])
    loop.keys("0")
    loop.drag(300, y, 1200, y, shift=True)
    said = loop.run("return byId('details').textContent")
    assert "measured" in said
    assert loop.run("return timeline.range[1] > timeline.range[0]")
    loop.keys("z")
    assert view(loop) == pytest.approx(loop.run("return timeline.range"), abs=0.01)


def test_pointing_at_a_bar_tells_about_it_and_leaving_it_stops_that(loop: Browser) -> None:
    loop.keys("n", "z")
    loop.point(*middle(loop, "model.launches[0].host"))
    assert loop.run("return byId('tip').hidden") is False
    said = loop.run("return byId('tip').textContent")
    for fact in ("kernel scale", "took: ", "submitted at: ", "scenes.py:", "submission path: hardware SQ",
                 "the send's share: ", "queue depth after: ", "on the device: "):  # fmt: skip
        assert fact in said
    box = loop.run("const box = byId('tip').getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]")
    assert min(box) >= 0
    assert box[2] <= 1300
    loop.point(5, 5)
    assert loop.run("return byId('tip').hidden") is True


def test_a_click_selects_and_escape_lets_go(loop: Browser) -> None:
    loop.keys("n", "z")
    loop.point(*middle(loop, "model.bars.find(bar => bar.task === model.launches[0] && bar.kind === 'k2')"), click=True)
    chosen = loop.run("return timeline.selected.name")
    assert chosen == "3 arguments to the device"
    assert loop.run("return byId('details').querySelector('h3').textContent") == chosen
    assert "phases of this launch" in loop.run("return byId('details').textContent")
    loop.keys(ESCAPE)
    assert loop.run("return timeline.selected") is None
    assert "Nothing is selected" in loop.run("return byId('details').textContent")


def test_keys_step_through_launches_zoom_and_pan(loop: Browser) -> None:
    loop.keys("n", "n", "n", "p")
    assert loop.run("return model.launches.indexOf(timeline.selected.task)") == 1
    wide = view(loop)
    loop.keys("+")
    zoomed = view(loop)
    assert zoomed[1] - zoomed[0] < wide[1] - wide[0]
    loop.keys("d")
    assert view(loop)[0] > zoomed[0]
    loop.keys("0")
    whole = view(loop)
    assert whole[0] <= loop.run("return model.begin")
    assert whole[1] >= loop.run("return model.end")
    loop.keys("-", "-")
    assert view(loop) == whole, "there is nothing outside of everything"


def test_finding_counts_and_steps_and_can_fail(loop: Browser) -> None:
    loop.keys("/")
    assert loop.run("return document.activeElement.id") == "find"
    loop.keys(*"wait")
    assert loop.run("return byId('found').textContent") == "1 found"
    loop.keys("\ue007")  # Enter
    assert loop.run("return timeline.selected.name") == "wait for stream"
    loop.keys(*"xyz")
    assert loop.run("return byId('found').textContent") == "nothing found"
    loop.keys(ESCAPE)
    assert loop.run("return byId('find').value + byId('found').textContent") == ""


def test_the_slowest_launch_is_one_click_away(loop: Browser) -> None:
    number = int(loop.run("const one = byId('slowest').querySelector('button'); one.click(); return one.dataset.task"))
    loop.settle()
    assert loop.run("return timeline.selected.task.number") == number
    longest = loop.run("return Math.max(...model.launches.map(task => task.ended - task.began))")
    assert loop.run("return timeline.selected.ended - timeline.selected.began") == pytest.approx(longest)


def test_the_legend_brings_one_kind_to_the_front(loop: Browser) -> None:
    click = (
        "const button = byId('legend').firstChild; button.click();"
        "return [timeline.bright, button.getAttribute('aria-pressed')]"
    )
    assert loop.run(click) == ["call", "true"]
    assert loop.run(click) == [None, "false"]


def test_a_graph_is_stepped_through_and_its_executions_lead_to_its_tasks(window: Browser, pages: Path) -> None:
    window.open(pages / "graph.html")
    window.resize(1300, 900)
    assert window.run("return model.edges.filter(edge => edge[2] === 'graph').length") == 3
    assert window.run("return model.edges.every(([from, to]) => from.began <= to.began)")
    window.keys("n")
    assert window.run("return timeline.selected.name") == "kernel first"
    assert "captured into a graph" in window.run("return byId('details').textContent")


@pytest.mark.parametrize("width", [1400, 800, 420])
def test_the_memory_lane_tells_who_held_how_much_when(window: Browser, pages: Path, width: int) -> None:
    window.open(pages / "memory.html")
    window.resize(width, 900)
    window.settle()
    lane = "const row = model.rows.find(one => one.memory), memory = row.memory;"
    most, at = window.run(lane + "return [memory.most, memory.at]")
    assert most >= (1 + 2 + 3 + 4) << 20
    assert inside(window, lane + "return heldAt(memory, memory.at)") == most
    x, y = window.run(
        lane + "byId('view').scrollIntoView({block: 'center'}); const box = timeline.canvas.getBoundingClientRect();"
        "return [box.left + timeline.x(memory.at) + 1, box.top + row.y + 20 - timeline.box.scrollTop]"
    )
    window.point(x, y)
    tip = window.run("return byId('tip').textContent")
    assert "memory of device 0" in tip
    assert "pool: " in tip
    window.point(x, y, click=True)
    said = window.run("return byId('details').textContent")
    assert "scenes.py:" in said
    assert "MiB in " in said
    window.keys(ESCAPE)
    lit = window.run(lane + f"""
        const pen = timeline.canvas.getContext('2d'), ratio = devicePixelRatio, y = row.y + MEMORY_HEIGHT - 6;
        return [...pen.getImageData(Math.round((timeline.x({at}) + 1) * ratio), Math.round(y * ratio), 1, 1).data];""")
    back = window.run("return [...timeline.canvas.getContext('2d').getImageData(timeline.width - 1, 1, 1, 1).data]")
    assert lit[:3] != back[:3], "nothing is drawn where memory was fullest"


def inside(page: Browser, expression: str) -> int:
    """How many bytes of the device [owner, bytes] rows are."""
    return sum(size for owner, size in page.run(expression) if owner != "host")


@pytest.mark.parametrize("width", [420, 800, 1400])
def test_names_of_rows_stand_beside_the_bars_or_above_them(window: Browser, pages: Path, width: int) -> None:
    window.open(pages / "streams.html")
    window.resize(width, 900)
    window.settle()
    rows = window.run("return model.rows.map(row => [row.y, row.height, row.titled, row.name])")
    names = window.run("return timeline.left ? 0 : NAME")
    ends = 24  # the ruler
    for y, height, titled, name in rows:
        assert y >= ends + names + (20 if titled else 0), f"{name} lies over the row above"
        ends = y + height
    assert len({name for *_, name in rows}) == len(rows)


def test_each_thread_has_a_row_with_its_name(window: Browser, pages: Path) -> None:
    window.open(pages / "threads.html")
    names = window.run("return model.rows.filter(row => row.group === 'host').map(row => row.name)")
    assert len([name for name in names if "(work)" in name]) == 2


def test_many_streams_scroll_inside_the_timeline(window: Browser, pages: Path) -> None:
    window.resize(900, 300)
    window.open(pages / "streams.html")
    window.settle()
    high, seen = window.run("return [timeline.total, timeline.box.clientHeight]")
    assert high > seen
    window.run("timeline.select(model.rows.at(-1).bars[0])")
    window.settle()
    top = window.run("return timeline.box.scrollTop")
    assert top > 0
    assert window.run("const row = model.rows.at(-1); return row.y + row.height - timeline.box.scrollTop") <= seen + 10
