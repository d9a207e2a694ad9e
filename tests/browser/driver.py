"""A browser that tests hold by the hand: chromedriver's HTTP interface (W3C WebDriver), with the standard library."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
    "--force-device-scale-factor=1",
)  # fmt: skip
_MOUSE, _KEYS = "mouse", "keys"
_STARTED = re.compile(r"started successfully on port (\d+)")


def programs() -> tuple[str, str]:
    """The browser that BROWSER names, or the first one found, and its driver; the test is skipped without them."""
    found = os.environ.get("BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if found is None or driver is None:
        pytest.skip(f"no browser: install chromedriver and one of {', '.join(BROWSERS)}, or name one in BROWSER")
    return found, driver


class Browser:
    """One window; its calls return when the page has reacted."""

    def __init__(self, session: str) -> None:
        self._session = session

    def call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a command of the protocol."""
        return _ask(f"{self._session}/{path}", body)

    def open(self, path: Path) -> None:
        """Load a file."""
        self.call("url", {"url": path.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a function body returns that runs in the page."""
        return self.call("execute/sync", {"script": script, "args": list(arguments)})

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.call("execute/async", {
            "script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));",
            "args": [],
        })  # fmt: skip

    def resize(self, width: int, height: int) -> None:
        """Give the page a size, in CSS pixels."""
        self.developer("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                       mobile=False)  # fmt: skip
        self.settle()

    def dark(self, on: bool = True) -> None:
        """Say which colours the user prefers."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self.developer("Emulation.setEmulatedMedia", features=features)
        self.settle()

    def developer(self, command: str, **parameters: Any) -> Any:
        """Send a command of the DevTools protocol."""
        return self.call("goog/cdp/execute", {"cmd": command, "params": parameters})

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Move the mouse, and click if asked."""
        moves = [{"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}]
        if click:
            moves += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._mouse(moves)

    def drag(self, x1: float, y1: float, x2: float, y2: float, *, shift: bool = False) -> None:
        """Press, move, let go; with the shift key held if asked."""
        down, up = {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}
        moves = [
            {"type": "pointerMove", "duration": 0, "x": round(x1), "y": round(y1)}, down,
            {"type": "pointerMove", "duration": 50, "x": round(x2), "y": round(y2)}, up,
        ]  # fmt: skip
        if shift:
            self._held("\ue008", lambda: self._mouse(moves))
        else:
            self._mouse(moves)

    def wheel(self, x: float, y: float, delta: int, *, control: bool = True) -> None:
        """Turn the wheel at a place, with the control key held unless not wanted."""
        self.developer("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta,
                       modifiers=2 if control else 0)  # fmt: skip
        self.settle()

    def keys(self, *keys: str) -> None:
        """Press and let go one key after the other."""
        steps = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("actions", {"actions": [{"type": "key", "id": _KEYS, "actions": steps}]})
        self.settle()

    def _held(self, key: str, act: Any) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("actions", {"actions": [{"type": "key", "id": _KEYS, "actions": [{"type": kind, "value": key}]}]})
            if kind == "keyDown":
                act()

    def _mouse(self, steps: list[dict[str, Any]]) -> None:
        self.call("actions", {"actions": [
            {"type": "pointer", "id": _MOUSE, "parameters": {"pointerType": "mouse"}, "actions": steps},
        ]})  # fmt: skip
        self.settle()

    def log(self, kind: str) -> list[dict[str, Any]]:
        """Return what was logged since the last look: "browser" (the console), "performance" (DevTools events)."""
        found: list[dict[str, Any]] = self.call("se/log", {"type": kind})
        return found

    def requested(self) -> list[str]:
        """Return the addresses that the page has asked for since the last look."""
        events = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]

    def shot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        size = self.developer("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        picture = self.developer("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(picture["data"]))


def _ask(url: str, body: dict[str, Any] | None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as refused:
        raise AssertionError(json.load(refused)["value"]["message"]) from None


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a browser with a new profile, and end it."""
    program, driver = programs()
    with subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as job:
        try:
            assert job.stdout is not None
            port = next(found[1] for line in job.stdout if (found := _STARTED.search(line)))
            wanted = {
                "goog:chromeOptions": {"binary": program, "args": [*OPTIONS, f"--user-data-dir={profile}"]},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }
            base = f"http://127.0.0.1:{port}/session"
            session = _ask(base, {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            try:
                yield Browser(f"{base}/{session}")
            finally:
                urllib.request.urlopen(urllib.request.Request(f"{base}/{session}", method="DELETE"), timeout=60).close()
        finally:
            job.terminate()
