"""Files of other curves and systems in the place of keys, cut-off key files, the self test, and how long a run stays."""
import struct
import time
import unittest

from cli_test import BAD, CUBE, CliTest

# y^2 = x^3 + 3 over the 254-bit field of BN254; (1, 2) generates it.
BN254 = (1).to_bytes(32, "big") + (2).to_bytes(32, "big")


class Foreign(CliTest):
    def refused(self, name, data):
        f = self.tmp / name
        f.write_bytes(data)
        a = self.cuzk("key", "verify", f, "--full", "--json")
        self.assertEqual((a.status, a.json["valid"]), (1, False), name)
        self.assertIn(name, a.json["fault"]["where"])
        good = CUBE / "proof-0.bin", CUBE / "inputs-0.txt"
        start = time.monotonic()
        e = self.fails(3, "verify", "groth16", "--vk", f, "--inputs", good[1], good[0])
        self.assertLess(time.monotonic() - start, 30)
        self.assertIn(name, e["where"])
        return e

    def test_other_curve(self):
        g2 = bytes(128)
        vk = BN254 * 2 + g2 * 2 + BN254 + g2 + struct.pack(">I", 2) + BN254 * 2
        self.refused("bn254.vk", vk)
        self.refused("bn254.params", vk + (struct.pack(">I", 7) + BN254 * 7) * 4 + struct.pack(">I", 3) + g2 * 3)

    def test_files_of_other_systems(self):
        for name, data in (("circuit.zkey", b"zkey" + struct.pack("<II", 1, 10) + bytes(4000)),
                           ("witness.wtns", b"wtns" + struct.pack("<II", 2, 2) + bytes(4000)),
                           ("key.json", b'{"protocol": "groth16", "curve": "bn128", "nPublic": 1}\n' * 40)):
            e = self.refused(name, data)
            self.assertIn("not a key", e["what"])
            self.assertIn("BLS12-381", e["expected"])

    def test_empty_and_short_files(self):
        for n in (0, 1, 16, 95, 863):
            e = self.refused("short.params", (CUBE / "params.bin").read_bytes()[:n])
            self.assertIn(str(n), e["found"])


class Self(CliTest):
    def test_selftest_needs_nothing(self):
        self.env["CUZK_CACHE"] = str(self.tmp / "cache")
        self.env["HOME"] = str(self.tmp)
        a = self.cuzk("selftest", "--json")
        self.assertEqual(a.status, 0)
        checks = a.json["checks"]
        self.assertGreater(len(checks), 10)
        self.assertTrue(all(c["passed"] for c in checks))
        self.assertTrue(any("Groth16" in c["name"] for c in checks), [c["name"] for c in checks])

    def test_no_thread_keeps_the_process(self):
        start = time.monotonic()
        for _ in range(5):
            a = self.cuzk("verify", "groth16", "--vk", BAD / "vk-good.bin", "--inputs", CUBE / "inputs-0.txt",
                          CUBE / "proof-0.bin", "--threads", "8", timeout=60)
            self.assertIn(a.status, (0, 1))
        self.assertLess(time.monotonic() - start, 60)


if __name__ == "__main__":
    unittest.main()
