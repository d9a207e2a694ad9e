"""Where shared machines meet: whose folders are used and deleted, and what happens where the system has no more."""

from __future__ import annotations

import errno
import gc
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from fakes.errors import HostRefused, NotShareable
from fakes.shared import table as tables
from fakes.shared.folder import Folder, folder, gone, namespace, root, started
from fakes.shared.names import Export, Names, Source
from fakes.shared.table import Table
from npuhal import constants as c
from tests.unit.fakes.rig import Rig

URL = "fake://ascend910b3?hbm=64m&shared="
Enter = Callable[..., Table]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the folder of all machines is made."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def enter() -> Iterator[Enter]:
    made: list[Table] = []

    def make(name: str = "one") -> Table:
        made.append(Table(Folder(name), 1, {"notify": 8}, "a machine"))
        return made[-1]

    yield make
    for table in made:
        table.leave()


@contextmanager
def limited(which: int, soft: int) -> Iterator[None]:
    before = resource.getrlimit(which)
    resource.setrlimit(which, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def no_more_files() -> AbstractContextManager[None]:
    lowest = os.dup(0)
    os.close(lowest)
    return limited(resource.RLIMIT_NOFILE, lowest)


# -- whose folder it is ------------------------------------------------------------------------------------------------


def test_the_folder_of_all_machines_is_the_users_alone(home: Path, enter: Enter) -> None:
    enter()
    assert root().parent == home
    assert root().stat().st_mode & 0o777 == folder("one").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_may_write_to_is_refused(enter: Enter) -> None:
    root().mkdir(mode=0o700)
    root().chmod(0o770)
    for _ in range(2):
        with pytest.raises(NotShareable, match=r"has mode 0770, so that others may use .*; chmod it to 0700"):
            enter()
    root().chmod(0o700)
    enter()


@pytest.mark.parametrize("linked", [root, lambda: folder("one")], ids=["root", "name"])
def test_no_symbolic_link_is_followed(linked: Callable[[], Path], home: Path, enter: Enter) -> None:
    other = home / "other"
    other.mkdir(mode=0o700)
    kept = [other / name for name in ("table", "1.json", "data")]
    for file in kept:
        file.write_bytes(b"not ours")
    linked().parent.mkdir(mode=0o700, exist_ok=True)
    linked().symlink_to(other)
    with pytest.raises(NotShareable, match="link"):
        enter()
    with pytest.raises(NotShareable) if linked is root else nullcontext():
        enter("two")
    assert [file.read_bytes() for file in kept] == [b"not ours"] * 3
    assert {path.name for path in other.iterdir()} == {"table", "1.json", "data"}


def test_a_table_that_is_a_link_is_refused(home: Path, enter: Enter) -> None:
    (home / "data").write_bytes(b"not ours")
    folder("one").mkdir(mode=0o700, parents=True)
    root().chmod(0o700)
    (folder("one") / "table").symlink_to(home / "data")
    with pytest.raises(NotShareable, match="take it away"):
        enter()
    assert (home / "data").read_bytes() == b"not ours"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.link(Path(path).parents[2] / "data", path)])
@pytest.mark.parametrize("name", ["table", "0.json"])
def test_what_is_no_file_of_ours_is_no_table(home: Path, enter: Enter, name: str, make: Callable[[Path], None]) -> None:
    (home / "data").write_bytes(b"not ours")
    folder("one").mkdir(mode=0o700, parents=True)
    root().chmod(0o700)
    make(folder("one") / name)
    refused = name == "table" or make is os.mkdir
    for _ in range(2):
        with pytest.raises(NotShareable, match="take it away") if refused else nullcontext():
            enter("two").leave()
            enter().leave()
        assert (folder("one") / name).exists() is refused
    assert (home / "data").read_bytes() == b"not ours"


def test_only_files_of_our_naming_are_deleted(enter: Enter) -> None:
    enter().leave()
    folder("one").mkdir(mode=0o700)
    for name in ("table", "3.json", "3.json.new", "4000.json", "table.json", "notes"):
        (folder("one") / name).write_bytes(b"")
    (folder("one") / "5.json.d").mkdir()
    table = enter()
    left = {path.name for path in folder("one").iterdir()}
    assert left == {"table", "4000.json", "table.json", "notes", "5.json.d"}
    table.leave()
    assert {path.name for path in folder("one").iterdir()} == left - {"table"}
    enter().leave()


