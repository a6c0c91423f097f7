"""The daemon's HTTP side after real proofs: documents, metrics as documented, stages that add up, streams, many clients."""
import json
import os
import re
import shutil
import subprocess
import sys
import threading

import http_test
from daemon_test import WINDOW, WINNING

STAGES = ("queue_wait", "key_load", "vanilla_check", "synthesis", "device_wait", "device", "finish", "verify")
HOSTILE = 'a/"b" <img src=x> &c?'

# What is 0 after jobs that all went well on one idle CPU.
MAY_BE_ZERO = {
    "cuzk_draining", "cuzk_trouble", "cuzk_proofs_failed_total", "cuzk_proofs_failed", "cuzk_jobs_cancelled_total",
    "cuzk_jobs_superseded_total", "cuzk_queue_depth", "cuzk_running_jobs", "cuzk_jobs", "cuzk_synthesis_active",
    "cuzk_device_queue_partitions", "cuzk_synthesized_partitions", "cuzk_pending_proofs",
    "cuzk_partition_retries_total", "cuzk_cpu_fallbacks_total", "cuzk_verify_failures_total",
    "cuzk_partitions_hung_total", "cuzk_key_evictions_total", "cuzk_memory_refusals_total",
    "cuzk_memory_critical_reserved_bytes", "cuzk_request_bytes", "cuzk_key_references", "cuzk_unexplained_bytes",
    "cuzk_device_budget_bytes", "cuzk_device_reserved_bytes", "cuzk_device_faults_total",
    "cuzk_device_wrong_proofs_total",
}


def documented():
    """Names of metrics in docs/instruments.md."""
    text = (http_test.ROOT / "docs/instruments.md").read_text()
    section = text[text.index("\n## Metrics"):text.index("\n## Buffer classes")]
    return set(re.findall(r"`((?:cuzk|process)_[a-z_]+)(?:\{[a-z_,]+\})?`", section))


