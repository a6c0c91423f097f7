"""Runs `cuzk serve` of the built program (named by the environment variable CUZK) for the tests of this folder, and its
client commands against it."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
if "CUZK" not in os.environ:
    sys.exit("CUZK names no program")
CUZK = os.environ["CUZK"]
# Keys are made once: for all scripts of a run of ctest, which names a folder, else for this one.
OWN_CACHE = None if "CUZK_TEST_CACHE" in os.environ else tempfile.TemporaryDirectory(prefix="cuzk-cache-")
SHARED_CACHE = OWN_CACHE.name if OWN_CACHE else os.environ["CUZK_TEST_CACHE"]
WAIT = float(os.environ.get("CUZK_TEST_WAIT", 400))  # for what should take seconds on an idle machine


class Input:
    """A job's input of tests/data, and how its proof is verified."""

    def __init__(self, kind, folder, vanilla):
        self.kind = kind
        self.request = DATA / folder / "request.json"
        self.vanilla = [DATA / folder / f"vanilla-{i}.bin" for i in range(vanilla)]

    @property
    def words(self):
        words = [self.kind, "--request", self.request]
        for v in self.vanilla:
            words += ["--vanilla", v]
        return words


WINNING = Input("winning-post", "winning-post-2kib-a", 1)
WINDOW = [Input("window-post", f"window-post-2kib-{n}", n) for n in (1, 2, 3)]


def toml(value):
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else json.dumps(value)


class Daemon:
    """One folder with settings, store and log; a process in it may be started, killed and started again."""

    def __init__(self, folder, settings=None, env=None):
        self.folder = pathlib.Path(folder)
        self.address = f"unix://{self.folder}/cuzk.sock"
        self.log_path = self.folder / "log"
        self.store = self.folder / "jobs.db"
        self.env = dict(os.environ) | {"FIL_PROOFS_PARAMETER_CACHE": str(self.folder / "no-keys")} | (env or {})
        for name in ("CUZK_CACHE", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"):
            if not env or name not in env:
                self.env.pop(name, None)
        self.settings = {"daemon.listen": self.address, "store.path": str(self.store),
                         "cache.folder": SHARED_CACHE, "keys.development": True, "memory.total_budget": "2GiB",
                         "gpus.policy": "cpu"} | (settings or {})
        self.config = self.folder / "cuzk.toml"
        self.process = None
        self.write_settings()

    def write_settings(self, **changed):
        self.config.write_text("".join(f"{k} = {toml(v)}\n" for k, v in self.settings.items()))

    def spawn(self, *words, preexec_fn=None):
        with open(self.log_path, "ab") as log:
            self.log_from = log.tell()
            self.process = subprocess.Popen([CUZK, "serve", "--config", self.config, *map(str, words)], stderr=log,
                                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=self.env,
                                            preexec_fn=preexec_fn)
        return self.process

    def start(self, *words, **more):
        self.spawn(*words, **more)
        self.until(lambda: self.says("ready"), "the daemon is not ready")
        return self

    def log(self):
        """What this process has logged."""
        with open(self.log_path, "rb") as f:
            f.seek(self.log_from)
            return f.read().decode()

    def says(self, text):
        if self.process.poll() is not None:
            raise AssertionError(f"the daemon ended with {self.process.returncode}:\n{self.log()}")
        return text in self.log()

    def until(self, true, what, seconds=WAIT):
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise AssertionError(f"{what}:\n{self.log()}")
            time.sleep(0.02)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """SIGKILL, if it lives."""
        if self.process and self.process.poll() is None:
            self.process.kill()
        self.end()

    def end(self, seconds=WAIT):
        """Waits for its end; the exit status."""
        if not self.process:
            return None
        status = self.process.wait(timeout=seconds)
        self.process.stdout.close()
        return status

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.end()

    # ---- its clients ----

    def cuzk(self, *words, timeout=WAIT):
        return subprocess.run([CUZK, *map(str, words), "--addr", self.address, "--json"], capture_output=True,
                              timeout=timeout, env=self.env)

    def answer(self, *words, timeout=WAIT):
        p = self.cuzk(*words, timeout=timeout)
        if p.returncode:
            raise AssertionError(f"{words}: {p.returncode}: {p.stdout} {p.stderr}\n{self.log()}")
        return json.loads(p.stdout)

    def submit(self, job, of, *words):
        return self.answer("submit", *of.words, "--id", job, *words)

    def wait(self, job, timeout=WAIT):
        return self.answer("await", job, timeout=timeout)

    def jobs(self):
        return {j["job_id"]: j for j in self.answer("jobs", "--limit", "1000")["jobs"]}

    def warm(self, of):
        """Its key is there and mapped."""
        self.submit("warm", of)
        self.wait("warm")

    def proving(self):
        """Ids of jobs of which a partition is in work."""
        return {p["job_id"] for p in self.answer("status")["pipelines"]
                if any(q["state"] in ("synthesizing", "synth_done", "gpu") for q in p["partitions"])}

    def rows(self, sql):
        """From the store, by another program."""
        with sqlite3.connect(f"file:{self.store}?mode=ro", uri=True) as db:
            return db.execute(sql).fetchall()


def verify(of, proof):
    """Whether it is a proof of the input by the development key."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(proof)
        f.flush()
        keys = list(pathlib.Path(SHARED_CACHE, "dev-keys").glob("*.vk"))
        assert keys
        for vk in keys:  # one of them is this circuit's
            p = subprocess.run([CUZK, "verify", of.kind, "--request", of.request, "--vk", vk, f.name, "--json"],
                               capture_output=True)
            if p.returncode == 0 and json.loads(p.stdout)["valid"]:
                return True
    return False


class DaemonTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cuzk-daemon-")
        self.addCleanup(folder.cleanup)
        self.tmp = pathlib.Path(folder.name)

    def daemon(self, settings=None, **more):
        d = Daemon(self.tmp, settings, **more)
        self.addCleanup(d.kill)
        return d

    def refused(self, daemon, status, *texts, words=()):
        """A start that fails: the exit status, and the cause in the log's last line."""
        daemon.spawn(*words)
        self.assertEqual(daemon.end(), status, daemon.log())
        lines = daemon.log().splitlines()
        self.assertTrue(lines, "nothing is logged")
        for text in texts:
            self.assertIn(text, lines[-1])
        return lines


def main():
    unittest.main(verbosity=1)
