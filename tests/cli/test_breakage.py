#!/usr/bin/env python3
"""Unlucky surroundings: outputs that are inputs, damaged cache files, closed streams, signals, files that change."""
import fcntl
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from cli_test import CUBE, CUZK, DATA, SHARED_CACHE, CliTest, main

WINDOW = DATA / "window-post-2kib-1"
JOB = ["window-post", "--request", WINDOW / "request.json", "--vanilla", WINDOW / "vanilla-0.bin"]


def proc(process, name):
    return pathlib.Path("/proc", str(process.pid), name).read_text()


def until(process, true, seconds=120):
    """A program starts at its leisure on a busy machine or under a sanitizer."""
    end = time.monotonic() + seconds
    while not true():
        if process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"not reached; the program's end: {process.returncode}")
        time.sleep(0.005)


class Keys(CliTest):
    """With a small development key of its own, made once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(SHARED_CACHE.name) / "of-breakage"
        subprocess.run([CUZK, "setup", "window-post", "--size", "2KiB", "--out", cls.folder, "--quiet"], check=True,
                       env=os.environ | {"CUZK_CACHE": SHARED_CACHE.name}, stdout=subprocess.DEVNULL)
        cls.params, cls.vk = next(cls.folder.glob("*.params")), next(cls.folder.glob("*.vk"))

    def prove(self, *more, out=None, **options):
        return self.cuzk("prove", *JOB, "--params", self.params, "--out", out or self.tmp / "p", "--json", *more, **options)

    def test_output_is_the_key(self):
        """Also a key that no option names, and any name among the files of the cache folder."""
        before = self.params.read_bytes()
        os.symlink(self.params, self.tmp / "link")
        for out in (self.params, self.tmp / "link"):
            self.assertEqual(self.prove(out=out).status, 2)
            official = {"FIL_PROOFS_PARAMETER_CACHE": str(self.folder)}
            self.fails(2, "prove", *JOB, "--out", out, env=official)
        self.assertEqual(self.params.read_bytes(), before)
        for folder in ("shapes", "keys", "dev-keys"):
            os.makedirs(self.tmp / "cache" / folder)
            self.fails(2, "prove", *JOB, "--dev-key", "--out", self.tmp / "cache" / folder / "proof",
                       env={"CUZK_CACHE": str(self.tmp / "cache")})

    def test_output_leads_nowhere(self):
        os.symlink(self.tmp / "none", self.tmp / "link")
        self.assertEqual(self.prove(out=self.tmp / "link").status, 3)
        self.assertTrue((self.tmp / "link").is_symlink())

    def test_damaged_copy_of_a_key(self):
        """One bit of the converted copy: no proof leaves, the copy is blamed and removed, the next run works."""
        self.assertEqual(self.prove().status, 0)
        copy = next((pathlib.Path(SHARED_CACHE.name) / "keys").glob(self.params.name + "*.key"))
        good = copy.read_bytes()
        for check in ("trusted", "full"):
            (self.tmp / "p").unlink(missing_ok=True)
            copy.write_bytes(good[:8192 + 96 * 7] + bytes([good[8192 + 96 * 7] ^ 1]) + good[8192 + 96 * 7 + 1:])
            a = self.prove("--key-check", check)
            self.assertEqual((a.status, a.error["name"]), (3, "CUZK_KEY_DAMAGED"))
            self.assertIn(f"{copy}, section h, index 7", a.error["where"])
            self.assertFalse((self.tmp / "p").exists() or copy.exists())
            self.assertEqual(self.prove().status, 0)
            self.assertEqual(self.cuzk("verify", "window-post", "--request", WINDOW / "request.json", "--vk", self.vk,
                                       self.tmp / "p").status, 0)

    def test_inspecting_makes_nothing(self):
        home = self.tmp / "home"
        home.mkdir()
        env = {"CUZK_CACHE": "", "XDG_CACHE_HOME": "", "HOME": str(home)}
        self.assertEqual(self.cuzk("key", "inspect", CUBE / "params.bin", env=env).status, 0)
        self.assertEqual(list(home.iterdir()), [])


class Surroundings(CliTest):
    def test_closed_streams(self):
        """Numbers 0 to 2 are never given to a file, into which messages would then be written."""
        def close():
            for fd in range(3):
                os.close(fd)
        os.mkfifo(self.tmp / "pipe")
        p = subprocess.Popen([CUZK, "vanilla", "inspect", "winning-post", "--request", self.tmp / "pipe", "--vanilla", "-"],
                             preexec_fn=close)
        try:
            for _ in range(100):
                links = {fd: os.readlink(f"/proc/{p.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{p.pid}/fd")}
                if len(links) >= 3:
                    break
                time.sleep(0.05)
            self.assertEqual({fd: links.get(fd) for fd in "012"}, dict.fromkeys("012", "/dev/null"))
        finally:
            p.kill()
            p.wait()

    def test_answer_that_cannot_be_written(self):
        for words in (["circuit", "list"], ["--help"], ["prove", "--help"]):
            with open("/dev/full", "wb") as full:
                p = subprocess.run([CUZK, *words], stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(p.returncode, 3, words)
            self.assertIn(b"standard output", p.stderr)

    def test_trapdoor_that_makes_no_key(self):
        """Zeros, and a tau at which the vanishing polynomial is zero."""
        trapdoor = json.loads((WINDOW / "set.json").read_text())["trapdoor"]
        for name, value in (*((name, 0) for name in trapdoor), ("tau", 1)):
            f = self.tmp / "set.json"
            f.write_text(json.dumps({"trapdoor": trapdoor | {name: f"{value:064x}"}}))
            e = self.fails(3, "setup", "window-post", "--size", "2KiB", "--out", self.tmp / "k", "--insecure-trapdoor", f)
            self.assertEqual((e["name"], f"{f}, $.trapdoor" in e["where"]), ("CUZK_MALFORMED", True))
            self.assertIn(name, e["what"])

    def test_file_size_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        out = self.tmp / "k"
        e = self.fails(3, "synth-sector", "winning-post", "--size", "2KiB", "--seed", "1", "--out", out, preexec_fn=limit)
        self.assertIn("File too large", e["what"])
        self.assertEqual(list(out.iterdir()) if out.exists() else [], [])

    def test_signal_ends_a_wait(self):
        """For another process's lock, and for a pipe that nobody writes to."""
        shapes = self.tmp / "cache/shapes"
        shapes.mkdir(parents=True)
        os.mkfifo(self.tmp / "pipe")
        with open(shapes / "winning-post-2kib.shape.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for words in (["circuit", "info", "winning-post", "--size", "2KiB"],
                          ["vanilla", "inspect", "winning-post", "--request", "-", "--vanilla", WINDOW / "vanilla-0.bin"],
                          ["vanilla", "inspect", "winning-post", "--request", self.tmp / "pipe", "--vanilla", "-"]):
                p = subprocess.Popen([CUZK, *words, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=self.env | {"CUZK_CACHE": str(self.tmp / "cache")})
                caught = 1 << (signal.SIGTERM - 1)
                until(p, lambda: int(re.search(r"SigCgt:\s*(\w+)", proc(p, "status"))[1], 16) & caught)
                time.sleep(0.5)
                self.assertIsNone(p.poll(), words)
                p.send_signal(signal.SIGTERM)
                with p:
                    try:
                        self.assertEqual(p.wait(timeout=20), 128 + signal.SIGTERM, words)
                        self.assertIn(b"CUZK_CANCELLED", p.stdout.read())
                    finally:
                        p.kill()

    def test_file_that_shrinks(self):
        """A mapped file cut while it is read: an answer of the usual form, not a death by SIGBUS."""
        f = self.tmp / "key"
        # A key whose first list is nearly the whole file; the others are empty.
        vk = (CUBE / "vk.bin").read_bytes()
        count = (1 << 26) - 1
        f.write_bytes(vk + count.to_bytes(4, "big"))
        os.truncate(f, len(vk) + 4 + 96 * count + 16)  # sparse: hashing it takes seconds
        p = subprocess.Popen([CUZK, "key", "inspect", f, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        until(p, lambda: str(f) in proc(p, "maps"))
        os.truncate(f, 4096)
        out, err = p.communicate(timeout=300)
        self.assertEqual(p.returncode, 3, err)
        self.assertEqual(out.count(b"\n"), 1)
        self.assertIn(b'"CUZK_IO"', out)
        self.assertIn(b"became shorter", err)


main()
