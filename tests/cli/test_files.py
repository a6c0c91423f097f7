#!/usr/bin/env python3
"""Commands that read files: keys, proofs, jobs; good ones, damaged ones, and what is said of them."""
import os
import pathlib
import sys

sys.path.insert(0, os.path.dirname(__file__))
from cli_test import BAD, CUBE, DATA, POREP, CliTest, main

C1 = POREP / "c1.json"
SECTOR = POREP / "sector.json"


class Keys(CliTest):
    def test_inspect(self):
        a = self.cuzk("key", "inspect", CUBE / "params.bin", "--json").json
        self.assertEqual(a["counts"], {"ic": 2, "h": 7, "l": 3, "a": 5, "b_g1": 2, "b_g2": 2})
        self.assertEqual((a["curve"], a["key"], a["bytes"]), ("bls12-381", "unknown", (CUBE / "params.bin").stat().st_size))
        vk = self.cuzk("key", "inspect", CUBE / "vk.bin", "--json").json
        self.assertEqual(vk["counts"], {"ic": 2})
        self.assertEqual(vk["fingerprint"], a["fingerprint"])
        self.assertEqual(vk["sha256"], a["vk_sha256"])
        self.assertNotEqual(self.cuzk("key", "inspect", DATA / "tiny/one-mul/vk.bin", "--json").json["fingerprint"],
                            vk["fingerprint"])

    def test_verify(self):
        for f in (CUBE / "params.bin", CUBE / "vk.bin", BAD / "vk-good.bin"):
            self.assertIs(self.cuzk("key", "verify", f, "--full", "--json").json["valid"], True)
        for f in sorted(BAD.glob("params-*.bin")):
            a = self.cuzk("key", "verify", f, "--full", "--json")
            self.assertEqual((a.status, a.json["valid"]), (1, False), f.name)
            fault = a.json["fault"]
            self.assertTrue(fault["where"] and fault["what"], f.name)
            if f.name.startswith("params-h0"):
                self.assertIn("h", fault["where"])

    def test_damage_in_each_section(self):
        data = (CUBE / "params.bin").read_bytes()
        vk = (CUBE / "vk.bin").stat().st_size
        at, wanted = vk, []
        for name, count, size in (("h", 7, 96), ("l", 3, 96), ("a", 5, 96), ("b_g1", 2, 96), ("b_g2", 2, 192)):
            at += 4
            wanted.append((name, count - 1, at + (count - 1) * size + size - 1))
            at += count * size
        self.assertEqual(at, len(data))
        f = self.tmp / "key"
        for name, index, offset in wanted:
            f.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1:])
            a = self.cuzk("key", "verify", f, "--full", "--json")
            self.assertEqual(a.status, 1)
            self.assertIn(name, a.json["fault"]["where"])
            self.assertIn(str(index), a.json["fault"]["where"])

    def test_cut_everywhere(self):
        data = (CUBE / "params.bin").read_bytes()
        f = self.tmp / "key"
        for n in (0, 1, 16, 863, 864, 868, 1059, 1060, 1061, 1064, len(data) // 2, len(data) - 1):
            f.write_bytes(data[:n])
            e = self.fails(3, "prove", "porep", "--c1", C1, "--params", f, "--out", self.tmp / "p")
            self.assertEqual(e["name"], "CUZK_KEY_DAMAGED", n)
            self.assertIn("key", e["where"])
            self.assertFalse((self.tmp / "p").exists())

    def test_no_such_key(self):
        for command in (["key", "inspect"], ["key", "verify"]):
            e = self.fails(3, *command, self.tmp / "none")
            self.assertEqual(e["name"], "CUZK_KEY_MISSING")
            self.assertIn("none", e["where"])
            self.fails(3, *command, self.tmp)

    def test_key_of_another_circuit(self):
        e = self.fails(3, "prove", "porep", "--c1", C1, "--params", CUBE / "params.bin", "--out", self.tmp / "p")
        self.assertEqual(e["name"], "CUZK_FOREIGN")

    def test_official_key_missing(self):
        e = self.fails(3, "prove", "porep", "--c1", C1, "--out", self.tmp / "p")
        self.assertEqual(e["name"], "CUZK_KEY_MISSING")
        self.assertIn(str(self.tmp / "no-keys"), e["where"])
        self.assertTrue(e["expected"].startswith("v28-stacked-proof-of-replication-"))
        self.assertIn("--dev-key", e["hint"])

    def test_two_keys(self):
        self.fails(2, "prove", "porep", "--c1", C1, "--params", CUBE / "params.bin", "--dev-key", "--out", self.tmp / "p")
        self.fails(2, "prove", "porep", "--c1", C1, "--params", CUBE / "params.bin", "--key-check", "no", "--out",
                   self.tmp / "p")


class Groth16(CliTest):
    def verify(self, proof, *inputs, vk=CUBE / "vk.bin"):
        return self.cuzk("verify", "groth16", "--vk", vk, *[x for i in inputs for x in ("--inputs", i)], proof, "--json")

    def test_good(self):
        for d in sorted((DATA / "tiny").iterdir()):
            if (d / "proof-0.bin").exists() and d.name not in ("boundary-1", "zero-witness-h0"):
                a = self.verify(d / "proof-0.bin", d / "inputs-0.txt", vk=d / "vk.bin")
                self.assertEqual((a.status, a.json), (0, {"valid": [True]}), d.name)

    def test_several(self):
        both = self.tmp / "both"
        both.write_bytes((CUBE / "proof-0.bin").read_bytes() + (CUBE / "proof-0-random.bin").read_bytes())
        a = self.verify(both, CUBE / "inputs-0.txt", CUBE / "inputs-0.txt")
        self.assertEqual(a.json["valid"], [True, True])
        a = self.verify(both, CUBE / "inputs-0.txt", BAD / "input-wrong.inputs.txt")
        self.assertEqual((a.status, a.json["valid"]), (1, [True, False]))
        self.assertIn("proof 1", a.json["fault"]["where"])

    def test_false_proofs(self):
        for name in ("short", "long", "a-not-on-curve", "a-plus-torsion", "b-not-in-subgroup", "all-infinity", "swapped-a-c"):
            a = self.verify(BAD / f"{name}.bin", BAD / "good.inputs.txt")
            self.assertEqual((a.status, a.json["valid"]), (1, [False]), name)

    def test_bad_inputs(self):
        f = self.tmp / "inputs"
        for text in ("35", "0x" + "0" * 62 + "23", "g" * 64, "-" + "0" * 63, "f" * 64, "0" * 65, "\n" + "0" * 64,
                     "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"):
            f.write_text(text + "\n")
            a = self.verify(BAD / "good.bin", f)
            self.assertEqual((a.status, a.error["name"]), (3, "CUZK_MALFORMED"), text)
        for text in ("", "0" * 64 + "\n" + "0" * 64):
            f.write_text(text)
            a = self.verify(BAD / "good.bin", f)
            self.assertEqual((a.status, a.error["name"]), (3, "CUZK_FOREIGN"), text)
        self.assertEqual(self.verify(BAD / "good.bin", self.tmp).status, 3)
        self.assertEqual(self.verify(self.tmp / "none", BAD / "good.inputs.txt").status, 3)

    def test_bad_keys(self):
        for f in sorted(BAD.glob("vk-*.bin")):
            a = self.verify(BAD / "good.bin", BAD / "good.inputs.txt", vk=f)
            self.assertEqual(a.status, 0 if f.name == "vk-good.bin" else 3, f.name)


class Jobs(CliTest):
    def test_inspect(self):
        for f in (C1, POREP / "c1-wrapped.json"):
            a = self.cuzk("vanilla", "inspect", "porep", "--c1", f, "--json").json
            self.assertEqual((a["kind"], a["size"], a["partitions"]), ("porep", 2048, 1))
            self.assertEqual(a["registered_proof"], "StackedDrg2KiBV1_1")

    def test_verify_vanilla(self):
        a = self.cuzk("vanilla", "verify", "porep", "--c1", C1, "--request", SECTOR, "--json")
        self.assertEqual((a.status, a.json["valid"]), (0, True))

    def test_changed_vanilla_proof(self):
        """One digit of one label: the check says where, witness and prove refuse."""
        text = C1.read_text()
        at = text.index('"labeling_proofs"')
        at = text.index("[", text.index('"parents"', at) + 12) + 1
        end = min(text.index(c, at) for c in ",]")
        f = self.tmp / "c1.json"
        f.write_text(text[:at] + str((int(text[at:end]) + 1) % 100) + text[end:])
        a = self.cuzk("vanilla", "verify", "porep", "--c1", f, "--json")
        self.assertEqual((a.status, a.json["valid"]), (1, False))
        self.assertRegex(a.json["fault"]["where"], "partition 0.*challenge [01]")
        for command in (["witness"], ["prove", "--dev-key", "--out", self.tmp / "p"]):
            e = self.fails(3, *command, "porep", "--c1", f)
            self.assertEqual(e["name"], "CUZK_UNSATISFIED")
            self.assertRegex(e["where"], "partition 0.*challenge [01]")
        self.assertFalse((self.tmp / "p").exists())

    def test_broken_files(self):
        good = C1.read_bytes()
        f = self.tmp / "bad.json"
        for name, data in {"empty": b"", "half": good[:len(good) // 2], "no JSON": b"\0\xff" * 500, "deep": b"[" * 200000,
                           "array": b"[1,2,3]", "object": b"{}", "trailing": good + b"x"}.items():
            f.write_bytes(data)
            e = self.fails(3, "vanilla", "verify", "porep", "--c1", f)
            self.assertIn("bad.json", e["where"], name)
        self.fails(3, "vanilla", "verify", "porep", "--c1", self.tmp)
        self.fails(3, "vanilla", "verify", "porep", "--c1", self.tmp / "none")

    def test_standard_input(self):
        a = self.cuzk("vanilla", "verify", "porep", "--c1", "-", "--json", input=C1.read_bytes())
        self.assertEqual(a.status, 0)

    def test_sizes_and_variants_must_agree(self):
        self.assertEqual(self.fails(3, "vanilla", "verify", "porep", "--c1", C1, "--variant", "ni")["name"], "CUZK_FOREIGN")
        self.fails(3, "vanilla", "verify", "porep", "--c1", C1, "--size", "8MiB")
        self.assertEqual(self.cuzk("vanilla", "verify", "porep", "--c1", C1, "--size", "2KiB").status, 0)

    def test_verify(self):
        vk, proof = POREP / "vk.bin", POREP / "proof-0-random.bin"
        for facts in (["--c1", C1], ["--request", SECTOR], ["--c1", C1, "--request", SECTOR]):
            a = self.cuzk("verify", "porep", *facts, "--vk", vk, proof, "--json")
            self.assertEqual((a.status, a.json["valid"], a.json["partitions"]), (0, True, [True]))
        flipped = self.tmp / "flipped"
        data = bytearray(proof.read_bytes())
        data[-1] ^= 1
        flipped.write_bytes(data)
        for f in (flipped, BAD / "good.bin", BAD / "short.bin"):
            a = self.cuzk("verify", "porep", "--c1", C1, "--vk", vk, f, "--json")
            self.assertEqual((a.status, a.json["valid"], a.json["invalid_partitions"]), (1, False, [0]))
        self.fails(3, "verify", "porep", "--c1", C1, "--vk", CUBE / "vk.bin", proof)
        self.fails(3, "verify", "porep", "--c1", C1, "--vk", vk, self.tmp / "none")
        self.fails(2, "verify", "porep", "--c1", C1, "--vk", vk, proof, "--partition", "1")
        changed = self.tmp / "facts.json"
        changed.write_text(SECTOR.read_text().replace('"sector_number": 1302265', '"sector_number": 1302266'))
        self.assertEqual(self.cuzk("verify", "porep", "--request", changed, "--vk", vk, proof).status, 1)

    def test_memory_too_small(self):
        for command in (["witness", "porep"], ["prove", "porep", "--dev-key", "--out", self.tmp / "p"]):
            e = self.fails(4, *command, "--c1", C1, "--memory", "1MiB")
            self.assertEqual(e["name"], "CUZK_MEMORY")
            self.assertRegex(e["found"] + e["expected"], r"\d")
        self.assertFalse((self.tmp / "p").exists())

    def test_plan(self):
        a = self.cuzk("plan", "porep", "--size", "2KiB", "--json").json
        self.assertGreater(a["host_bytes"], 1 << 20)
        self.assertEqual(a["device_bytes"], 0)
        self.assertIs(a["fits"], True)
        self.assertGreater(a["seconds_estimate"]["total"], 0)
        self.assertLessEqual(a["host_bytes"], sum(a["buffers"].values()))
        small = self.cuzk("plan", "porep", "--size", "2KiB", "--memory", "1MiB", "--json").json
        self.assertIs(small["fits"], False)


class Synth(CliTest):
    def test_made_up_sector(self):
        answers = []
        for d in ("a", "b"):
            a = self.cuzk("synth-sector", "porep", "--size", "2KiB", "--seed", "7", "--out", self.tmp / d, "--json").json
            answers.append([pathlib.Path(p).read_bytes() for p in a["paths"].values()])
        self.assertEqual(answers[0], answers[1])
        c1 = a["paths"]["c1"]
        self.assertEqual(self.cuzk("vanilla", "verify", "porep", "--c1", c1, "--request", a["paths"]["request"]).status, 0)
        self.fails(2, "synth-sector", "porep", "--size", "2KiB", "--seed", "7", "--out", self.tmp / "a")
        self.fails(2, "synth-sector", "porep", "--size", "2KiB", "--seed", "x", "--out", self.tmp / "c")
        self.fails(2, "synth-sector", "porep", "--size", "2KiB", "--variant", "ni", "--seed", "1", "--out", self.tmp / "c")


main()
