#!/usr/bin/env bash
# Makes a proof on this machine from nothing and verifies it: tools/demo.sh PROGRAM
# A made-up 2 KiB sector, a development key for it, a proof of replication, and the check a verifier does. All files go
# to a temporary folder that is removed at the end.
set -euo pipefail
cuzk=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CUZK_CACHE=$work/cache
cd "$work"

step() {
    echo "+ cuzk $*"
    "$cuzk" "$@"
}

step synth-sector porep --size 2KiB --seed 1 --out sector
c1=$(find sector -name '*c1*.json' | head -n 1)
step setup porep --size 2KiB --out keys
step prove porep --c1 "$c1" --params keys/*.params --out proof.bin
step verify porep --c1 "$c1" --vk keys/*.vk proof.bin
