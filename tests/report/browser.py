"""Drive Debian's chromium by the DevTools protocol: open a page as some device would, and note what it does."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from typing import TYPE_CHECKING, Any

import httpx
from websockets.sync.client import connect

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from websockets.sync.client import ClientConnection

PROGRAM = "chromium"
_FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-port=0"
_SECONDS = 120
_WIDE = """
[...document.querySelectorAll('body *')].filter(each => {
    const box = each.getBoundingClientRect(), frame = each.closest('.frame'), card = each.closest('.card, header, dl');
    const room = card ? Math.min(card.getBoundingClientRect().right, innerWidth) : innerWidth;
    const isUnseen = !box.width || each.closest('details:not([open]) > :not(summary)') || each.matches('.unseen');
    const isInFrame = frame && frame !== each, isWide = !frame && each.scrollWidth > each.clientWidth + 1;
    const isInline = getComputedStyle(each).display === 'inline' || each.namespaceURI.endsWith('svg');
    return !isUnseen && !isInFrame && (box.right > room + 1 || (isWide && !isInline));
}).map(each => each.tagName + '.' + (each.className.baseVal ?? each.className) + ' ' + each.textContent.slice(0, 40))
"""


class Tab:
    """A page that is open in the browser: what it logged and requested."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._number = socket, 0
        self._width = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result; note the events until then."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=_SECONDS))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page; await it if it is a promise."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def open(self, file: Path, width: int, scheme: str = "light", media: str = "screen") -> None:
        """Open a file at a width, in a colour scheme, on the screen or for print."""
        self.events.clear()
        self._width = width
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.call("Page.navigate", url=file.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(json.loads(self._socket.recv(timeout=_SECONDS)))

    def complaints(self) -> list[str]:
        """Return the console's messages, and requests for anything but the page."""
        found = []
        for event in self.events:
            method, of = event.get("method"), event.get("params", {})
            if method == "Log.entryAdded":
                found.append(f"log: {of['entry']['text']}")
            elif method in {"Runtime.exceptionThrown", "Runtime.consoleAPICalled"}:
                found.append(f"console: {of}"[:300])
            elif method == "Network.requestWillBeSent" and of["documentURL"] != of["request"]["url"]:
                found.append(f"request: {of['request']['url']}")
        return found

    def overflowing(self) -> list[str]:
        """Return elements wider than their card or the window, but for what a frame scrolls."""
        wide = self.evaluate(_WIDE)
        whole = self.evaluate(f"Math.max(document.documentElement.scrollWidth, innerWidth) > {self._width}")
        return [*wide, *(["the page scrolls sideways"] if whole else [])]


class Browser:
    """A running browser with one tab; use it in a `with` block."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._open = folder, contextlib.ExitStack()

    def __enter__(self) -> Tab:
        """Start it and connect to its tab."""
        command = [PROGRAM, *_FLAGS.split(), f"--user-data-dir={self._folder}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._open.callback(self._stop)
        try:
            return self._connected()
        except BaseException:
            self._open.close()
            raise

    def _connected(self) -> Tab:
        port = self._folder / "DevToolsActivePort"
        until = time.monotonic() + _SECONDS
        while not port.exists() or not port.read_text().strip():
            assert time.monotonic() < until, "chromium did not start"
            time.sleep(0.05)
        address = f"http://127.0.0.1:{port.read_text().splitlines()[0]}/json/list"
        while not (pages := [each for each in httpx.get(address, timeout=60).json() if each["type"] == "page"]):
            time.sleep(0.05)
        address = pages[0]["webSocketDebuggerUrl"]
        return Tab(self._open.enter_context(connect(address, max_size=None, open_timeout=60)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self._open.close()

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait(_SECONDS)
