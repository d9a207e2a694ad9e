"""Opens the backend that a URL names, and finds libascend_hal.so where drivers put it.

`hal://` (the default) searches; `hal:///path/libascend_hal.so` takes that file; `fake://SOC?options`,
`fake-abi://SOC?options` and `null://SOC` are the in-tree fake; `trace+URL` records what passes through.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from npuhal import packages
from npuhal.api import HalApi, LibraryApi
from npuhal.errors import BadUrl, LibraryNotFound, StubLibrary
from npuhal.tuples import NamedTuple
from npuhal.version import shake_hands
from npuhal.words import close_names

LIBRARY = "libascend_hal.so"
"""File name and SONAME; there is no versioned name."""

URL_VARIABLE = "NPUHAL_URL"
"""Environment variable read by `open_hal` when no URL is given."""

LIBRARY_VARIABLE = "ASCEND_HAL_LIB"
"""Environment variable that names the library file; no other file is then looked for."""

SCHEMES = ("hal", "fake", "fake-abi", "null")
"""Known schemes, without the `trace+` prefix."""

_FAKES = ("fake", "fake-abi", "null")
_TRACE = "trace+"
_INSTALL_INFO = "etc/ascend_install.info"
_DEFAULT_PREFIX = "/usr/local/Ascend"


class HalUrl(NamedTuple):
    """A HAL URL taken apart. Which options there are is for the backend to say, which reads them with these methods."""

    text: str
    """The URL as given."""
    scheme: str
    """One of `SCHEMES`."""
    target: str
    """The library path (`hal`), or the SoC name; may be empty."""
    options: Mapping[str, str]
    """Options after `?`, values unquoted; an option without `=` has the value `1`."""
    traced: bool = False
    """Whether the URL began with `trace+`."""

    @classmethod
    def parse(cls, text: str) -> HalUrl:
        """Take a URL apart; BadUrl if it is malformed, has an unknown scheme, or gives an option twice."""
        traced = text.startswith(_TRACE)
        scheme, separator, rest = text.removeprefix(_TRACE).partition("://")
        if not separator:
            raise BadUrl(f"HAL URL {text!r}: expected scheme://..., with one of {', '.join(SCHEMES)}")
        if scheme not in SCHEMES:
            raise BadUrl(f"HAL URL {text!r}: unknown scheme {scheme!r}; known are {', '.join(SCHEMES)}")
        target, _, query = rest.partition("?")
        options: dict[str, str] = {}
        for part in filter(None, query.split("&")):
            name, has_value, value = part.partition("=")
            if not name:
                raise BadUrl(f"HAL URL {text!r}: option {part!r} has no name")
            if name in options:
                raise BadUrl(f"HAL URL {text!r}: option {name!r} is given twice")
            options[name] = _unquoted(value) if has_value else "1"
        return cls(text, scheme, _unquoted(target), options, traced)

    def allow(self, known: Iterable[str]) -> None:
        """Raise BadUrl if there is an option outside `known`."""
        known = sorted(known)
        for name in self.options:
            if name not in known:
                near = close_names(name, known, 1)
                meant = f", did you mean {near[0]!r}?" if near else ";"
                raise BadUrl(
                    f"HAL URL {self.text!r}: unknown option {name!r}{meant} known are {', '.join(known) or 'none'}"
                )

    def integer(self, name: str, default: int, minimum: int = 0, maximum: int = 2**63 - 1) -> int:
        """Return an option as an integer (any base Python knows); BadUrl if it is none or out of range."""
        text = self.options.get(name)
        if text is None:
            return default
        try:
            value = int(text, 0)
        except ValueError:
            raise BadUrl(f"HAL URL {self.text!r}: {name}={text!r} is not an integer") from None
        if not minimum <= value <= maximum:
            raise BadUrl(f"HAL URL {self.text!r}: {name}={text} is outside {minimum} to {maximum}")
        return value

    def number(self, name: str, default: float, minimum: float = 0.0, maximum: float = float("inf")) -> float:
        """Return an option as a float; BadUrl if it is none or out of range."""
        text = self.options.get(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            raise BadUrl(f"HAL URL {self.text!r}: {name}={text!r} is not a number") from None
        if not minimum <= value <= maximum:
            raise BadUrl(f"HAL URL {self.text!r}: {name}={value} is outside {minimum} to {maximum}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return an option as a switch: 1, true, yes, on or 0, false, no, off; BadUrl for anything else."""
        text = self.options.get(name)
        if text is None:
            return default
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise BadUrl(f"HAL URL {self.text!r}: {name}={text!r} is neither 1/true/yes/on nor 0/false/no/off")

    def choice(self, name: str, default: str, choices: Iterable[str]) -> str:
        """Return an option that must be one of `choices`; BadUrl otherwise."""
        value = self.options.get(name, default)
        choices = tuple(choices)
        if value not in choices:
            raise BadUrl(f"HAL URL {self.text!r}: {name}={value!r} is none of {', '.join(choices)}")
        return value


