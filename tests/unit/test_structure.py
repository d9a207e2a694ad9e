"""What the shape of the tree promises beside the direction of imports: one vocabulary, for one."""

from __future__ import annotations

from pathlib import Path

from fakes import hal
from npuhal.declarations import CHAPTERS
from npuhal.prototypes import prototype

ROOT = Path(__file__).resolve().parents[2]


def names_in(folder: str) -> set[str]:
    """The modules and packages of a folder."""
    return {path.stem for path in (ROOT / folder).iterdir() if path.stem[:2] != "__" and path.suffix in ("", ".py")}


# -- HAL chapters: npuhal/tables, runtime/driver and fakes/hal use the names of npuhal.declarations.CHAPTERS ----

# What a folder has beside chapters.
DRIVER_PARTS = {"calls", "resource_table", "numbers", "visible"}
FAKE_PARTS = {"absent", "chapter", "coverage", "exports"}


def test_every_table_of_the_hal_is_a_chapter() -> None:
    tables = {name for name in names_in("npuhal/tables") if not name.startswith("ioctl_")}
    assert tables == set(CHAPTERS)


def test_modules_of_the_driver_and_of_the_fake_are_named_by_chapters() -> None:
    assert names_in("runtime/driver") - set(CHAPTERS) == DRIVER_PARTS
    assert names_in("fakes/hal") - set(CHAPTERS) == FAKE_PARTS


def test_each_function_of_the_fake_stands_in_its_chapter() -> None:
    wrong = [
        f"{name} is in {chapter.__module__}, its declaration in the chapter {prototype(name).chapter!r}"
        for chapter in hal.CHAPTERS
        for name in vars(chapter)
        if name.startswith(("hal", "drv")) and chapter.__module__.split(".")[2] != prototype(name).chapter
    ]
    assert wrong == []
