"""The daemon's life: start, signals, reload, notifications, and everything that can be wrong with its surroundings."""
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

from daemon_test import CUZK, WINDOW, WINNING, Daemon, DaemonTest, main, verify

SMALL = WINDOW[0]  # proved in a third of the time of a winning PoSt


class Life(DaemonTest):
    def test_start_prove_stop(self):
        d = self.daemon({"daemon.status_listen": "127.0.0.1:0"}).start()
        log = d.log()
        for text in ("settings: " + str(d.config), f"store: {d.store}", "device cpu", "gpus.policy is cpu",
                     "a budget of 2.0 GiB", "enabled circuits", f"gRPC: {d.address}", "page, status and metrics"):
            self.assertIn(text, log)
        page = log.split("page, status and metrics: ")[1].split()[0]
        with urllib.request.urlopen(page + "healthz") as answer:
            self.assertEqual(answer.status, 200)
        d.submit("one", WINNING)
        answer = d.wait("one")
        self.assertTrue(verify(WINNING, bytes.fromhex(answer["proof_hex"])))
        self.assertEqual(d.stop(), 0)
        self.assertEqual(d.log().splitlines()[-1], "cuzk: stopped")
        self.assertFalse((self.tmp / "cuzk.sock").exists())
        # The result outlives the process, and the same submission joins it.
        d.start()
        self.assertEqual(d.wait("one")["proof_hex"], answer["proof_hex"])
        self.assertTrue(d.submit("one", WINNING)["joined"])
        self.assertEqual(d.stop(), 0)

    def test_restart_resumes(self):
        """One running and five queued jobs; kill -9; the client asks by id."""
        d = self.daemon().start()
        for i in range(6):
            d.submit(f"job {i}", SMALL)
        d.until(d.proving, "no job runs")
        d.kill()
        d.start()
        self.assertIn("jobs of an earlier run go on", d.log())
        for i in range(6):
            self.assertEqual(d.wait(f"job {i}")["state"], "completed")
        self.assertEqual(d.rows("SELECT count(*) FROM result"), [(6,)])

    def test_deaths(self):
        """What a job is charged with when the process dies: of a fault of its own, of a kill, in good order."""
        d = self.daemon({"synthesis.threads": 1, "synthesis.partition_workers": 1}).start()
        d.warm(WINDOW[2])
        d.submit("job", WINDOW[2])
        mark = self.tmp / "jobs.db.crash"

        def charged():
            return d.rows("SELECT runs, crashes FROM job WHERE request_id = 'job'")

        def dies(number):
            d.until(d.proving, "no job runs")
            d.signal(number)
            status = d.end()
            d.start()
            return status

        self.assertNotEqual(dies(signal.SIGSEGV), 0)
        self.assertIn("died of its own fault", d.log())
        self.assertEqual(mark.read_bytes(), b"")
        self.assertEqual(charged()[0][1], 1)
        self.assertEqual(dies(signal.SIGKILL), -signal.SIGKILL)
        self.assertNotIn("died of its own fault", d.log())
        self.assertEqual(charged()[0][1], 1)
        d.until(d.proving, "no job runs")
        runs = charged()[0][0]
        self.assertGreaterEqual(runs, 3)
        d.signal(signal.SIGTERM)
        d.until(lambda: d.says("SIGTERM"), "the signal is not told")
        d.signal(signal.SIGTERM)
        self.assertEqual(d.end(), 0)
        self.assertEqual(mark.read_bytes(), b"")
        d.start()
        self.assertEqual(d.wait("job")["state"], "completed")
        self.assertEqual(charged(), [(runs, 1)])

    def test_sigterm_drains(self):
        """The running job ends and its client is answered; queued ones are there at the next start."""
        d = self.daemon({"synthesis.threads": 1, "synthesis.partition_workers": 1}).start()
        d.warm(SMALL)
        for i in range(4):
            d.submit(f"job {i}", SMALL)
        d.until(d.proving, "no job runs")
        answers = {}
        running = sorted(d.proving())[0]
        waiter = threading.Thread(target=lambda: answers.update(one=d.cuzk("await", running)))
        waiter.start()
        time.sleep(0.3)
        self.assertEqual(d.stop(), 0)
        waiter.join()
        self.assertIn("SIGTERM", d.log())
        self.assertEqual(answers["one"].returncode, 0, answers["one"])
        d.start()
        self.assertEqual(len(d.jobs()), 5)
        for i in range(4):
            self.assertEqual(d.wait(f"job {i}")["state"], "completed")

    def test_second_sigterm_stops_at_once(self):
        """No new job is taken after the first; what was taken is there at the next start."""
        d = self.daemon().start()
        d.warm(WINDOW[2])
        for i in range(2):
            d.submit(f"job {i}", WINDOW[2])
        d.until(d.proving, "no job runs")
        d.signal(signal.SIGTERM)
        d.until(lambda: d.says("SIGTERM"), "the signal is not told")
        late = d.cuzk("submit", *SMALL.words, "--id", "late")
        self.assertEqual(late.returncode, 6, late)
        d.signal(signal.SIGTERM)
        self.assertEqual(d.end(), 0)
        self.assertIn("stopped at once", d.log())
        d.start()
        for i in range(2):
            self.assertEqual(d.wait(f"job {i}")["state"], "completed")
        self.assertNotIn("late", d.jobs())


