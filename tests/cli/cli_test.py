"""Runs the built program (named by the environment variable CUZK) for the tests of this folder."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
CUBE = DATA / "tiny/cube"
BAD = DATA / "tiny/bad"
POREP = DATA / "porep-2kib-a"
if "CUZK" not in os.environ:
    sys.exit("CUZK names no program")
CUZK = os.environ["CUZK"]
SHARED_CACHE = tempfile.TemporaryDirectory(prefix="cuzk-cache-")  # of this run: shapes are recorded once


class Answer:
    def __init__(self, process):
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr

    @property
    def json(self):
        """The one JSON object on standard output, and nothing else there."""
        lines = self.out.decode().splitlines()
        assert len(lines) == 1, f"standard output: {self.out!r}"
        return json.loads(lines[0])

    @property
    def error(self):
        e = self.json["error"]
        assert set(e) == {"code", "name", "what", "where", "expected", "found", "hint"}, e
        return e


class CliTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.tmp = pathlib.Path(self._folder.name)
        self.env = dict(os.environ)
        self.env["CUZK_CACHE"] = SHARED_CACHE.name
        self.env["FIL_PROOFS_PARAMETER_CACHE"] = str(self.tmp / "no-keys")

    def cuzk(self, *args, timeout=120, **more):
        return Answer(subprocess.run([CUZK, *map(str, args)], capture_output=True, timeout=timeout,
                                     env=self.env | more.pop("env", {}), **more))

    def fails(self, status, *args, **more):
        """The failure's JSON; also checks that the human form has its what and where, and nothing is on standard output."""
        plain = self.cuzk(*args, **more)
        self.assertEqual(plain.status, status, (args, plain.err))
        self.assertEqual(plain.out, b"", args)
        answer = self.cuzk(*args, "--json", **more)
        self.assertEqual(answer.status, status, (args, answer.err))
        error = answer.error
        for part in ("what", "where", "hint"):
            self.assertIn(error[part].encode(), plain.err)
        self.assertTrue(error["what"])
        return error


def main():
    unittest.main(verbosity=1)
