#!/usr/bin/env python3
"""Checks that lower folders of src/ never include higher ones, and that public headers include only public ones.

The order is that of docs/conventions.md. Quoted includes must name a folder of src/ ("base/buffer.h") or a public
header ("cuzk/error.h"), or one that protoc-c makes from a file of proto/. src/backend may include only groth16/backend.h of groth16.
"""
import pathlib
import re
import sys

ORDER = ["base", "math", "r1cs", "gadget", "format", "circuit", "groth16", "backend",
         "api", "engine", "store", "rpc", "http", "daemon", "cli"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ANGLE_OWN = re.compile(r"^\s*#\s*include\s+<((?:cuzk|" + "|".join(ORDER) + r")/[^>]+)>", re.MULTILINE)


def faults_of(path, layer, text, root):
    for name in ANGLE_OWN.findall(text):
        yield f'{path}: <{name}> must be written "{name}"'
    for name in INCLUDE.findall(text):
        first = name.split("/")[0]
        if name.endswith(".pb-c.h"):
            if not (root / "proto" / name.replace(".pb-c.h", ".proto")).exists():
                yield f'{path}: "{name}" is made from no file of proto/'
            continue
        if first == "cuzk":
            if not (root / "include" / name).exists():
                yield f'{path}: "{name}" does not exist'
            continue
        if "/" not in name and path.suffix in (".cu", ".cuh") and (root / path).with_name(name).exists():
            continue  # device code includes its neighbours by their bare names
        if layer is None:
            yield f'{path}: a public header includes "{name}"'
            continue
        if first not in ORDER or "/" not in name:
            yield f'{path}: "{name}" names no folder of src/'
            continue
        if ORDER.index(first) > ORDER.index(layer):
            yield f'{path}: {layer} includes the higher "{name}"'
        if layer == "backend" and first == "groth16" and name != "groth16/backend.h":
            yield f'{path}: backend may include only "groth16/backend.h" of groth16, not "{name}"'


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    faults, count = [], 0
    for pattern in ("src/**/*", "include/**/*"):
        for file in sorted(root.glob(pattern)):
            if file.suffix not in (".c", ".h", ".cu", ".cuh", ".inc"):
                continue
            path = file.relative_to(root)
            layer = path.parts[1] if path.parts[0] == "src" else None
            if layer is not None and layer not in ORDER:
                faults.append(f"{path}: src/{layer} is not in the order of layers")
                continue
            count += 1
            faults += faults_of(path, layer, file.read_text(), root)
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"layers: {count} files, no lower folder includes a higher one")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