def open_hal(url: str | None = None) -> HalApi:
    """Open a backend: `url`, else $NPUHAL_URL, else `hal://`. The version handshake is done before it is returned.

    Raises BadUrl, LibraryNotFound, StubLibrary, or MissingSymbols if the library lacks what every chip needs;
    for a fake ForeignPackage, if another package has the name of one that it needs.
    """
    text = url or os.environ.get(URL_VARIABLE) or "hal://"
    parsed = HalUrl.parse(text)
    inner = parsed._replace(text=text.removeprefix(_TRACE), traced=False)
    hal: HalApi
    if inner.scheme in _FAKES:
        packages.check("fakes", "chips")
        from fakes import open_fake

        hal = open_fake(inner)
    else:
        inner.allow(())
        search = Search()
        hal = search.open_file(inner.target, inner.text) if inner.target else search.open(inner.text)
        hal.require()
    shake_hands(hal)
    if parsed.traced:
        from npuhal.trace import TraceApi

        hal = TraceApi(hal)
    return hal


def check_url(url: str) -> None:
    """Raise what `open_hal` would for a wrong URL: BadUrl, or UnknownChip for a fake's chip. Nothing is opened."""
    parsed = HalUrl.parse(url)
    if parsed.scheme in _FAKES:
        packages.check("fakes", "chips")
        import fakes

        fakes.check_url(parsed)
    else:
        parsed.allow(())


class Search(NamedTuple):
    """Where libascend_hal.so is looked for. Tests and `doctor` give another root, environment or opener."""

    root: str = "/"
    """Folder that stands for `/`."""
    environ: Mapping[str, str] = os.environ
    """Environment that is consulted."""
    load: Callable[..., ctypes.CDLL] | None = None
    """Loads a library by name or path: `load(name, mode=...)`; None: the system's loader does."""

    def candidates(self) -> Iterator[str]:
        """Yield names and paths in the order they are tried."""
        named = self.environ.get(LIBRARY_VARIABLE)
        if named:
            yield named
            return
        yield LIBRARY
        prefixes = dict.fromkeys(filter(None, (self.install_prefix(), _DEFAULT_PREFIX)))
        for prefix in prefixes:
            for folder in ("driver/lib64/driver", "driver/lib64", "driver/lib64/common"):
                yield os.path.join(self.root, prefix.lstrip("/"), folder, LIBRARY)

    def places(self) -> Iterator[str]:
        """The former name of `candidates`."""
        return self.candidates()

    def install_prefix(self) -> str | None:
        """Return the driver's install prefix from /etc/ascend_install.info (Driver_Install_Path_Param), or None."""
        try:
            with open(os.path.join(self.root, _INSTALL_INFO), encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            return None
        for line in lines:
            key, _, value = line.partition("=")
            if key.strip() == "Driver_Install_Path_Param" and value.strip():
                return value.strip().strip("\"'")
        return None

    def open(self, url: str = "hal://") -> LibraryApi:
        """Open the first library found; LibraryNotFound lists each path with its reason."""
        failures: list[tuple[str, str]] = []
        for path in self.candidates():
            try:
                return self._open(path, url)
            except OSError as error:
                failures.append((path, self._reason(path, error)))
        raise LibraryNotFound(tuple(failures))

    def open_file(self, path: str, url: str) -> LibraryApi:
        """Open exactly this file; LibraryNotFound says why not."""
        try:
            return self._open(path, url)
        except OSError as error:
            raise LibraryNotFound(((path, self._reason(path, error)),)) from None

    def _open(self, path: str, url: str) -> LibraryApi:
        if "/" in path:
            if not os.path.exists(path):
                raise FileNotFoundError(path)
            self._preload_dependencies(path)
        from npuhal import quiet  # late: the fakes do without

        with quiet.timed(path, self.root), quiet.quietly(path):
            library = (self.load or quiet.load)(path, mode=ctypes.RTLD_LOCAL)
            hal = LibraryApi(url, library, path if "/" in path else loaded_path(path) or path)
            refuse_stub(hal)
        return hal

    def _preload_dependencies(self, path: str) -> None:
        """Load libc_sec.so of the same driver first: it is not on the loader's path unless the driver's set-up ran."""
        from npuhal import quiet

        folder = os.path.dirname(path)
        for beside in (os.path.join(folder, os.pardir, "common"), folder):
            dependency = os.path.join(beside, "libc_sec.so")
            if os.path.exists(dependency):
                (self.load or quiet.load)(dependency, mode=ctypes.RTLD_GLOBAL)
                return

    def _reason(self, path: str, error: OSError) -> str:
        origin = f"named by {LIBRARY_VARIABLE}; " if self.environ.get(LIBRARY_VARIABLE) == path else ""
        if isinstance(error, FileNotFoundError):
            return f"{origin}no such file"
        return origin + (str(error) or type(error).__name__)


def refuse_stub(hal: LibraryApi) -> None:
    """Raise StubLibrary if a query answers success without writing its output, as only the toolkit's link stub does."""
    count = ctypes.c_uint32(0xFFFFFFFF)
    value = ctypes.c_int64(-1)
    probes: tuple[tuple[str, tuple[Any, ...], Callable[[], bool]], ...] = (
        ("drvGetDevNum", (ctypes.byref(count),), lambda: count.value == 0xFFFFFFFF),
        ("halGetDeviceInfo", (0, 0, 0, ctypes.byref(value)), lambda: value.value == -1),
    )
    for name, arguments, untouched in probes:
        if hal.has(name):
            if getattr(hal, name)(*arguments) == 0 and untouched():
                raise StubLibrary(hal.path)
            return


def loaded_path(name: str) -> str | None:
    """Return the file from which a library of this name is mapped into the process, or None."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in lines:
        path = line.partition("/")[2]
        if path and os.path.basename(path) == name:
            return "/" + path
    return None


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)
