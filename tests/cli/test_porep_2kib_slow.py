#!/usr/bin/env python3
"""One PoRep job from key to verified proof, byte for byte against the reference implementation's answers, with the memory
that the plan promised; several partitions; development keys; cancelling. Needs some 5 GB of disk and a few minutes."""
import hashlib
import json
import lzma
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from cli_test import CUZK, DATA, POREP, CliTest, main

C1 = POREP / "c1.json"
META = json.loads((POREP / "set.json").read_text())


class Flow(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="cuzk-flow-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        env = os.environ | {"CUZK_CACHE": cls.folder + "/cache"}
        p = subprocess.run([CUZK, "setup", "porep", "--size", "2KiB", "--out", cls.folder + "/keys", "--insecure-trapdoor",
                            POREP / "set.json", "--json"], capture_output=True, env=env)
        assert p.returncode == 0, p.stderr
        assert b"DEVELOPMENT KEY" in p.stderr
        cls.key = json.loads(p.stdout)

    def setUp(self):
        super().setUp()
        self.env["CUZK_CACHE"] = self.folder + "/cache"

    def test_key_equals_the_references(self):
        self.assertEqual((self.key["params_bytes"], self.key["params_sha256"]),
                         (META["params_bytes"], META["params_sha256"]))
        self.assertEqual(pathlib.Path(self.key["vk"]).read_bytes(), (POREP / "vk.bin").read_bytes())
        a = self.cuzk("key", "inspect", self.key["params"], "--json").json
        self.assertEqual((a["key"], a["sha256"]), ("development", META["params_sha256"]))
        self.assertEqual(pathlib.Path(self.key["params"]).name,
                         self.cuzk("circuit", "info", "porep", "--size", "2KiB", "--json").json["params_file"])

    def test_structure_digest(self):
        row = next(r.split("\t") for r in (DATA / "digests.tsv").read_text().splitlines() if r.startswith("porep-2kib\t"))
        f = self.tmp / "checkpoints.tsv"
        a = self.cuzk("circuit", "hash", "porep", "--size", "2KiB", "--checkpoints", f, "--json").json
        self.assertEqual(a["blake2s256"], row[-1])
        lines = f.read_text().splitlines()
        self.assertEqual(lines[0], "chunk\tblake2s256")
        self.assertEqual(len(lines) - 1, -(-a["constraints"] // 65536))

    def test_witness_equals_the_references(self):
        a = self.cuzk("witness", "porep", "--c1", C1, "--checkpoints", self.tmp / "w", "--json").json
        want = META["proofs"][0]
        got = a["partitions"][0]
        self.assertEqual(got["inputs"], (POREP / "inputs-0.txt").read_text().split())
        self.assertEqual((got["inputs_with_one_sha256"], got["aux_sha256"], got["satisfied"]),
                         (want["inputs_with_one_sha256"], want["aux_sha256"], True))
        lines = (self.tmp / "w-0.tsv").read_text().splitlines()
        self.assertEqual((lines[0], len(lines) - 1), ("chunk\taux_sha256", -(-want["aux"] // 65536)))

    def test_proof_equals_the_references(self):
        out = self.tmp / "proof"
        a = self.cuzk("prove", "porep", "--c1", C1, "--params", self.key["params"], "--insecure-rs", POREP / "set.json",
                      "--out", out, "--json", timeout=1200)
        self.assertEqual(a.status, 0, a.err)
        self.assertEqual(out.read_bytes(), (POREP / "proof-0.bin").read_bytes())
        r = a.json
        self.assertEqual(r["proof_sha256"], hashlib.sha256(out.read_bytes()).hexdigest())
        self.assertEqual((r["key"], r["partitions"], r["verified"]), ("development", 1, True))
        stages = sum(v for k, v in r["seconds"].items() if k != "total")
        self.assertLess(abs(stages - r["seconds"]["total"]), 0.1 * r["seconds"]["total"] + 0.2)

    def test_random_proof_and_plan(self):
        out = self.tmp / "proof"
        r = self.cuzk("prove", "porep", "--c1", C1, "--params", self.key["params"], "--out", out, "--device", "cpu",
                      "--json", timeout=1200).json
        self.assertNotEqual(out.read_bytes(), (POREP / "proof-0.bin").read_bytes())
        self.assertEqual(self.cuzk("verify", "porep", "--c1", C1, "--vk", self.key["vk"], out).status, 0)
        self.assertLessEqual(abs(r["tracked_peak_bytes"] - r["plan_host_bytes"]), 0.03 * r["plan_host_bytes"])
        self.assertLessEqual(r["peak_rss_bytes"], r["plan_host_bytes"] + META["params_bytes"] + (200 << 20))
        # Just below the plan: refused at once, with the numbers.
        t = time.time()
        e = self.fails(4, "prove", "porep", "--c1", C1, "--params", self.key["params"], "--out", self.tmp / "no",
                       "--device", "cpu", "--memory", r["plan_host_bytes"] - (1 << 20))
        self.assertLess(time.time() - t, 10)
        # The plan of the proof alone, without what was live before it.
        need = self.cuzk("plan", "porep", "--size", "2KiB", "--device", "cpu", "--json").json["host_bytes"]
        self.assertIn(str(need), e["expected"] + e["found"])
        self.assertFalse((self.tmp / "no").exists())

    def test_cancel_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            p = subprocess.Popen([CUZK, "prove", "porep", "--c1", C1, "--params", self.key["params"], "--out",
                                  self.tmp / "proof"], env=self.env, stderr=subprocess.PIPE)
            time.sleep(1.5)
            p.send_signal(number)
            err = p.communicate(timeout=60)[1]
            self.assertEqual(p.returncode, 128 + number, err)
            self.assertEqual(list(self.tmp.iterdir()), [])

    def test_partitions(self):
        c1 = self.tmp / "c1.json"
        c1.write_bytes(lzma.decompress((DATA / "porep-2kib-ni/c1.json.xz").read_bytes()))
        out = self.tmp / "proof"
        a = self.cuzk("prove", "porep", "--c1", c1, "--params", self.key["params"], "--partition", "12,3", "--out", out,
                      "--json", timeout=1200)
        self.assertEqual(a.status, 0, a.err)
        self.assertEqual((a.json["partitions"], out.stat().st_size), (2, 384))
        self.assertIn("aggregated", a.json["note"])
        verify = ["verify", "porep", "--c1", c1, "--vk", self.key["vk"], out, "--json", "--partition"]
        self.assertEqual(self.cuzk(*verify, "12,3").json["valid"], True)
        swapped = self.cuzk(*verify, "3,12")
        self.assertEqual((swapped.status, swapped.json["invalid_partitions"]), (1, [3, 12]))
        self.fails(2, "prove", "porep", "--c1", c1, "--params", self.key["params"], "--out", out, "--partition", "13")
        self.fails(2, "prove", "porep", "--c1", c1, "--params", self.key["params"], "--out", out, "--partition", "1,1")

    def test_key_of_another_setup_does_not_verify(self):
        a = self.cuzk("verify", "porep", "--c1", C1, "--vk", self.key["vk"], DATA / "tiny/bad/good.bin", "--json")
        self.assertEqual((a.status, a.json["valid"]), (1, False))


@unittest.skipIf(os.environ.get("CUZK_SHORT"), "makes another key")
class DevelopmentKey(CliTest):
    def test_made_once_by_two_processes(self):
        self.env["CUZK_CACHE"] = str(self.tmp / "cache")
        command = [CUZK, "prove", "porep", "--c1", C1, "--dev-key", "--json", "--threads", "1", "--out"]
        runs = [subprocess.Popen(command + [self.tmp / f"proof-{i}"], env=self.env, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for i in range(2)]
        answers = [p.communicate(timeout=3000) for p in runs]
        self.assertEqual([p.returncode for p in runs], [0, 0], answers)
        keys = list((self.tmp / "cache/dev-keys").glob("*.params"))
        self.assertEqual(len(keys), 1)
        for i, (out, err) in enumerate(answers):
            self.assertIn(b"DEVELOPMENT KEY", err)
            self.assertEqual(json.loads(out)["key"], "development")
            self.assertEqual(self.cuzk("verify", "porep", "--c1", C1, "--vk", keys[0].with_suffix(".vk"),
                                       self.tmp / f"proof-{i}").status, 0)
        self.assertEqual([p.name for p in (self.tmp / "cache/dev-keys").iterdir() if ".tmp" in p.name], [])


main()
