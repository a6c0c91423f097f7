#!/usr/bin/env bash
# On a machine with an NVIDIA device: the cross-backend tests, then the benchmarks; prints a short table last.
#   tools/gpu/run.sh FOLDER [full]     FOLDER holds cuzk, libcuzk-cuda.so, cuda_kernels, cuda_proofs, cuda_full (ninja -C build/cuda)
# `full` adds a whole 32 GiB PoRep (about 75 GB of device memory, two minutes).
set -euo pipefail
folder=$(cd "${1:?folder of a CUDA build}" && pwd)
export CUZK_CUDA_MODULE=$folder/libcuzk-cuda.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CUZK_CACHE=$work/cache
"$folder/cuda_proofs" 2>/dev/null | grep -v '^ok' || { echo "cuda_proofs failed"; exit 1; }
"$folder/cuda_kernels" bench >"$work/kernels" || { cat "$work/kernels"; exit 1; }
"$folder/cuda_proofs" bench 20 >"$work/proofs" 2>/dev/null
if [ "${2:-}" = full ]; then
    "$folder/cuzk" synth-sector porep --size 32GiB --seed 1 --out "$work/sector" >/dev/null 2>&1
    "$folder/cuda_full" porep "$work/sector/c1.json" 2 >"$work/full"
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
for part in kernels proofs full; do [ ! -f "$work/$part" ] || cat "$work/$part"; done
