"""The commands that talk to a daemon, against a real one: what they answer, print and exit with."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
import run  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"
WINDOW = ["--request", DATA / "window-post-2kib-1/request.json", "--vanilla", DATA / "window-post-2kib-1/vanilla-0.bin"]
WINNING = ["--request", DATA / "winning-post-2kib-a/request.json", "--vanilla",
           DATA / "winning-post-2kib-a/vanilla-0.bin"]


def cuzk(*args, status=0, plain=False):
    """The answer of a command; --json unless plain."""
    command = [run.CUZK, *map(str, args), *([] if plain else ["--json"])]
    r = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert r.returncode == status, f"{command}: exit status {r.returncode}, not {status}\n{r.stdout}\n{r.stderr}"
    return r if plain else json.loads(r.stdout)


def error(*args, status, name):
    answer = cuzk(*args, status=status)["error"]
    assert answer["name"] == name and answer["what"], answer
    return answer


def job_state(job_id):
    return {j["job_id"]: j["state"] for j in cuzk("jobs")["jobs"]}.get(job_id)


def test_jobs(folder):
    ticket = cuzk("submit", "window-post", *WINDOW, "--id", "w 1", "--priority", "low")
    assert ticket["job_id"] == "w 1" and ticket["joined"] is False, ticket
    assert cuzk("submit", "window-post", *WINDOW, "--id", "w 1")["joined"] is True
    done = cuzk("await", "w 1", "--out", folder / "w.bin")
    assert done["state"] == "completed" and done["partitions"] == 1 and done["seconds"]["total"] > 0, done
    proof = (folder / "w.bin").read_bytes()
    assert len(proof) == 192
    run.verify(folder / "w.bin", "window-post", WINDOW[1])
    assert bytes.fromhex(cuzk("await", "w 1")["proof_hex"]) == proof
    remote = cuzk("prove", "window-post", *WINDOW, "--addr", os.environ["CUZK_ADDR"], "--id", "w 1", "--out",
                  folder / "p.bin")
    assert remote["proof_sha256"] == done["proof_sha256"] and (folder / "p.bin").read_bytes() == proof
    assert job_state("w 1") == "completed"


def test_bad_jobs(folder):
    short = folder / "short.bin"
    short.write_bytes((DATA / "window-post-2kib-1/vanilla-0.bin").read_bytes()[:3000])
    bad = ["--request", WINDOW[1], "--vanilla", short]
    e = error("prove", "window-post", *bad, "--addr", os.environ["CUZK_ADDR"], "--out", folder / "no.bin", status=3,
              name="CUZK_MALFORMED")
    assert "window" in e["where"] or "vanilla" in e["where"] or e["where"], e
    assert not (folder / "no.bin").exists()
    error("submit", "porep", "--c1", folder / "nowhere", status=3, name="CUZK_IO")
    error("submit", "window-post", status=2, name="CUZK_USAGE")
    error("submit", "nothing", status=2, name="CUZK_USAGE")
    error("submit", "window-post", *WINDOW, "--priority", "urgent", status=2, name="CUZK_USAGE")
    error("prove", "window-post", *WINDOW, "--id", "x", "--out", folder / "x", status=2, name="CUZK_USAGE")
    error("prove", "window-post", *WINDOW, "--addr", "x:1", "--dev-key", "--out", folder / "x", status=2,
          name="CUZK_USAGE")
    error("await", "nobody", status=6, name="CUZK_REFUSED")
    assert cuzk("cancel", "nobody")["was_running"] is False


def test_waiting(folder):
    """Several critical jobs keep the machine busy; a low one behind them waits."""
    for i in range(6):
        cuzk("submit", "winning-post", *WINNING, "--id", f"busy {i}")
    cuzk("submit", "window-post", *WINDOW, "--id", "low", "--priority", "low")
    e = error("await", "low", "--timeout", "1", status=6, name="CUZK_REFUSED")
    assert "not ended" in e["what"], e
    client = subprocess.Popen([run.CUZK, "prove", "winning-post", *WINNING, "--addr", os.environ["CUZK_ADDR"], "--id",
                               "left", "--priority", "low", "--out", folder / "left.bin"], stderr=subprocess.DEVNULL)
    until = time.time() + 30
    while job_state("left") is None and time.time() < until:
        time.sleep(0.05)
    client.send_signal(signal.SIGINT)
    assert client.wait(10) == 130
    while job_state("left") not in ("cancelled", "completed") and time.time() < until:
        time.sleep(0.05)
    assert job_state("left") == "cancelled", job_state("left")
    picture = cuzk("top", plain=True).stdout
    assert "queued" in picture and "JOB" in picture and "busy 5" in picture, picture
    cancelled = [cuzk("cancel", f"busy {i}")["was_running"] for i in range(6)]
    assert any(cancelled)
    cuzk("await", "low")
    deadline = cuzk("submit", "winning-post", *WINNING, "--id", "late", "--deadline", "1", "--priority", "low")
    assert deadline["job_id"] == "late"


def test_views(folder):
    status = cuzk("status")
    assert status["memory"]["total_bytes"] > 0 and status["uptime_secs"] > 0, status.keys()
    text = cuzk("metrics", plain=True).stdout
    assert "# TYPE cuzk_" in text
    assert cuzk("metrics")["metrics"].startswith("# ")
    trace = cuzk("trace", "w 1", "--out", folder / "trace.json")
    assert trace["bytes"] == (folder / "trace.json").stat().st_size
    json.loads((folder / "trace.json").read_text())
    assert len(cuzk("jobs", "--limit", "2")["jobs"]) == 2
    shown = cuzk("jobs", plain=True).stdout
    assert "w 1" in shown and not re.search(r"\.[0-9]{7}", shown), shown
    # Times as people read them; numbers for programs.
    assert re.search(r" age .*\n.*w 1 .* 20[0-9]{2}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9] "
                     r" ([0-9]+ s|[0-9]+ min) ", shown), shown
    assert all(abs(time.time() - j["submitted"]) < 3600 for j in cuzk("jobs")["jobs"])
    # A job that is not there is refused in the same way, whatever is asked of it.
    for command in (("await", "nobody"), ("trace", "nobody", "--out", folder / "none.json")):
        error(*command, status=6, name="CUZK_REFUSED")
    assert not (folder / "none.json").exists()


def test_keys(folder):
    cuzk("preload", "window-post-2kib")
    assert cuzk("preload", "window-post-2kib")["already_loaded"] is True
    gone = cuzk("evict", "window-post-2kib")
    assert gone["was_loaded"] is True and gone["freed_bytes"] > 0, gone
    assert cuzk("evict", "window-post-2kib")["was_loaded"] is False
    error("preload", "nothing-2kib", status=2, name="CUZK_USAGE")


def test_refused(folder):
    """What cannot be proved is told at once: no device by policy, a key that is not there and its file's name."""
    if all(d["is_cpu"] for d in cuzk("status")["devices"]):
        start = time.time()
        error("submit", "window-post", *WINDOW, "--policy", "require-gpu", status=5, name="CUZK_DEVICE")
        assert time.time() - start < 5
    (folder / "strict").mkdir()
    (folder / "none").mkdir()
    config = folder / "strict" / "cuzk.toml"
    config.write_text(f"""
[daemon]
listen = "unix://{folder}/strict/s"
[store]
path = ""
[cache]
folder = "{folder}/strict/cache"
[srs]
param_cache = "{folder}/none"
[logging]
level = "error"
""")
    daemon = subprocess.Popen([run.CUZK, "serve", "--config", config])
    address = ["--addr", f"unix://{folder}/strict/s"]
    until = time.time() + 30
    while subprocess.run([run.CUZK, "status", *address], capture_output=True).returncode and time.time() < until:
        time.sleep(0.1)
    e = error("prove", "window-post", *WINDOW, *address, "--out", folder / "no.bin", status=3, name="CUZK_KEY_MISSING")
    assert "v28-" in e["expected"] + e["where"], e
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(30) == 0


