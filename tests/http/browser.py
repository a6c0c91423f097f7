"""A headless Chromium, driven by the DevTools protocol over a small WebSocket client (RFC 6455, as client, text only)."""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request


def find():
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class WebSocket:
    def __init__(self, host, port, path, timeout=30):
        self.sock = socket.create_connection((host, port), timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        self.sock.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.decode(errors="replace"))

    def more(self):
        data = self.sock.recv(1 << 16)
        if not data:
            raise ConnectionError("the browser closed its connection")
        return data

    def exactly(self, n):
        while len(self.rest) < n:
            self.rest += self.more()
        data, self.rest = self.rest[:n], self.rest[n:]
        return data

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        n = len(data)
        head = b"\x81" + (bytes([0x80 | n]) if n < 126 else
                          bytes([0xFE]) + struct.pack(">H", n) if n < 65536 else bytes([0xFF]) + struct.pack(">Q", n))
        self.sock.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        message = b""
        while True:
            first, second = self.exactly(2)
            n = second & 127
            if n == 126:
                n = struct.unpack(">H", self.exactly(2))[0]
            elif n == 127:
                n = struct.unpack(">Q", self.exactly(8))[0]
            data = self.exactly(n)
            if first & 15 in (0, 1):
                message += data
                if first & 0x80:
                    return message.decode()
            elif first & 15 == 8:
                raise ConnectionError("the browser closed its connection")


class Browser:
    """One page. Use with `with`."""

    def __init__(self, width=1440, height=900):
        self.folder = tempfile.mkdtemp(prefix="cuzk-browser-")
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--remote-debugging-port=0", "--remote-allow-origins=*",
             f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number = 0
        self.socket = None
        self.problems = []  # console errors and uncaught exceptions
        try:
            self.attach()
        except BaseException:
            self.close()
            raise

    def attach(self):
        deadline = time.time() + 60
        port_file = os.path.join(self.folder, "DevToolsActivePort")
        while True:
            try:
                with open(port_file, encoding="ascii") as f:
                    port = int(f.read().split()[0])
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as listing:
                    pages = [p for p in json.load(listing) if p["type"] == "page"]
                if pages:
                    break
            except (OSError, ValueError, IndexError):
                pass
            if time.time() > deadline or self.process.poll() is not None:
                raise RuntimeError("the browser did not start")
            time.sleep(0.1)
        url = pages[0]["webSocketDebuggerUrl"]
        self.socket = WebSocket("127.0.0.1", port, url[url.index("/devtools"):])
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def note(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.problems.append(d.get("exception", {}).get("description") or d["text"])
        elif method == "Log.entryAdded" and p["entry"]["level"] == "error":
            self.problems.append(f'{p["entry"]["text"]} {p["entry"].get("url", "")}')
        elif method == "Runtime.consoleAPICalled" and p["type"] == "error":
            self.problems.append(json.dumps(p["args"]))

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") != self.number:
                self.note(message)
                continue
            if "error" in message:
                raise RuntimeError(f'{method}: {message["error"]}')
            return message["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)

    def evaluate(self, expression):
        """The value of a JavaScript expression (a promise is awaited)."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def wait(self, expression, what, seconds=60):
        """Until the expression is true."""
        deadline = time.time() + seconds
        while True:
            if self.evaluate(f"!!({expression})"):
                return
            if time.time() > deadline:
                raise AssertionError(f"did not happen in {seconds} s: {what}")
            time.sleep(0.05)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def colors(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        if self.socket:
            self.socket.sock.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
