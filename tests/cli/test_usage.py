#!/usr/bin/env python3
"""Use and misuse of the command line: help, exit statuses, the JSON form, options, outputs that are refused."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from cli_test import CUBE, CUZK, POREP, CliTest, main

COMMANDS = ["circuit list", "circuit info", "circuit hash", "setup", "witness", "prove", "verify groth16", "verify", "plan",
            "key inspect", "key verify", "vanilla inspect", "vanilla verify", "synth-sector", "bench batch", "selftest",
            "version"]
DAEMON = {"submit", "await", "cancel", "status", "jobs", "top", "trace", "preload", "evict", "metrics", "serve", "config"}
NO_ARGUMENTS = {"circuit list", "selftest", "version"}
C1 = POREP / "c1.json"


class Help(CliTest):
    def test_help_lists_every_command(self):
        for words in (["--help"], ["help"], ["-h"], ["nonsense", "--help"]):
            a = self.cuzk(*words)
            self.assertEqual(a.status, 0)
            listed = re.findall(r"^  (\S+(?: [a-z0-9]+)?)  +\S", a.out.decode(), re.M)
            self.assertEqual([c for c in listed if c not in DAEMON], COMMANDS)
            self.assertIn(DAEMON & set(listed), (set(), DAEMON))  # a build has the daemon, or not

    def test_help_of_a_group_lists_its_commands(self):
        a = self.cuzk("key", "--help")
        self.assertEqual(a.status, 0)
        self.assertEqual(re.findall(r"^  (\S+(?: [a-z0-9]+)?)  +\S", a.out.decode(), re.M), ["key inspect", "key verify"])
        self.assertIn("cuzk key --help", self.fails(2, "key")["hint"])

    def test_each_command_has_help_with_an_example(self):
        for command in COMMANDS:
            a = self.cuzk(*command.split(), "--help")
            self.assertEqual(a.status, 0, command)
            text = a.out.decode()
            self.assertIn(f"Example: cuzk {command}", text)
            self.assertIn("--json", text)
            self.assertTrue(all(len(line) <= 132 for line in text.splitlines()), command)
            self.assertTrue(all(line == line.rstrip() for line in text.splitlines()), command)

    def test_examples_parse(self):
        """Each example is accepted as far as its options go: it fails, if at all, over files, not over use."""
        for command in set(COMMANDS) - {"setup", "selftest", "bench batch", "synth-sector", "circuit hash", "plan", "circuit info"}:
            text = self.cuzk(*command.split(), "--help").out.decode()
            example = re.search(r"^Example: cuzk (.*)$", text, re.M)[1]
            a = self.cuzk(*example.split(), cwd=self.tmp)
            self.assertIn(a.status, (0, 3), (example, a.err))


class Usage(CliTest):
    def test_no_command(self):
        self.assertIn("--help", self.fails(2)["hint"])

    def test_unknown_command_suggests(self):
        self.assertIn("cuzk prove", self.fails(2, "porve")["hint"])
        self.assertIn("circuit info", self.fails(2, "circuit", "inof")["hint"])
        self.assertIn("second word", self.fails(2, "circuit")["what"])
        self.fails(2, "xyzzy")

    def test_commands_without_arguments(self):
        for command in set(COMMANDS) - NO_ARGUMENTS:
            e = self.fails(2, *command.split())
            self.assertEqual((e["code"], e["name"]), (2, "CUZK_USAGE"), command)
            self.assertIn("--help", e["hint"])

    def test_too_many_arguments(self):
        for command in COMMANDS:
            e = self.fails(2, *command.split(), "porep", "b", "c", "d")
            self.assertIn("too many", e["what"], command)

    def test_unknown_option_suggests(self):
        for command in COMMANDS:
            self.assertIn("--quiet", self.fails(2, *command.split(), "--quite")["hint"], command)
        self.assertIn("--size", self.fails(2, "circuit", "info", "porep", "--sise", "2KiB")["hint"])
        self.fails(2, "circuit", "list", "-x")

    def test_duplicate_option(self):
        self.assertIn("twice", self.fails(2, "circuit", "info", "porep", "--size", "2KiB", "--size", "2KiB")["what"])

    def test_option_without_value(self):
        for rest in (["--size"], ["--size", "--quiet"], ["--size="]):
            self.assertIn("needs a value", self.fails(2, "circuit", "info", "porep", *rest)["what"])
        self.assertIn("takes no value", self.fails(2, "circuit", "list", "--quiet=yes")["what"])

    def test_bad_numbers(self):
        for n in ("0", "-1", "abc", "1000000000", "1.5", "99999999999999999999999"):
            e = self.fails(2, "vanilla", "verify", "porep", "--c1", C1, "--threads", n)
            self.assertIn("--threads", e["what"])
        for n in ("0", "-5", "12Q", "GiB", "99999999999999T"):
            self.assertIn("--memory", self.fails(2, "vanilla", "verify", "porep", "--c1", C1, "--memory", n)["what"])
        self.assertIn("--size", self.fails(2, "circuit", "info", "porep", "--size", "big")["what"])
        for p in ("", "a", "0,", ",0", "0,,1", "-1", "0 1"):
            self.fails(2, "prove", "porep", "--c1", C1, "--out", self.tmp / "p", "--dev-key", "--partition", p)

    def test_unknown_circuits(self):
        self.fails(2, "circuit", "info", "porop", "--size", "2KiB")
        self.fails(2, "circuit", "info", "porep", "--size", "3KiB")
        self.fails(2, "circuit", "info", "porep", "--size", "2KiB", "--variant", "nil")
        self.fails(2, "vanilla", "verify", "nothing", "--c1", C1)

    def test_job_without_input(self):
        for command in (["witness"], ["vanilla", "verify"], ["vanilla", "inspect"], ["prove", "--out", self.tmp / "p"]):
            self.assertIn("--c1", self.fails(2, *command, "porep")["expected"])

    def test_device(self):
        e = self.fails(5, "prove", "porep", "--c1", C1, "--out", self.tmp / "p", "--device", "cuda:99", "--dev-key")
        self.assertEqual(e["name"], "CUZK_DEVICE")
        self.fails(2, "plan", "porep", "--size", "2KiB", "--device", "tpu")
        self.assertEqual(self.cuzk("selftest", "--help", "--device", "cpu").status, 0)


class Form(CliTest):
    def test_foreign_bytes_do_not_reach_the_terminal(self):
        a = self.cuzk("key", "inspect", "/nowhere/\x1b[31m\x07")
        self.assertEqual(a.status, 3)
        self.assertIn(b"/nowhere/?[31m?", a.err)

    def test_every_common_option_may_come_first(self):
        for option in (["--threads", "1"], ["--memory", "1GiB"], ["--device", "cpu"], ["--device-memory", "1GiB"]):
            self.assertEqual(self.cuzk(*option, "plan", "porep", "--size", "2KiB", "--help").status, 0, option)

    def test_options_anywhere(self):
        want = self.cuzk("key", "inspect", CUBE / "vk.bin", "--json").json
        self.assertEqual(self.cuzk("--json", "key", "inspect", CUBE / "vk.bin").json, want)
        self.assertEqual(self.cuzk("key", "inspect", "--json", "--", CUBE / "vk.bin").json, want)
        self.assertEqual(self.cuzk("--quiet", "--json", "key", "inspect", CUBE / "vk.bin").json, want)

    def test_equals_form(self):
        a = self.cuzk("verify", "groth16", f"--vk={CUBE}/vk.bin", f"--inputs={CUBE}/inputs-0.txt", CUBE / "proof-0.bin",
                      "--json")
        self.assertEqual(a.json["valid"], [True])

    def test_circuit_list(self):
        names = self.cuzk("circuit", "list", "--json").json["circuits"]
        self.assertIn("porep-2kib", names)
        self.assertIn("porep-ni-32gib", names)
        self.assertEqual(len(names), len(set(names)))
        plain = self.cuzk("circuit", "list").out.decode()
        self.assertTrue(all(n in plain for n in names))

    def test_version(self):
        v = self.cuzk("version", "--json").json
        self.assertRegex(v["version"], r"^\d+\.\d+\.\d+$")
        self.assertIn(v["kernels"], ("portable", "adx", "fma", "ifma"))
        self.assertEqual(v["devices"][0], "cpu")
        self.assertTrue(all(d.startswith("cuda:") for d in v["devices"][1:]), v)
        portable = self.cuzk("version", "--json", env={"CUZK_CPU": "portable"}).json
        self.assertEqual(portable["kernels"], "portable")
        self.assertEqual(self.cuzk("--version", "--json").json, v)
        self.assertEqual(self.cuzk("--json", "--version").json, v)
        self.assertIn(v["version"], self.cuzk("--version").out.decode())
        self.assertIn("nonsense", self.fails(2, "--version", "nonsense")["what"])

    def test_quiet_is_silent(self):
        a = self.cuzk("vanilla", "verify", "porep", "--c1", C1, "--quiet", "--json")
        self.assertEqual((a.status, a.err), (0, b""))

    def test_closed_output_is_an_error(self):
        with open("/dev/full", "wb") as full:
            p = subprocess.run([CUZK, "circuit", "list"], stdout=full, stderr=subprocess.PIPE, env=self.env)
        self.assertEqual(p.returncode, 3)
        self.assertIn(b"standard output", p.stderr)


class Outputs(CliTest):
    """What --out may not be; and that a refusal leaves the folder as it was."""

    def refused(self, status, out, *more, **kw):
        before = sorted(p.name for p in self.tmp.iterdir())
        e = self.fails(status, "prove", "porep", "--c1", kw.get("c1", C1), "--dev-key", "--out", out, *more)
        self.assertEqual(before, sorted(p.name for p in self.tmp.iterdir()))
        return e

    def test_output_is_an_input(self):
        c1 = self.tmp / "c1.json"
        c1.write_bytes(C1.read_bytes())
        link, hard = self.tmp / "link", self.tmp / "hard"
        link.symlink_to(c1)
        os.link(c1, hard)
        for out in (c1, link, hard, self.tmp / "." / "c1.json"):
            self.assertIn("--c1", self.refused(2, out, c1=c1)["what"])
        self.assertEqual(c1.read_bytes(), C1.read_bytes())
        request = self.tmp / "request.json"
        request.write_bytes((POREP / "sector.json").read_bytes())
        self.assertIn("--request", self.refused(2, request, "--request", request)["what"])
        self.assertIn("--insecure-rs", self.refused(2, request, "--insecure-rs", request)["what"])

    def test_output_is_the_key(self):
        key = self.tmp / "k"
        key.write_bytes((CUBE / "params.bin").read_bytes())
        e = self.fails(2, "prove", "porep", "--c1", C1, "--params", key, "--out", key)
        self.assertIn("--params", e["what"])
        self.assertEqual(key.read_bytes(), (CUBE / "params.bin").read_bytes())

    def test_folder_device_and_missing_parent(self):
        self.assertEqual(self.refused(2, self.tmp)["found"], "a folder")
        self.refused(2, "/dev/null")
        self.assertIn("none", self.refused(3, self.tmp / "none" / "p")["where"])

    def test_folder_that_cannot_be_written(self):
        self.assertEqual(self.refused(3, "/proc/p")["code"], 3)

    def test_setup_refuses(self):
        official = self.tmp / "official"
        official.mkdir()
        link = self.tmp / "link"
        link.symlink_to(official)
        for out in (official, link):
            e = self.fails(2, "setup", "porep", "--size", "2KiB", "--out", out,
                           env={"FIL_PROOFS_PARAMETER_CACHE": str(official)})
            self.assertIn("official", e["what"])
        bad = self.tmp / "bad.json"
        for text in ("{}", '{"trapdoor": {"alpha": "1"}}', "no"):
            bad.write_text(text)
            self.fails(3, "setup", "porep", "--size", "2KiB", "--out", self.tmp / "keys", "--insecure-trapdoor", bad)
        self.fails(3, "setup", "porep", "--size", "2KiB", "--out", bad / "keys")
        self.assertFalse((self.tmp / "keys").exists() and any((self.tmp / "keys").iterdir()))

    def test_setup_never_writes_over_a_key(self):
        name = self.cuzk("circuit", "info", "porep", "--size", "2KiB", "--json").json["params_file"]
        (self.tmp / name).write_bytes(b"precious")
        self.assertIn("existing", self.fails(2, "setup", "porep", "--size", "2KiB", "--out", self.tmp)["what"])
        self.assertEqual((self.tmp / name).read_bytes(), b"precious")

    def test_checkpoints_refuse_a_folder(self):
        self.fails(2, "circuit", "hash", "porep", "--size", "2KiB", "--checkpoints", self.tmp)


main()
