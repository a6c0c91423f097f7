#!/usr/bin/env bash
# A proof from beginning to end on this machine, with words: tools/demo.sh PROGRAM
#
# Input is a real sealed sector of 2 KiB from tests/data. Results go to build/demo; the development key is made on
# the first run only and kept in the cache folder (2 GiB with its converted copy), as `cuzk prove --dev-key` does.
set -euo pipefail
cuzk=$(realpath "$1")
root=$(cd "$(dirname "$0")/.." && pwd)
c1=$root/tests/data/porep-2kib-a/c1.json
out=$root/build/demo
mkdir -p "$out"
cd "$root"

say() { printf '\n%s\n' "$*" | fold -s -w 100; }
run() {
    local arg
    printf '$ cuzk' >&2
    for arg in "$@"; do printf ' %s' "${arg#"$root"/}" >&2; done
    printf '\n' >&2
    "$cuzk" "$@"
}
# "params" from a JSON answer.
member() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

say "A Filecoin storage provider proves that a sector is sealed: a proof of replication (PoRep). Sealing leaves a file, the \
output of commit phase 1, with Merkle paths into the sector at challenged places. This is what the one in tests/data holds:"
run vanilla inspect porep --c1 "$c1"

say "Before any cryptography: do its paths, labels and encodings fit together?"
run vanilla verify porep --c1 "$c1"

say "The statement 'I know such paths' is written as a circuit of equations. Its values, the witness, are computed and every \
equation is checked:"
run witness porep --c1 "$c1" --json >"$out/witness.json"
python3 - "$out/witness.json" <<'PYTHON'
import json, sys
p = json.load(open(sys.argv[1]))["partitions"][0]
print(f"  {p['aux']:,} values in {p['witness_bytes']:,} bytes; {len(p['inputs'])} public inputs; satisfied: {p['satisfied']}")
PYTHON

say "How much memory and time will the proof take? This is told before the work, and kept to:"
run plan porep --size 2KiB

say "Now the proof: 192 bytes that convince anybody, without the sector. It needs a proving key. The real one comes from a public \
ceremony; here a development key does, made once (some minutes, 2 GiB of disk) and kept. Proofs made with it are worth nothing on the network."
run prove porep --c1 "$c1" --dev-key --out "$out/proof.bin" --json >"$out/prove.json"
python3 - "$out/prove.json" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
total = r["seconds"]["total"]
print(f"\n  {'stage':<16}{'seconds':>10}")
for stage, s in r["seconds"].items():
    print(f"  {stage:<16}{s:>10.3f}" + (f"  {'#' * round(30 * s / total)}" if stage != "total" else ""))
print(f"\n  {'buffers (peak)':<16}{'MiB':>10}")
for name, n in r["buffers"].items():
    if n:
        print(f"  {name:<16}{n / 2**20:>10.1f}")
print(f"  {'all at once':<16}{r['tracked_peak_bytes'] / 2**20:>10.1f}   planned: {r['plan_host_bytes'] / 2**20:.1f}")
print(f"  {'process (RSS)':<16}{r['peak_rss_bytes'] / 2**20:>10.1f}   with the mapped key")
PYTHON

say "The proof was verified before it was written. A verifier, who has the verifying key and the public facts only, does it again:"
key=$(member params <"$out/prove.json")
run verify porep --c1 "$c1" --vk "${key%.params}.vk" "$out/proof.bin"

say "Done: build/demo/proof.bin ($(stat -c %s "$out/proof.bin") bytes). All commands: build/release/cuzk --help, docs/cli.md."
