#!/usr/bin/env python3
"""The library for other programs shows every function of the public headers and no other symbol."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(os.environ["CUZK"]).parent / "lib/libcuzk.a"


def declared():
    for header in (ROOT / "include/cuzk").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.M | re.S)
        text = re.sub(r"typedef struct \w+ \{.*?\} \w+;", "", text, flags=re.S)
        yield from re.findall(r"^[a-z][\w \*]*?\b(cuzk_\w+)\(", text, flags=re.M)


def main():
    if not shutil.which("nm") or not LIBRARY.exists():
        print("no nm, or a build (sanitizers) that does not make the library")
        return 77
    names = subprocess.run(["nm", "-g", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    defined = {line.split()[2] for line in names.splitlines() if len(line.split()) == 3}
    wanted = set(declared())
    missing, extra = sorted(wanted - defined), sorted(defined - wanted)
    print(f"{len(wanted)} functions declared, {len(missing)} not defined: {missing}, {len(extra)} too many: {extra[:20]}")
    return 0 if len(wanted) > 50 and not missing and not extra else 1


sys.exit(main())
