"""The daemon's HTTP side for the tests of this folder: the daemon of tests/daemon with a status address, and a reader of
its answers."""
import http.client
import json
import pathlib
import re
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "daemon"))
import daemon_test  # noqa: E402

ROOT = daemon_test.ROOT


class Site:
    """A daemon that is ready, by HTTP."""

    def __init__(self, daemon):
        self.daemon = daemon.start()
        self.base = re.search(r"http://([^/\s]+)/", daemon.log()).group(0).rstrip("/")
        self.host, port = self.base.removeprefix("http://").rsplit(":", 1)
        self.port = int(port)

    def get(self, path, headers=None, method="GET"):
        """Status, headers, body."""
        c = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            c.request(method, path, headers=headers or {})
            r = c.getresponse()
            return r.status, r.headers, r.read().decode()
        finally:
            c.close()

    def status(self):
        with urllib.request.urlopen(self.base + "/status", timeout=60) as r:
            return json.load(r)

    def metrics(self):
        """{family: {labels as text: value}} and {family: type}."""
        with urllib.request.urlopen(self.base + "/metrics", timeout=60) as r:
            text = r.read().decode()
        values, types = {}, {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ", 3)
                types[name] = kind
            elif line and not line.startswith("#"):
                name, labels, value = re.fullmatch(r"([a-z_0-9]+)(\{.*\})? (\S+)", line).groups()
                values.setdefault(name, {})[labels or ""] = float(value)
        return values, types

    def events(self, seconds=60):
        """A generator of (event, data) of the stream; ends with its connection."""
        c = http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        c.request("GET", "/events", headers={"Accept": "text/event-stream"})
        r = c.getresponse()
        if r.status != 200:
            raise AssertionError(f"/events: {r.status} {r.read()}")
        try:
            name = None
            while line := r.readline():
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, json.loads(line.removeprefix("data: "))
        finally:
            c.close()


class HttpTest(daemon_test.DaemonTest):
    def site(self, settings=None, **more):
        return Site(self.daemon({"daemon.status_listen": "127.0.0.1:0"} | (settings or {}), **more))
