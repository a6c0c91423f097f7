"""bench batch: the answer, its files, a sweep, a daemon, and what it refuses."""
import csv
import sys
import xml.etree.ElementTree as xml

import cli_test

sys.path.insert(0, str(cli_test.ROOT / "tests/daemon"))
from daemon_test import SHARED_CACHE, Daemon  # noqa: E402

WINDOW = cli_test.DATA / "window-post-2kib-1"
WINDOW_JOB = ("window-post", "--request", WINDOW / "request.json", "--vanilla", WINDOW / "vanilla-0.bin")
FIGURES = {"completed", "failed", "seconds", "seconds_per_proof", "p50", "p95", "min", "max", "mean", "peak_rss_bytes",
           "tracked_peak_bytes", "unexplained_bytes", "device_peak_bytes"}
STAGES = ["queue_wait", "key_load", "vanilla_check", "synthesis", "device_wait", "device", "finish", "verify", "total"]


def rows(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


class Bench(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        self.env["CUZK_CACHE"] = SHARED_CACHE

    def figures(self, f, n):
        self.assertLessEqual(FIGURES, set(f))
        self.assertEqual((f["completed"], f["failed"]), (n, 0))
        self.assertAlmostEqual(f["seconds_per_proof"], f["seconds"] / n, places=4)
        self.assertTrue(0 < f["min"] <= f["p50"] <= f["p95"] <= f["max"] <= f["seconds"] + 0.01, f)
        self.assertTrue(f["min"] <= f["mean"] <= f["max"], f)
        self.assertGreater(f["peak_rss_bytes"], f["unexplained_bytes"])
        self.assertGreater(f["tracked_peak_bytes"], 1 << 20)

    def files(self, answer, folder, n, runs):
        samples, proofs, sweep = (rows(folder / f"{name}.csv") for name in ("samples", "proofs", "sweep"))
        self.assertEqual(sorted(answer["csv"]), sorted(str(folder / f"{k}.csv") for k in ("samples", "proofs", "sweep")))
        self.assertEqual(len(proofs), n * runs)
        self.assertEqual({p["state"] for p in proofs}, {"completed"})
        self.assertEqual(len({p["id"] for p in proofs}), n * runs)
        for p in proofs:
            total = sum(float(p[f"{s}_seconds"]) for s in STAGES[:-1])
            self.assertLessEqual(total, float(p["latency_seconds"]) * 1.05 + 0.05)
        self.assertEqual(len(sweep), runs)
        self.assertGreaterEqual(len(samples), runs)
        for s in samples:
            classes = sum(int(v) for k, v in s.items() if k.endswith("_bytes") and k.split("_bytes")[0] in
                          answer["peak_by_class"])
            self.assertAlmostEqual(classes, int(s["tracked_bytes"]), delta=64 << 20)
        self.assertEqual(len(answer["svg"]), runs)
        for path in answer["svg"]:
            root = xml.parse(path).getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertGreater(len(list(root.iter("{http://www.w3.org/2000/svg}path"))), 1)
        return [xml.parse(p).getroot() for p in answer["svg"]]

    def waterfall(self, plot, n):
        """Every proof's stages are in it, on lanes with names, within the picture."""
        svg = "{http://www.w3.org/2000/svg}"
        slices = [r for r in plot.iter(f"{svg}rect") if r.find(f"{svg}title") is not None]
        titles = [r.find(f"{svg}title").text for r in slices]
        for stage in ("synthesis", "device", "finish", "verify"):
            self.assertEqual(sum(f": {stage} " in t for t in titles), n, stage)
        for r in slices:
            left, right = float(r.get("x")), float(r.get("x")) + float(r.get("width"))
            self.assertTrue(109 <= left <= right <= 1181, (left, right))
        texts = [t.text for t in plot.iter(f"{svg}text")]
        for lane in ("synthesis ", "cpu/", "finish "):
            self.assertTrue(any(t.startswith(lane) for t in texts), texts)

    def test_sweep_of_made_up_sectors(self):
        out, temporary = self.tmp / "out", self.tmp / "temporary"
        temporary.mkdir()
        a = self.cuzk("bench", "batch", "window-post", "--synthetic", "--size", "2KiB", "--dev-key", "--device", "cpu", "-c", 3,
                      "-j", 2, "--pw", "1,2", "--gw", 1, "--out", out, "--json", "--quiet", env={"TMPDIR": str(temporary)})
        self.assertEqual(a.status, 0, a.err)
        j = a.json
        self.assertEqual((j["circuit"], j["count"], j["concurrency"]), ("window-post-2kib", 3, 2))
        self.assertEqual(j["device"], "cpu")
        self.figures(j, 3)
        self.assertEqual([(s["pw"], s["gw"]) for s in j["sweep"]], [(1, 1), (2, 1)])
        for s in j["sweep"]:
            self.figures(s, 3)
        self.assertEqual(j["seconds_per_proof"], min(s["seconds_per_proof"] for s in j["sweep"]))
        self.assertEqual([s["stage"] for s in j["stages"]], STAGES)
        self.assertTrue(all(0 <= s["p50"] <= s["p95"] <= s["max"] for s in j["stages"]))
        self.assertGreater(j["peak_by_class"]["witness"], 0)
        plots = self.files(j, out, 3, 2)
        for plot in plots:
            self.waterfall(plot, 3)
        self.assertEqual(list(temporary.iterdir()), [], "the made-up sector is gone")

    def test_for_people(self):
        a = self.cuzk("bench", "batch", *WINDOW_JOB, "--dev-key", "-c", 1, "--device", "cpu", "--out", self.tmp / "out")
        self.assertEqual(a.status, 0, a.err)
        self.assertIn(b"seconds per proof", a.out)
        self.assertIn(b"DEVELOPMENT KEY", a.err)

    def test_daemon(self):
        if b"serve" not in self.cuzk("--help").out:
            self.skipTest("built without the daemon")
        folder = self.tmp / "d"
        folder.mkdir()
        d = Daemon(folder)
        self.addCleanup(d.kill)
        d.start()
        a = self.cuzk("bench", "batch", *WINDOW_JOB, "-c", 4, "-j", 2, "--addr", d.address, "--out", self.tmp / "out", "--json")
        self.assertEqual(a.status, 0, a.err)
        self.figures(a.json | {"tracked_peak_bytes": max(a.json["tracked_peak_bytes"], (1 << 20) + 1)}, 4)
        self.assertGreater(a.json["tracked_peak_bytes"], 0)
        self.assertEqual(a.json["budget_bytes"], 2 << 30)
        self.waterfall(self.files(a.json, self.tmp / "out", 4, 1)[0], 4)
        # What the daemon did before a batch is not in its plot.
        a = self.cuzk("bench", "batch", *WINDOW_JOB, "-c", 2, "--addr", d.address, "--out", self.tmp / "out3", "--json")
        self.waterfall(self.files(a.json, self.tmp / "out3", 2, 1)[0], 2)
        self.assertEqual(d.stop(), 0)
        a = self.cuzk("bench", "batch", *WINDOW_JOB, "-c", 1, "--addr", d.address, "--out", self.tmp / "out2", "--json")
        self.assertEqual((a.status, a.error["name"]), (6, "CUZK_UNREACHABLE"))

    def test_refusals(self):
        for words, what in ((("porep", "--synthetic"), "--count"),
                            (("window-post", "-c", 1), "--synthetic"),
                            (("window-post", "--synthetic", "-c", 1), "--size"),
                            ((*WINDOW_JOB, "--synthetic", "-c", 1), "files"),
                            ((*WINDOW_JOB, "-c", 0), "1 to"),
                            ((*WINDOW_JOB, "-c", 1, "-j", "many"), "1 to"),
                            ((*WINDOW_JOB, "-c", 1, "--pw", "1,,2"), "1,2,4"),
                            ((*WINDOW_JOB, "-c", 1, "--gw", "0"), "1,2,4"),
                            ((*WINDOW_JOB, "-c", 1, "--pw", "2", "--addr", "127.0.0.1:1"), "daemon")):
            a = self.cuzk("bench", "batch", *words, "--out", self.tmp / "none", "--json")
            self.assertEqual(a.status, 2, (words, a.err))
            self.assertIn(what, a.error["what"] + a.error["expected"], words)
            self.assertFalse((self.tmp / "none").exists(), words)

    def test_no_official_key(self):
        a = self.cuzk("bench", "batch", *WINDOW_JOB, "-c", 1, "--device", "cpu", "--out", self.tmp / "out", "--json")
        self.assertEqual((a.status, a.error["name"]), (3, "CUZK_KEY_MISSING"))
        self.assertFalse((self.tmp / "out").exists(), "an empty folder is left")

    def test_too_little_memory(self):
        a = self.cuzk("bench", "batch", "porep", "--synthetic", "--size", "2KiB", "--dev-key", "-c", 1, "--device", "cpu",
                      "--memory", "700MiB", "--out", self.tmp / "out", "--json")
        self.assertEqual((a.status, a.error["name"]), (4, "CUZK_TOO_LARGE"))
        self.assertFalse((self.tmp / "out").exists(), "an empty folder is left")

    def test_a_false_input_fails_the_batch(self):
        broken = self.tmp / "broken.bin"
        data = bytearray((WINDOW / "vanilla-0.bin").read_bytes())
        data[-40] ^= 1
        broken.write_bytes(data)
        a = self.cuzk("bench", "batch", "window-post", "--request", WINDOW / "request.json", "--vanilla", broken, "--dev-key", "-c", 2,
                      "--device", "cpu", "--out", self.tmp / "out", "--json")
        self.assertEqual(a.status, 3, a.err)
        self.assertIn("2 of 2 failed", a.error["where"])
        self.assertEqual({p["state"] for p in rows(self.tmp / "out/proofs.csv")}, {"failed"})


if __name__ == "__main__":
    cli_test.unittest.main()
