"""What `import runtime` gives, how late it loads, and its functions on the process's runtime."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator

import pytest

import runtime
from runtime import errors
from runtime.core.process import lifetime
from tests.unit.runtime.machines import V100

URL = f"fake://{V100}?devices=2&seed=2"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[runtime.Runtime]:
    """The process's runtime on a fake machine."""
    monkeypatch.setattr(lifetime, "_the_one", None)
    monkeypatch.setenv("NPUHAL_URL", URL)
    yield runtime.start()
    runtime.shutdown(force=True)


def test_every_public_name_exists_and_is_documented() -> None:
    for name in runtime.__all__:
        assert inspect.getdoc(getattr(runtime, name)), name


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = runtime.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", ["numpy", "yaml", "rich", "chips", "runtime.api", "fakes"])
def test_import_is_cheap(module: str) -> None:
    script = f"import sys, runtime; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=250).returncode == 0


def test_devices_by_index(started: runtime.Runtime) -> None:
    assert started.url == URL
    assert runtime.device_count() == 2
    assert runtime.device(1) is runtime.device(1)
    assert runtime.device().user_id == 0
    with pytest.raises(errors.InvalidArgument, match="valid are 0 to 1"):
        runtime.device(2)


@pytest.mark.usefixtures("started")
def test_the_device_of_a_thread() -> None:
    with pytest.raises(errors.ContextError) as caught:
        runtime.current_device()
    assert (caught.value.code, caught.value.message_id) == (107002, "EE1018")
    assert runtime.set_device(1) is runtime.current_device()
    runtime.current_device().close()
    with pytest.raises(errors.ContextError):
        runtime.current_device()


def test_a_thread_of_a_pool_works_on_a_device_for_a_while(started: runtime.Runtime) -> None:
    runtime.set_device(1)
    with runtime.on_device(0) as device:
        assert runtime.current_device() is device
        assert device.user_id == 0
    assert runtime.current_device().user_id == 1
    assert started.slots[0].device is None
    with pytest.raises(ZeroDivisionError), runtime.on_device(1):
        _ = 1 / 0
    assert started.slots[1].references == 1


@pytest.mark.usefixtures("started")
def test_devices_are_context_managers() -> None:
    with runtime.device(0) as device:
        assert device.default_stream.query()
    assert device.closed
    with pytest.raises(errors.ContextError, match="was closed"), device:
        pass
    with runtime.device(0) as again:
        assert again is not device


def test_a_url_that_is_none_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetime, "_the_one", None)
    for url in ("nonsense", "fake://nochip", "fake://ascend910b1?nooption=1", "ftp://x"):
        with pytest.raises(Exception, match=r"nonsense|nochip|nooption|ftp"):
            runtime.start(url)
    assert lifetime._the_one is None
