"""A headless Chromium that tests steer, through its debugging pipe: no driver, no package."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    "--headless",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
_PATIENCE = 60.0  # seconds


class PageChanged(Exception):
    """The page changed while a command ran."""


class Browser:
    """One page in one browser; commands are those of the DevTools protocol."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise PageChanged(answer["error"])
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def open(self, page: Path, *, dark: bool = False, width: int = 1280, height: int = 800) -> None:
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        attached = self.command("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **size)
        self.command("Page.navigate", url=page.resolve().as_uri())
        self.wait("document.readyState === 'complete'")

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until an expression is true, also on the next page."""
        end = time.monotonic() + _PATIENCE
        while True:
            with contextlib.suppress(PageChanged):
                if self.value(expression):
                    return
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.command("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        self.command("Input.insertText", text=text)

    def complaints(self) -> list[str]:
        """Return the errors, log entries and violations of the page's policy."""
        methods = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event) for event in self.events if event.get("method") in methods]

    def requests(self) -> list[str]:
        """Return the addresses that the page requested."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._receive, 1 << 16)
            assert part, "the browser ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser that keeps its profile in a folder."""
    commands, send = os.pipe()
    receive, answers = os.pipe()
    words = [str(CHROMIUM), *_FLAGS, f"--user-data-dir={folder}"]
    process = subprocess.Popen(
        # The browser looks for its pipe in places 3 and 4.
        ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", *words],
        pass_fds=(commands, answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(answers)
    try:
        yield Browser(send, receive)
    finally:
        os.close(send)
        os.close(receive)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
