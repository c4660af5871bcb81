"""A headless Chromium, driven over its own pipe: no driver, no server, no package."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from pateval.report.write import join_modules

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser():
    """Where Chromium is, or None."""
    return os.environ.get("PATEVAL_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One tab. Everything it logs, every exception and every request is kept."""

    def __init__(self, width=1280, height=900):
        self._profile = tempfile.mkdtemp(prefix="pateval-browser-")
        read_end, self._to_browser = os.pipe()
        self._from_browser, write_end = os.pipe()
        command = [
            find_browser(),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile}",
            "about:blank",
        ]

        def give_pipes():
            # Chromium reads commands from descriptor 3 and answers on 4.
            os.dup2(read_end, 103)
            os.dup2(write_end, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self._process = subprocess.Popen(
            command, pass_fds=(3, 4), preexec_fn=give_pipes, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read_end)
        os.close(write_end)
        self._number, self._buffer, self._answers, self._session = 0, b"", {}, None
        self.logged, self.requests, self.downloaded = [], [], 0
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._send(f"{domain}.enable")
        self._send(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )
        self.resize(width, height)

    def close(self):
        """End the browser."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        os.close(self._to_browser)
        os.close(self._from_browser)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _send(self, method, **parameters):
        self._number += 1
        number, message = self._number, {"id": self._number, "method": method, "params": parameters}
        if self._session is not None and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to_browser, data) :]
        while number not in self._answers:
            self._read()
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _read(self):
        data = os.read(self._from_browser, 1 << 20)
        if not data:
            raise RuntimeError("the browser has gone")
        *whole, self._buffer = (self._buffer + data).split(b"\0")
        for each in whole:
            message = json.loads(each)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._note(message["method"], message["params"])

    def _note(self, method, parameters):
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.logged.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.logged.append(" ".join(str(each.get("value", each.get("description"))) for each in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.logged.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Browser.downloadProgress" and parameters["state"] == "completed":
            self.downloaded += 1

    def resize(self, width, height, *, mobile=False):
        """Set the size of the window."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def scheme(self, name):
        """Prefer light or dark."""
        self._send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def media(self, name):
        """Show the page as on "screen" or in "print"."""
        self._send("Emulation.setEmulatedMedia", media=name)

    def downloads(self, folder):
        """Put downloads into a folder."""
        self._send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)

    def download(self, expression, seconds=30):
        """Evaluate what starts a download, and wait until its file is whole."""
        before, end = self.downloaded, time.monotonic() + seconds
        self.evaluate(expression)
        while self.downloaded == before:
            if time.monotonic() > end:
                raise TimeoutError(f"this never downloaded anything: {expression}")
            self.frame()

    def open(self, path, fragment="", ready="document.querySelector('main h1') !== null"):
        """Open a file and wait until it has drawn itself; return how long that took, in seconds."""
        self._send("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        started = time.perf_counter()
        self._send("Page.navigate", url=Path(path).resolve().as_uri() + fragment)
        self.wait(ready)
        self.frame()
        return time.perf_counter() - started

    def evaluate(self, expression):
        """Evaluate an expression; a promise is waited for."""
        result = self._send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def load(self, *modules):
        """Give modules of the report, which the page itself shows to nobody, to the expressions of a test."""
        for name in modules:
            self.evaluate(f"void (window.{name}Module = {join_modules(name)})")

    def wait(self, condition, seconds=30):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.evaluate(f"Boolean({condition})"):
                    return
            except RuntimeError as error:
                if not re.search("context|navigated", str(error)):  # a page that is being left
                    raise
            time.sleep(0.03)
        raise TimeoutError(f"this never became true: {condition}; logged: {self.logged}")

    def go(self, fragment):
        """Change the address within the page, and wait until it is drawn."""
        self.evaluate(f"location.hash = {json.dumps(fragment)}")
        self.frame()

    def frame(self):
        """Wait until what was asked for is on the screen."""
        frames = "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30)))"
        self.evaluate(f"new Promise((done) => {frames})")

    def key(self, key):
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self._send("Input.dispatchKeyEvent", type=kind, key=key, **(text if kind == "keyDown" else {}))
        self.frame()

    def wheel(self, x, y, delta):
        """Turn the wheel over a place."""
        self._send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta, modifiers=2)

    def screenshot(self, path=None, *, whole=False):
        """Return the picture of the page as PNG, and write it where a path is given."""
        picture = base64.b64decode(
            self._send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        )
        if path is not None:
            Path(path).write_bytes(picture)
        return picture