class Reload(DaemonTest):
    def hup(self, d, done="reload: done"):
        count = d.log().count(done)
        d.signal(signal.SIGHUP)
        d.until(lambda: d.log().count(done) > count, "nothing is reloaded")

    def test_reload(self):
        d = self.daemon().start()
        d.settings |= {"logging.level": "debug", "memory.total_budget": "3GiB", "store.path": "/elsewhere",
                       "gpus.gpu_workers_per_device": 3}
        d.write_settings()
        self.hup(d)
        log = d.log()
        self.assertIn("reload: logging.level is taken over", log)
        self.assertIn("reload: memory.total_budget is taken over", log)
        self.assertIn("reload: store.path takes a restart", log)
        self.assertIn("reload: gpus.gpu_workers_per_device takes a restart", log)
        status = d.answer("status")
        self.assertEqual(status["memory"]["total_bytes"], 3 << 30)
        d.submit("one", SMALL)
        d.wait("one")
        # Told again, as it still is not so; what was taken over is not.
        self.hup(d)
        self.assertEqual(d.log().count("store.path takes a restart"), 2)
        self.assertEqual(d.log().count("memory.total_budget is taken over"), 1)

    def test_bad_reload_changes_nothing(self):
        d = self.daemon().start()
        d.config.write_text("[memory]\ntotal_budget = \"lots\"\n")
        self.hup(d, "the settings are not reloaded")
        self.assertIn("line 2", d.log())
        self.assertEqual(d.answer("status")["memory"]["total_bytes"], 2 << 30)
        d.config.unlink()
        self.hup(d, "the settings are not reloaded")
        self.assertEqual(d.stop(), 0)

    def test_secrets_are_read_again(self):
        token = self.tmp / "token"
        token.write_text("first-token-12345\n")
        d = self.daemon({"daemon.token_file": str(token), "daemon.status_listen": "127.0.0.1:0"}).start()
        page = d.log().split("page, status and metrics: ")[1].split()[0]

        def answers(word):
            ask = urllib.request.Request(page + "status", headers={"Authorization": "Bearer " + word})
            try:
                with urllib.request.urlopen(ask) as answer:
                    return answer.status
            except urllib.error.HTTPError as e:
                return e.code

        self.assertEqual([answers("first-token-12345"), answers("other-token-12345")], [200, 401])
        token.write_text("other-token-12345\n")
        self.hup(d)
        self.assertEqual([answers("first-token-12345"), answers("other-token-12345")], [401, 200])
        token.write_text("short\n")
        self.hup(d)
        self.assertIn("certificates and token stay as they were", d.log())
        self.assertEqual(answers("other-token-12345"), 200)