class AfterProofs(http_test.HttpTest):
    def test_everything(self):
        site = self.site({"memory.critical_share": "64MiB"})
        self.before(site)
        for k, of in enumerate((WINNING, WINNING, WINDOW[0])):
            site.daemon.submit(f"job {k}", of)
        site.daemon.submit(HOSTILE, WINDOW[0])
        self.assertTrue(site.daemon.submit("job 0", WINNING)["joined"])
        site.daemon.wait("job 2")
        self.pipelines = {p["job_id"]: p for p in site.status()["pipelines"]}  # told for 30 s: less than others may take
        for k in ("job 0", "job 1", "job 2", HOSTILE):
            self.assertEqual(site.daemon.wait(k)["state"], "completed")
        self.metrics(site)
        self.promtool(site)
        self.stages_add_up(site)
        self.status_document(site)
        self.traces(site)
        self.stream(site)
        self.many_at_once(site)
        self.draining(site)

    def before(self, site):
        values, _ = site.metrics()
        self.assertEqual(values["cuzk_proofs_completed"]['{proof_kind="porep_c2"}'], 0)
        self.assertEqual(site.get("/healthz")[::2], (200, "ok\n"))
        self.assertEqual(site.status()["jobs"], [])

    def metrics(self, site):
        values, types = site.metrics()
        self.assertEqual(set(types), documented(), "metrics and docs/instruments.md differ")
        for name, kind in types.items():
            series = values[name + "_count" if kind == "histogram" else name]
            self.assertTrue(series, name)
            self.assertTrue(all(v >= 0 for v in series.values()), name)
            if name not in MAY_BE_ZERO:
                self.assertTrue(any(v > 0 for v in series.values()), f"{name} is 0 after proofs")
        self.assertEqual(values["cuzk_proofs_completed_total"][""], 4)
        self.assertEqual(values["cuzk_jobs_joined_total"][""], 1)
        self.assertEqual(values["cuzk_proofs_completed"]['{proof_kind="winning_post"}'], 2)
        self.assertEqual(values["cuzk_proof_duration_seconds_count"]['{proof_kind="window_post"}'], 2)
        self.assertEqual(values["cuzk_partitions_finished_total"][""], 4)
        for stage in ("queue", "vanilla_check", "synthesis", "device_wait", "device", "finish", "verify", "total"):
            labels = f'{{proof_kind="winning_post",stage="{stage}"}}'
            self.assertEqual(values["cuzk_stage_duration_seconds_count"][labels], 2, stage)
            for gauge in ("last", "mean", "max"):
                self.assertGreater(values[f"cuzk_stage_{gauge}_seconds"][labels], 0, (stage, gauge))
        budget = values["cuzk_memory_budget_bytes"][""]
        self.assertEqual(budget, 2 << 30)
        self.assertLessEqual(values["cuzk_memory_reserved_peak_bytes"][""], budget)
        self.assertLess(values["process_resident_memory_bytes"][""], budget)

    def promtool(self, site):
        if not shutil.which("promtool") and not os.environ.get("CUZK_NO_SKIP"):
            print("promtool is not installed: the metrics are not checked by it", file=sys.stderr)
            return
        p = subprocess.run(["promtool", "check", "metrics"], input=site.get("/metrics")[2], text=True,
                           capture_output=True)
        self.assertEqual((p.returncode, p.stderr), (0, ""))

    def stages_add_up(self, site):
        """Of jobs of one partition: within 5 %, or 50 ms, of the total."""
        values, _ = site.metrics()
        for kind in ("winning_post", "window_post"):
            of = {s: values["cuzk_stage_duration_seconds_sum"][f'{{proof_kind="{kind}",stage="{s}"}}']
                  for s in ("queue",) + STAGES[1:] + ("total",)}
            total = of.pop("total")
            self.assertAlmostEqual(sum(of.values()), total, delta=max(0.05 * total, 0.1), msg=f"{kind}: {of}")
        for job in site.status()["jobs"]:
            total = job["seconds"]["total"]
            self.assertAlmostEqual(sum(job["seconds"][s] for s in STAGES), total, delta=max(0.05 * total, 0.05),
                                   msg=json.dumps(job))

    def status_document(self, site):
        status, headers, body = site.get("/status")
        s = json.loads(body)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        self.assertEqual(headers["Access-Control-Allow-Origin"], "*")
        jobs = {j["job_id"]: j for j in s["jobs"]}
        self.assertEqual(set(jobs), {"job 0", "job 1", "job 2", HOSTILE})
        for j in jobs.values():
            self.assertEqual((j["state"], j["partition_states"], j["partitions_done"]), ("completed", "d", 1))
        self.assertEqual(s["counters"]["completed_by_kind"]["winning-post"], 2)
        self.assertEqual({w["state"] for w in s["gpu_workers"]}, {"idle"})
        self.assertEqual(s["synthesis"]["active"], 0)
        self.assertEqual(set(s["buffers"].values()), {0})
        self.assertEqual(self.pipelines["job 2"]["proof_kind"], "window-post")
        self.assertEqual(self.pipelines["job 2"]["partitions"][0]["state"], "done")
        self.assertGreater(self.pipelines["job 2"]["partitions"][0]["gpu_ms"], 0)
        self.assertEqual({a["circuit_id"] for a in s["allocations"]["srs"]}, {"winning-2kib", "wpost-2kib"})
        m = s["memory"]
        self.assertEqual(m["total_bytes"], m["used_bytes"] + m["available_bytes"])
        self.assertGreater(m["peak_rss_bytes"], 0)
        self.assertEqual(sum(c["bytes"] for c in m["classes"]), m["tracked_bytes"])

    def traces(self, site):
        from urllib.parse import quote
        for path, jobs in (("/trace", 4), ("/trace?job=" + quote(HOSTILE, safe=""), 1)):
            status, _, body = site.get(path)
            self.assertEqual(status, 200)
            events = json.loads(body)["traceEvents"]
            slices = [e for e in events if e["ph"] == "X"]
            self.assertEqual(len({e["args"]["job"] for e in slices}), jobs)
            for stage in ("synthesis", "device", "finish", "verify"):
                self.assertGreaterEqual(sum(e["name"] == stage for e in slices), jobs, stage)
            self.assertTrue(any(e["ph"] == "C" and e["name"] == "bytes by class" for e in events))
        self.assertEqual(site.get("/trace?job=nobody")[0], 404)

    def stream(self, site):
        stream = site.events()
        name, data = next(stream)
        self.assertEqual(name, "hello")
        kinds = {e[1] for e in data["events"]}
        for kind in ("job_submitted", "synth_start", "device_taken", "finished", "verified", "job_ended"):
            self.assertIn(kind, kinds)
        self.assertTrue(data["samples"])
        self.assertEqual(len(data["samples"][0]), 4 + len(data["classes"]))
        self.assertNotIn("pipelines", data["status"])
        for _ in range(3):
            name, data = next(stream)
            self.assertEqual(name, "tick")
        stream.close()

    def many_at_once(self, site):
        """48 readers and 12 streams together; each gets a whole answer."""
        wrong = []

        def read(path):
            try:
                status, _, body = site.get(path)
                if status != 200 or len(body) < 100:
                    wrong.append((path, status, body[:200]))
            except OSError as e:
                wrong.append((path, repr(e)))

        def listen():
            try:
                stream = site.events()
                for _ in range(3):
                    next(stream)
                stream.close()
            except (OSError, AssertionError) as e:
                wrong.append(("/events", repr(e)))

        threads = [threading.Thread(target=listen) for _ in range(12)]
        threads += [threading.Thread(target=read, args=(p,)) for p in ("/status", "/metrics", "/", "/trace") * 12]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def draining(self, site):
        """SIGTERM with an idle engine: streams end with the process, which ends well."""
        stream = site.events()
        next(stream)
        self.assertEqual(site.daemon.stop(), 0)
        for _ in stream:
            pass


class Token(http_test.HttpTest):
    def test_token(self):
        (self.tmp / "token").write_text("s3cret-s3cret-s3cret\n")
        site = self.site({"daemon.token_file": str(self.tmp / "token")})
        self.assertEqual(site.get("/metrics")[0], 401)
        self.assertEqual(site.get("/healthz")[0], 200)
        self.assertEqual(site.get("/metrics", {"Authorization": "Bearer s3cret-s3cret-s3cret"})[0], 200)
        status, headers, _ = site.get("/?token=s3cret-s3cret-s3cret")
        self.assertEqual((status, headers["Location"]), (303, "/"))
        cookie = headers["Set-Cookie"].split(";")[0]
        self.assertEqual(site.get("/", {"Cookie": cookie})[0], 200)
        self.assertEqual(site.get("/status", {"Cookie": cookie})[0], 200)


if __name__ == "__main__":
    http_test.daemon_test.main()
