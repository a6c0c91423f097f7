#!/usr/bin/env python3
"""Writes src/groth16/published_keys.inc from tools/published-keys.tsv.

    gen_published_keys.py [TSV [OUT]]

The table: file name, sector size, first 32 hex digits of the BLAKE2b-512 of the file, as in `parameters.json` of
filecoin-project/rust-fil-proofs (storage-proofs-core). Only .params and .vk files of version 28 are kept.
"""
import re, sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
source = Path(sys.argv[1]) if len(sys.argv) > 1 else root / "tools/published-keys.tsv"
out = Path(sys.argv[2]) if len(sys.argv) > 2 else root / "src/groth16/published_keys.inc"

keys = {}
for line in source.read_text().splitlines()[1:]:
    name, sector, digest = line.split("\t")
    m = re.fullmatch(r"(v28-.+)\.(params|vk)", name)
    if not m:
        continue
    assert re.fullmatch(r"[0-9a-f]{32}", digest), line
    keys.setdefault((m[1], int(sector)), {})[m[2]] = digest

lines = ["/* Made by tools/gen_published_keys.py from tools/published-keys.tsv; do not edit.",
         " * {name without extension, sector bytes, .vk digest, .params digest} */"]
for (name, sector), d in sorted(keys.items()):
    assert set(d) == {"vk", "params"}, name
    both = [", ".join("0x" + d[k][i:i + 2] for i in range(0, 32, 2)) for k in ("vk", "params")]
    lines.append(f'{{"{name}", {sector}u, {{{both[0]}}}, {{{both[1]}}}}},')
out.write_text("// clang-format off\n" + "\n".join(lines) + "\n// clang-format on\n")
