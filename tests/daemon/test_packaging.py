"""What packaging/ holds fits the program."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from daemon_test import CUZK, ROOT, main


class Packaging(unittest.TestCase):
    def test_sample(self):
        sample = subprocess.run([CUZK, "config", "--print"], capture_output=True, check=True).stdout
        self.assertEqual((ROOT / "packaging/cuzk.toml").read_bytes(), sample, "cuzk config --print > packaging/cuzk.toml")

    def test_settings_in_the_docs(self):
        """Every setting that docs/daemon.md names is one, and the list of those that a reload takes over is right."""
        sample = (ROOT / "packaging/cuzk.toml").read_text()
        settings, section = set(), ""
        for line in sample.splitlines():
            if m := re.match(r"\[(\w+)\]", line):
                section = m[1]
            if m := re.match(r"#(\w+) = ", line):
                settings.add(f"{section}.{m[1]}")
        text = (ROOT / "docs/daemon.md").read_text().split("## Coming from")[0]
        sections = {s.split(".")[0] for s in settings}
        for name in re.findall(r"\b(\w+\.\w+)\b", text):
            if name.split(".")[0] in sections and not name.endswith((".md", ".toml", ".service", ".db")):
                self.assertIn(name, settings)
        rows = re.findall(r'\{"(\w+)",\s*"(\w+)",\s*CONFIG_\w+,\s*AT\(\w+\),\s*(?:"(?:[^"\\]|\\.)*",\s*)'
                          r'[^,]+,\s*[^,]+,\s*(?:NULL|"[^"]*"),\s*(true|false),',
                          (ROOT / "src/daemon/config_table.c").read_text().replace("DAYS(1), ", "1, "))
        live = {f"{s}.{n}" for s, n, word in rows if word == "true"}
        self.assertEqual(len(rows), len(settings))
        told = re.search(r"Taken over while running: (.*?)\.\n\n", text, re.S)[1].replace("\n", " ")
        named = set()
        for word in told.split(","):
            word = word.strip()
            named |= {s for s in settings if s == word or (word.endswith(".*") and s.startswith(word[:-1]))}
        self.assertEqual(named, live)

    def test_unit(self):
        if not shutil.which("systemd-analyze") and not os.environ.get("CUZK_NO_SKIP"):
            self.skipTest("no systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder, "cuzk.service")
            unit.write_text((ROOT / "packaging/cuzk.service").read_text().replace("/usr/bin/cuzk", CUZK))
            p = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
            self.assertEqual((p.returncode, p.stdout + p.stderr), (0, ""))


main()
