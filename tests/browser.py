"""A headless Chromium, spoken to through a pipe: keys, sizes, colour schemes and paper for the tests of pages.

It speaks the Chrome DevTools Protocol with nothing but the standard library: messages end with a zero byte, Chromium
reads them from file descriptor 3 and answers on 4.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECONDS = 60  # that an answer may take on a machine with much else to do
QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
QUIETER = "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
TRAMPOLINE = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page at a time: open it, look at it, press keys."""

    def __init__(self, profile: Path) -> None:
        here_read, there_write = os.pipe()
        there_read, here_write = os.pipe()
        arguments = [str(CHROMIUM), *QUIET.split(), *QUIETER.split(), f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", TRAMPOLINE, str(there_read), str(there_write), *arguments],
            pass_fds=(there_read, there_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there_read)
        os.close(there_write)
        self._read, self._write = here_read, here_write
        self._buffer, self._number, self._session = b"", 0, ""
        self._events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(timeout=SECONDS)
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def open(self, page: Path, *, width: int = 1000, dark: bool = False, media: str = "screen") -> None:
        """Load a page into a window of this width; a width below 600 is that of a phone."""
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self._events = []
        self.call("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._message())

    def ask(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, name: str) -> None:
        """Press a key once: "Tab" or "ArrowDown"."""
        key = {"key": name, "code": name, "windowsVirtualKeyCode": {"Tab": 9, "ArrowDown": 40}[name]}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **key)

    def pdf(self) -> bytes:
        """The page on paper."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def complaints(self) -> list[str]:
        """What the browser wrote to its console since the page was opened."""
        self.ask("1")  # whatever was said before this is here now
        kinds = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [json.dumps(event["params"]) for event in self._events if event.get("method") in kinds]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], SECONDS)
            chunk = os.read(self._read, 1 << 16) if ready else b""
            if not chunk:
                raise RuntimeError("chromium does not answer")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found
