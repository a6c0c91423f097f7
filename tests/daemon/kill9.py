"""kill -9 at random moments under load: no job is lost, none has two results, none a wrong one, none is given up.

Needs python3 alone, the program (named by CUZK) and tests/data. CUZK_KILL9_SECONDS is the time in which the kills must
be over: when it is not kept, what was done until then is checked and the test fails with the number of kills.
CUZK_KILL9_KILLS is another number of kills; CUZK_TEST_WAIT the seconds that one answer may take; CUZK_TEST_SEED the
seed."""
import os
import random
import time

from daemon_test import WINDOW, WINNING, DaemonTest, verify

# Of one key and quick, for the five kills; and of two, for the hundred.
QUICK = [WINDOW[1], WINDOW[2]]
MIXED = [WINNING, WINDOW[1]]


class Kill9(DaemonTest):
    def rounds(self, n, jobs, inputs):
        n = int(os.environ.get("CUZK_KILL9_KILLS", n))
        limit = float(os.environ.get("CUZK_KILL9_SECONDS", "inf"))
        seed = int(os.environ.get("CUZK_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"seed {seed} (CUZK_TEST_SEED)", flush=True)
        dice = random.Random(seed)
        d = self.daemon().start()
        # Keys are made and converted before the clock runs, so that the kills meet proofs.
        for i, of in enumerate(inputs):
            d.submit(f"warm {i}", of)
            d.wait(f"warm {i}")
        begin = time.monotonic()
        d.submit("warm", inputs[0])
        d.wait("warm")
        begin, proof_seconds = time.monotonic(), time.monotonic() - begin
        accepted, results, number = {}, {}, 0
        fruitless = 0  # kills since a result: a machine that became slower has its kills later, so that proofs are met
        kills = 0
        for k in range(n):
            if time.monotonic() - begin > limit:
                break
            kills = k + 1
            while len(accepted) - len(results) < jobs:
                job, number = f"job {number}", number + 1
                accepted[job] = dice.choice(inputs)
                d.submit(job, accepted[job])
            time.sleep(dice.random() * 2.5 * proof_seconds * (1 + fruitless))
            d.kill()
            d.start()
            there = d.jobs()
            before = len(results)
            for job in accepted:
                self.assertIn(job, there, f"round {k}: a job that was taken is lost")
                state = there[job]["state"]
                if job in results:
                    self.assertEqual(state, "completed", f"round {k}: {job}")
                self.assertIn(state, ("queued", "running", "completed"), f"round {k}: {job}: {there[job]['error']}")
                if state == "completed" and job not in results:
                    results[job] = bytes.fromhex(d.wait(job)["proof_hex"])
            fruitless = 0 if len(results) > before else fruitless + 1
        for job in accepted:
            answer = d.wait(job)
            self.assertEqual(answer["state"], "completed")
            proof = bytes.fromhex(answer["proof_hex"])
            if job in results:
                self.assertEqual(proof, results[job], f"{job} has another result than before")
            self.assertTrue(verify(accepted[job], proof), f"{job}: wrong proof")
        self.assertEqual(d.stop(), 0)
        # One result for each completed job, and no input or proof of a finished one stays.
        self.assertEqual(d.rows("PRAGMA integrity_check"), [("ok",)])
        completed = d.rows("SELECT count(*) FROM job WHERE state = 3")[0][0]
        self.assertEqual(d.rows("SELECT count(*) FROM result")[0][0], completed)
        self.assertEqual(completed, len(accepted) + len(inputs) + 1)
        for table in ("payload", "payload_piece", "proof"):
            self.assertEqual(d.rows(f"SELECT count(*) FROM {table}"), [(0,)])
        print(f"{kills} kills in {time.monotonic() - begin:.0f} s, {len(accepted)} jobs, at most "
              f"{d.rows('SELECT max(runs) FROM job')[0][0]} processes for one", flush=True)
        self.assertEqual(d.rows("SELECT max(crashes) FROM job"), [(0,)], "a kill counts as a crash")
        self.assertEqual(kills, n, f"the time of {limit} s was over too early")