def test_too_large(folder):
    """A job that fails later, for good: the client tells the daemon's own status."""
    config = folder / "small.toml"
    config.write_text(f"""
[daemon]
listen = "unix://{folder}/small"
[keys]
development = true
[store]
path = ""
[memory]
total_budget = "700MiB"
[cache]
folder = "{run.CACHE}"
[logging]
level = "error"
""")
    daemon = subprocess.Popen([run.CUZK, "serve", "--config", config])
    address = ["--addr", f"unix://{folder}/small"]
    until = time.time() + 30
    while subprocess.run([run.CUZK, "status", *address], capture_output=True).returncode and time.time() < until:
        time.sleep(0.1)
    e = error("prove", "porep", "--c1", DATA / "porep-2kib-a/c1.json", *address, "--out", folder / "no.bin", status=4,
              name="CUZK_TOO_LARGE")
    assert e["expected"] and e["found"], e
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(30) == 0


def test_unreachable(folder):
    e = error("status", "--addr", f"unix://{folder}/nothing", status=6, name="CUZK_UNREACHABLE")
    assert "cuzk serve" in e["hint"]
    error("status", "--addr", "127.0.0.1:1", status=6, name="CUZK_UNREACHABLE")
    error("status", "--addr", "nonsense", status=2, name="CUZK_USAGE")
    error("status", "--token-file", folder / "nowhere", status=3, name="CUZK_IO")
    # The longest token that a daemon takes can be shown to it, a longer one is not cut.
    token = folder / "token"
    token.write_text(255 * "t" + "\n")
    error("status", "--addr", "127.0.0.1:1", "--token-file", token, status=6, name="CUZK_UNREACHABLE")
    token.write_text(256 * "t" + "\n")
    error("status", "--addr", "127.0.0.1:1", "--token-file", token, status=3, name="CUZK_MALFORMED")
    # Who shows a certificate wants TLS.
    for option in "--tls-cert", "--tls-key":
        error("status", "--addr", "127.0.0.1:1", option, token, status=2, name="CUZK_USAGE")


def main():
    run.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cuzk-client-") as name:
        folder = pathlib.Path(name)
        daemon = run.start_daemon(folder, "")
        os.environ["CUZK_ADDR"] = f"unix://{folder}/s"
        try:
            for test in (test_jobs, test_bad_jobs, test_waiting, test_views, test_keys, test_refused, test_too_large,
                         test_unreachable):
                test(folder)
                print(f"{test.__name__}: ok")
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(60)
    for command in ("submit", "await", "cancel", "status", "jobs", "top", "trace", "preload", "evict", "metrics"):
        text = cuzk(command, "--help", plain=True).stdout
        assert "Example" in text or f"cuzk {command}" in text, text


main()
