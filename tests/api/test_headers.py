#!/usr/bin/env python3
"""Every public header compiles alone, as C11 and as C++11, without warnings; all_headers.cpp uses them from C++."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", f"-I{ROOT}/include", "-fsyntax-only"]


def compiles(command, source):
    p = subprocess.run(command + [str(source)], capture_output=True, text=True)
    if p.returncode:
        print(f"{' '.join(command)} {source}\n{p.stderr}", file=sys.stderr)
    return p.returncode == 0


def main():
    cc, cxx = shutil.which("cc") or shutil.which("gcc"), shutil.which("c++") or shutil.which("g++")
    if not cc or not cxx:
        print("no C or no C++ compiler")
        return 1 if os.environ.get("CUZK_NO_SKIP") else 77
    headers = sorted((ROOT / "include/cuzk").glob("*.h"))
    ok = len(headers) >= 10
    with tempfile.TemporaryDirectory() as t:
        for h in headers:
            for suffix, command in ((".c", [cc, "-std=c11"]), (".cpp", [cxx, "-std=c++11"])):
                # Twice, so that a missing include guard shows.
                source = pathlib.Path(t) / (h.stem + suffix)
                source.write_text(f'#include "cuzk/{h.name}"\n#include "cuzk/{h.name}"\nint unused_{h.stem};\n')
                ok = compiles(command + WARN, source) and ok
    ok = compiles([cxx, "-std=c++11"] + WARN, ROOT / "tests/api/all_headers.cpp") and ok
    umbrella = (ROOT / "include/cuzk/cuzk.h").read_text()
    for h in headers:
        if h.name != "cuzk.h" and f'"cuzk/{h.name}"' not in umbrella:
            print(f"cuzk.h does not include {h.name}", file=sys.stderr)
            ok = False
    print(f"{len(headers)} headers", "ok" if ok else "NOT ok")
    return 0 if ok else 1


sys.exit(main())