@pytest.mark.parametrize("wrong", ["/dev/null", "/nowhere/at/all"])
def test_a_runtime_folder_that_is_none(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", wrong)
    with pytest.raises(HostRefused, match="set XDG_RUNTIME_DIR to a folder of your own"):
        Rig(URL + "one")


# -- who is there ------------------------------------------------------------------------------------------------------


def end_without_a_word(table: Table) -> None:
    """What a kill leaves behind: the files, and no lock."""
    table.forget()


def test_the_folder_of_a_killed_process_goes_when_the_next_one_looks(enter: Enter) -> None:
    living = enter("living")
    end_without_a_word(enter("killed"))
    (root() / "no machine").mkdir()
    assert folder("killed").exists()
    enter("next")
    assert {path.name for path in root().iterdir()} == {"living", "next", "no machine"}
    assert living.next_number() == 1


def test_processes_of_another_namespace_are_refused_and_keep_their_table(
    enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = enter()
    assert one.next_number() == 1
    monkeypatch.setattr(tables, "namespace", lambda: namespace() + 1)
    for _ in range(2):
        with pytest.raises(NotShareable, match=r"open in another container.*choose another name"):
            enter()
    assert one.next_number() == 2
    end_without_a_word(one)
    assert enter().next_number() == 1


def test_processes_of_another_namespace_in_earnest(enter: Enter) -> None:
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    try:
        subprocess.run([*inside, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no namespaces of process ids can be made here")
    one = enter()
    text = (
        "from fakes.shared.folder import Folder; from fakes.shared.table import Table; "
        "Table(Folder('one'), 1, {'notify': 8}, 'a machine')"
    )
    done = subprocess.run([*inside, sys.executable, "-c", text], capture_output=True, text=True)
    assert "NotShareable: shared=one is open in another container" in done.stderr
    assert one.next_number() == 1
    end_without_a_word(one)
    done = subprocess.run([*inside, sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- what the system refuses -------------------------------------------------------------------------------------------


def test_room_for_the_table_is_had_at_once_or_not_at_all(enter: Enter) -> None:
    with limited(resource.RLIMIT_FSIZE, 4096), pytest.raises(HostRefused, match=r"shared=one .*ulimit -f"):
        enter()
    assert not folder("one").exists()
    enter()
    table = folder("one") / "table"
    assert table.stat().st_blocks * 512 >= table.stat().st_size


def test_a_full_disk_changes_nothing_of_what_is_exported(enter: Enter) -> None:
    names, others = (Names(enter()) for _ in range(2))
    names.publish(Export("small", 0, number=1))
    with limited(resource.RLIMIT_FSIZE, 256):
        for _ in range(2):
            with pytest.raises(HostRefused, match="ulimit -f"):
                names.publish(Export("x" * 300, 0))
        assert names.own("x" * 300) is None
        export = names.own("small")
        assert export is not None
        with pytest.raises(HostRefused):
            names.allow(export, range(100))
    found = others.find("small")
    assert found is not None
    assert not found.pids
    assert others.find("x" * 300) is None


def test_what_ends_needs_no_room(enter: Enter, monkeypatch: pytest.MonkeyPatch) -> None:
    names, others = (Names(enter()) for _ in range(2))
    for name in ("one", "two"):
        names.publish(Export(name, 0, pids=set(range(100))))
    with no_more_files(), pytest.raises(HostRefused, match="ulimit -n"):
        names.publish(Export("three", 0))
    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(HostRefused, match="No space left on device; free space there, or set XDG_RUNTIME_DIR"):
        names.publish(Export("three", 0))
    assert names.withdraw("two")
    assert others.find("two") is None
    assert others.find("one") is not None


def test_a_name_whose_memory_is_gone_is_found_by_nobody_and_taken_away_once(enter: Enter) -> None:
    names, others = (Names(enter()) for _ in range(2))
    memory = Source(slot=0, pid=os.getpid(), started=1, fd=3, offset=0, span=4096, device=0, pool=0)
    names.publish(Export("one", 0, source=memory))
    assert not names.retract(memory)
    assert names.own("one") is others.find("one") is None
    assert [names.withdraw("one") for _ in range(2)] == [True, False]


def test_out_of_descriptors_nobody_is_taken_for_dead(enter: Enter) -> None:
    one, two = enter(), enter()
    with no_more_files():
        assert not gone(os.getpid(), started_before := 1)
        assert not one.sweep()
        with pytest.raises(HostRefused, match="too many files open: close some, or raise its limit"):
            enter()
        two.leave()
    assert gone(os.getpid(), started_before)
    assert not gone(os.getpid(), started(os.getpid()))
    assert list(one.living()) == [one.slot]


def test_out_of_descriptors_a_machine_is_refused_and_works_later() -> None:
    rig = Rig(URL + "one")
    with no_more_files(), pytest.raises(HostRefused, match=r"memory file .*ulimit -n"):
        rig.alloc(4096)
    address = rig.alloc(4096)
    rig.put(address, b"works")
    assert rig.get(address, 5) == b"works"
    rig.hal.close()
    assert not folder("one").exists()


def test_a_limit_of_the_size_of_files_is_named_and_leaves_nothing_open() -> None:
    with limited(resource.RLIMIT_FSIZE, 1 << 20):
        for url in ("fake://ascend910b3", "fake-abi://ascend950"):
            gc.collect()  # files of other tests' machines are closed now, not meanwhile
            before = len(os.listdir("/proc/self/fd"))
            rig = Rig(url)
            with pytest.raises(HostRefused, match=r"memory file npuhal-fake-hbm0 of .* MiB: .*ulimit -f"):
                rig.alloc(4096)
            rig.hal.close()
            assert len(os.listdir("/proc/self/fd")) == before


def test_without_a_folder_for_temporary_files_the_cure_is_named(
    home: Path, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_usable() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.gettempdir", none_usable)
    with pytest.raises(HostRefused, match=r"no folder for temporary files .*set XDG_RUNTIME_DIR"):
        enter()


def test_less_device_memory_helps_where_addresses_are_limited() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    with limited(resource.RLIMIT_AS, used + (2 << 30)):
        with pytest.raises(HostRefused, match=r"addresses for the fake's memory: .*lower hbm="):
            Rig("fake://ascend910b3?hbm=32g&shared=one")
        assert not folder("one").exists()
        rig = Rig("fake://ascend950?hbm=64m&devices=2")
        blocks = [rig.alloc(2 << 20, c.MEM_PAGE_HUGE) for _ in range(16)]
        rig.put(blocks[-1], b"works")
        assert rig.get(blocks[-1], 5) == b"works"
        rig.hal.close()
