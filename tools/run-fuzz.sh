#!/usr/bin/env bash
# Runs each libFuzzer program of a folder for some seconds: tools/run-fuzz.sh FOLDER SECONDS
# New inputs go to build/corpus/NAME; fuzz/corpus/NAME is read only. A crash leaves its input in build/.
set -euo pipefail
cd "$(dirname "$0")/.."
for program in "$1"/fuzz_*; do
    [ -x "$program" ] || continue
    name=$(basename "$program"); name=${name#fuzz_}
    mkdir -p "build/corpus/$name"
    seeds=()
    [ ! -d "fuzz/corpus/$name" ] || seeds=("fuzz/corpus/$name")
    echo "fuzz: $name for $2 s"
    "$program" -max_total_time="$2" -print_final_stats=1 -artifact_prefix="build/$name-" "build/corpus/$name" \
        "${seeds[@]}" 2>&1 | tail -n 12
done