class Supervised(DaemonTest):
    """As systemd sees it."""

    def listen(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(s.close)
        s.bind(str(self.tmp / "notify"))
        s.settimeout(60)
        return s

    def until(self, s, word):
        """What came before and with it."""
        seen = []
        while not any(word in m for m in seen):
            seen += s.recv(4096).decode().split("\n")
        return seen

    def test_notifications(self):
        s = self.listen()
        d = self.daemon(env={"NOTIFY_SOCKET": str(self.tmp / "notify"), "WATCHDOG_USEC": "1000000"})
        d.start()
        self.until(s, "READY=1")
        self.until(s, "WATCHDOG=1")
        self.assertIn("0 running", "".join(self.until(s, "STATUS=")))
        d.signal(signal.SIGHUP)
        self.assertIn("MONOTONIC_USEC=", "".join(self.until(s, "RELOADING=1")) + "".join(self.until(s, "READY=1")))
        d.submit("one", SMALL)
        d.wait("one")
        d.signal(signal.SIGTERM)
        self.until(s, "STOPPING=1")
        self.assertEqual(d.end(), 0)

    def test_key_that_is_missing(self):
        d = self.daemon({"keys.development": False, "srs.preload": ["winning-post-2kib"]})
        self.refused(d, 3, "cannot start", "winning-post-2kib", "srs.preload", str(self.tmp / "no-keys"), ".params")

    def test_key_that_is_bad(self):
        name = subprocess.run([CUZK, "circuit", "info", "winning-post", "--size", "2KiB", "--json"], check=True,
                              capture_output=True, env=os.environ | {"CUZK_CACHE": str(self.tmp / "cache")}).stdout
        keys = self.tmp / "keys"
        keys.mkdir()
        key = keys / json.loads(name)["params_file"]
        key.write_bytes(b"not a key" * 1000)
        d = self.daemon({"keys.development": False, "srs.preload": ["winning-post-2kib"], "srs.param_cache": str(keys)})
        self.refused(d, 3, "cannot start", str(key))
        key.write_bytes(b"")
        self.refused(d, 3, "cannot start", str(key))

    def test_missing_keys_of_enabled_circuits_are_named(self):
        d = self.daemon({"keys.development": False, "circuits.enabled": ["winning-post-2kib"]}).start()
        self.assertRegex(d.log(), r"key of winning-post-2kib is missing: \S+\.params")
        answer = d.cuzk("submit", *WINNING.words, "--id", "one")
        if answer.returncode == 0:
            answer = d.cuzk("await", "one")
        self.assertEqual(answer.returncode, 3)
        self.assertIn("CUZK_KEY_MISSING", answer.stdout.decode())

    def test_json_log(self):
        d = self.daemon({"logging.format": "json"}).start()
        self.assertEqual(d.stop(), 0)
        for line in d.log().splitlines():
            self.assertLessEqual({"time", "level", "message"}, set(json.loads(line)))
        d.config.write_text("x = 1")
        lines = self.refused(d, 3, "no such setting", words=("--log-format", "json"))
        self.assertEqual(json.loads(lines[-1])["level"], "error")

    def test_preload(self):
        d = self.daemon({"srs.preload": ["window-post-2kib"]}).start()
        d.until(lambda: d.says("key of window-post-2kib: loaded"), "no key is loaded")


class Surroundings(DaemonTest):
    def test_bad_settings(self):
        d = self.daemon()
        for text, *parts in [("[daemon]\nlistn = 1", "daemon.listn", "line 2", "did you mean daemon.listen"),
                             ("[synthesis]\nthreads = -1", "synthesis.threads", "line 2", "0 to 1024"),
                             ("x = ", "not TOML", "line 1"),
                             ("daemon.listen = \"0.0.0.0:9820\"", "no TLS", "allow_plain_tcp")]:
            d.config.write_text(text)
            self.refused(d, 3, "cannot start", str(d.config), *parts)
        d.config.unlink()
        self.refused(d, 3, "cannot start", str(d.config), "No such file")

    def test_settings_that_this_machine_cannot_have(self):
        self.refused(self.daemon({"memory.total_budget": "100MiB"}), 4, "cannot start", "memory budget")
        self.refused(self.daemon({"gpus.policy": "require-gpu", "gpus.devices": [31]}), 5, "cannot start", "device")

    def test_command_line(self):
        for words in (["--config"], ["--nonsense"], ["operand"]):
            p = subprocess.run([CUZK, "serve", *words], capture_output=True)
            self.assertEqual(p.returncode, 2, p.stderr)
        p = subprocess.run([CUZK, "config"], capture_output=True)
        self.assertEqual(p.returncode, 2, p.stderr)

    def test_config_command(self):
        sample = subprocess.run([CUZK, "config", "--print"], capture_output=True, check=True).stdout
        f = self.tmp / "sample.toml"
        f.write_bytes(sample)
        p = subprocess.run([CUZK, "config", "--check", f, "--json"], capture_output=True)
        self.assertEqual((p.returncode, json.loads(p.stdout)), (0, {"valid": True, "warnings": []}))
        f.write_text("[pipeline]\nslot_size = 0\n")
        p = subprocess.run([CUZK, "config", "--check", f, "--json"], capture_output=True)
        self.assertEqual(json.loads(p.stdout)["warnings"][0]["line"], 2)
        f.write_text("[pipeline]\nslots = 0\n")
        p = subprocess.run([CUZK, "config", "--check", f, "--json"], capture_output=True)
        self.assertEqual(p.returncode, 3)
        self.assertIn("line 2", json.loads(p.stdout)["error"]["where"])

    def test_sample_by_another_reader(self):
        """Python's reader finds the same settings in the sample."""
        import tomllib
        text = subprocess.run([CUZK, "config", "--print"], capture_output=True, check=True, text=True).stdout
        read = tomllib.loads("\n".join(l[1:] if l.startswith("#") and l[1:2] != " " else l for l in text.splitlines()))
        self.assertEqual(read["memory"]["total_budget"], "auto")
        self.assertGreater(sum(len(section) for section in read.values()), 35)

    def test_two_daemons(self):
        """One store has one daemon; so has one socket."""
        d = self.daemon().start()
        with tempfile.TemporaryDirectory() as other:
            second = Daemon(other, d.settings | {"daemon.listen": f"unix://{other}/cuzk.sock"})
            self.refused(second, 6, "cannot start", "in use by another process", str(d.store), str(d.process.pid))
            second = Daemon(other, d.settings | {"store.path": f"{other}/jobs.db"})
            self.refused(second, 3, "cannot start", "cuzk.sock")
        d.submit("one", SMALL)
        self.assertEqual(d.wait("one")["state"], "completed")

    def test_socket_of_a_dead_daemon(self):
        d = self.daemon({"daemon.socket_mode": "0600"}).start()
        d.kill()
        self.assertTrue((self.tmp / "cuzk.sock").exists())
        d.start()
        self.assertEqual(stat.S_IMODE((self.tmp / "cuzk.sock").stat().st_mode), 0o600)

    def test_address_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            self.refused(self.daemon({"daemon.listen": address}), 3, "cannot start", address)
            self.refused(self.daemon({"daemon.status_listen": address}), 3, "cannot start", address)

    def test_damaged_store(self):
        d = self.daemon().start()
        d.submit("one", SMALL)
        d.wait("one")
        self.assertEqual(d.stop(), 0)
        sound = d.store.read_bytes()
        d.store.write_bytes(b"rubbish" + sound[7:])
        self.refused(d, 3, "cannot start", "damaged", str(d.store))
        d.store.write_bytes(sound[:8192] + b"rubbish" * 2048 + sound[8192 + 7 * 2048:])
        self.refused(d, 3, "cannot start", "damaged", str(d.store))
        self.assertIn(b"rubbish", d.store.read_bytes())  # never made anew
        d.store.write_bytes(sound)
        d.start()
        self.assertEqual(d.wait("one")["state"], "completed")

    def test_bad_tls_and_token(self):
        bad = self.tmp / "bad.pem"
        bad.write_text("not a key")
        d = self.daemon({"daemon.listen": "127.0.0.1:0", "daemon.tls_cert": str(bad), "daemon.tls_key": str(bad)})
        self.refused(d, 3, "cannot start", str(bad))
        d = self.daemon({"daemon.token_file": str(bad), "daemon.status_listen": "127.0.0.1:0"})
        self.refused(d, 3, "cannot start", "token", str(bad))
        for text in 256 * "x", "of,no;cookie-12345":  # more than the servers take
            bad.write_text(text)
            self.refused(d, 3, "cannot start", "the token is not one", str(bad))
        d = self.daemon({"daemon.token_file": str(self.tmp / "none")})
        self.refused(d, 3, "cannot start", str(self.tmp / "none"))

    def test_paths_that_cannot_be_used(self):
        file = self.tmp / "file"
        file.write_text("")
        self.refused(self.daemon({"store.path": f"{file}/jobs.db"}), 3, "cannot start", str(file))
        self.refused(self.daemon({"cache.folder": f"{file}/cache"}), 3, "cannot start", str(file), "cache.folder")
        self.refused(self.daemon({"daemon.listen": f"unix://{file}/x.sock"}), 3, "cannot start", str(file))
        self.refused(self.daemon({"store.path": "/proc/nothing/jobs.db"}), 3, "cannot start", "/proc/nothing")

    @unittest.skipIf(os.geteuid(), "needs another user")
    def test_rights(self):
        """Paths of another owner: the error names path, owner and who we are."""
        nobody = 65534
        self.tmp.chmod(0o777)
        theirs = self.tmp / "theirs"
        theirs.mkdir(mode=0o700)

        def drop():
            os.setgroups([])
            os.setgid(nobody)
            os.setuid(nobody)

        own = self.tmp / "own"
        own.mkdir()
        os.chown(own, nobody, nobody)
        usual = {"cache.folder": str(own / "cache"), "store.path": str(own / "jobs.db"),
                 "daemon.listen": f"unix://{own}/cuzk.sock"}
        for changed, *parts in [({"cache.folder": str(theirs / "cache")}, str(theirs), "owner root"),
                                ({"store.path": str(theirs / "jobs.db")}, str(theirs)),
                                ({"daemon.listen": f"unix://{theirs}/cuzk.sock"}, str(theirs)),
                                ({"daemon.socket_owner": "root"}, "cuzk.sock")]:
            d = self.daemon(usual | changed)
            d.spawn(preexec_fn=drop)
            self.assertEqual(d.end(), 3, d.log())
            last = d.log().splitlines()[-1]
            for part in ("cannot start", *parts):
                self.assertIn(part, last)
        d = self.daemon(usual)
        d.start(preexec_fn=drop)

    def test_disk_full(self):
        """A clear state; what is there goes on; all is well when there is room again."""
        d = self.daemon().start()
        d.submit("before", SMALL)
        d.wait("before")
        sizes = [os.path.getsize(str(d.store) + end) for end in ("", "-wal")]
        unlimited = resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (max(sizes) + 8192, unlimited[1]))
        self.goes_through_it(d, lambda: resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, unlimited))

    def test_disk_full_of_others(self):
        """The same on a small file system that somebody else fills."""
        disk = self.tmp / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], capture_output=True)
        if mounted.returncode:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        d = self.daemon({"store.path": f"{disk}/jobs.db"})
        d.store = disk / "jobs.db"
        d.start()
        d.submit("before", SMALL)
        d.wait("before")
        ballast = disk / "ballast"
        with open(ballast, "wb", buffering=0) as f, self.assertRaises(OSError):
            while True:
                f.write(bytes(4096))
        self.goes_through_it(d, ballast.unlink)
        self.assertEqual(d.rows("PRAGMA integrity_check"), [("ok",)])

    def goes_through_it(self, d, make_room):
        refused = None
        for i in range(40):
            p = d.cuzk("submit", *SMALL.words, "--id", f"full {i}")
            if p.returncode:
                refused = json.loads(p.stdout)["error"]
                break
        self.assertIsNotNone(refused, "the disk is not full")
        self.assertEqual((p.returncode, refused["name"]), (4, "CUZK_DISK"), refused)
        self.assertIn("full", refused["what"])
        self.assertTrue(d.answer("status")["trouble"])
        self.assertIn("before", d.jobs())
        make_room()
        d.submit("after", SMALL)
        self.assertEqual(d.wait("after")["state"], "completed")
        for k in range(i):
            self.assertEqual(d.wait(f"full {k}")["state"], "completed")
        d.until(lambda: not d.answer("status")["trouble"], "the trouble stays")
        self.assertEqual(d.stop(), 0)


main()
