"""A headless Chromium, spoken to through two pipes in the DevTools protocol: no driver and no package is needed.

Messages are JSON objects that end with a zero byte; the browser reads file 3 and writes file 4.
https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
PATIENCE = 60  # seconds; a browser that says nothing for so long is broken
CODES = {" ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}
START = """
import os, sys
from fcntl import F_DUPFD, fcntl
for place, file in enumerate([fcntl(int(file), F_DUPFD, 10) for file in sys.argv[1:3]], 3):
    os.dup2(file, place)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One window."""

    def __init__(self, profile: Path) -> None:
        ours, theirs = os.pipe(), os.pipe()
        words = (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
        )
        command = [CHROMIUM, *words, f"--user-data-dir={profile}", "about:blank"]
        files = ours[0], theirs[1]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        start = [sys.executable, "-c", START, *map(str, files), *command]
        self.process = subprocess.Popen(start, pass_fds=files, **quiet)
        for file in files:
            os.close(file)
        self.out, self.into, self.rest = ours[1], theirs[0], b""
        self.number, self.session, self.complaints = 0, None, []
        page = next(info for info in self.ask("Target.getTargets")["targetInfos"] if info["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.requests: list[str] = []

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
        os.close(self.out)
        os.close(self.into)

    def ask(self, method: str, **parameters):
        """Send a command and return its result; complaints of the page and requests are kept on the way."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                self.complaints.append(answer["params"])
            if answer.get("method") == "Network.requestWillBeSent":
                self.requests.append(answer["params"]["request"]["url"])

    def _receive(self) -> dict:
        while b"\0" not in self.rest:
            assert select.select([self.into], [], [], PATIENCE)[0], "the browser does not answer"
            heard = os.read(self.into, 1 << 16)
            assert heard, "the browser has gone"
            self.rest += heard
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def js(self, expression: str):
        """The value of an expression in the page; promises are awaited."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def size(self, width: int, height: int) -> None:
        """Of the window."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address: str) -> None:
        """Load a page and wait until it is drawn."""
        self.ask("Page.navigate", url="about:blank")
        self.requests.clear()
        self.complaints.clear()
        self.ask("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && !!document.querySelector('#count')?.textContent")

    def until(self, condition: str) -> None:
        """Wait for a condition in the page."""
        self.js(
            f"new Promise((yes, no) => {{ const look = () => ({condition}) ? yes() : setTimeout(look, 20);"
            f" setTimeout(() => no('never: ' + {json.dumps(condition)}), {1000 * PATIENCE - 5000}); look() }})"
        )

    def click(self, x: float, y: float) -> None:
        """With the mouse."""
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """A key of the keyboard."""
        words = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": CODES[key]}
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **words, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **words)
