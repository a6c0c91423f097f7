#!/usr/bin/env bash
# On a machine with an NVIDIA device: builds, runs the tests that compare the device with the CPU, then the benchmarks,
# and prints a short table last.
#
#   tools/gpu/run.sh [--tests | --kernels | --full | --small-cards] [FOLDER]
#
#   --tests    the comparisons only
#   --kernels  and the kernels' times (the default)
#   --full     and whole jobs of 32 GiB sectors: a PoRep, an update, a winning and a window PoSt (about 90 GB of device
#              memory, 6 GB of host memory, four minutes)
#   --small-cards  only a 32 GiB PoRep within 16, 24 and 48 GiB of the device's memory (60 GB of host memory)
#   FOLDER     a CUDA build that is there; without it, build/gpu is built for this device (cmake, ninja, gcc, the CUDA
#              toolkit 13, OpenSSL; yajl from CMAKE_PREFIX_PATH where the system has none)
set -euo pipefail
cd "$(dirname "$0")/../.."
level=kernels folder=
for word; do
    case $word in
    --tests | --kernels | --full | --small-cards) level=${word#--} ;;
    -*) echo "run.sh: there is no option $word; see the head of tools/gpu/run.sh" >&2; exit 2 ;;
    *) folder=$word ;;
    esac
done

if [ -z "$folder" ]; then
    folder=build/gpu
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
    [ "$capability" != 90 ] || capability=90a
    command -v nvcc >/dev/null || tools/setup-cuda.sh
    start=$SECONDS
    cmake -S . -B $folder -G Ninja -DCMAKE_BUILD_TYPE=Release -DCUZK_CUDA=ON -DCUZK_DAEMON=OFF \
        -DCUZK_CUDA_ARCHS="$capability" -DCUZK_WERROR=OFF -Wno-dev >/dev/null
    cmake --build $folder --target cuzk_program cuzk-cuda cuda_kernels cuda_proofs cuda_full | tail -n 1
    echo "built for compute capability $capability in $((SECONDS - start)) s"
fi
folder=$(cd "$folder" && pwd)
export CUZK_CUDA_MODULE=$folder/libcuzk-cuda.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CUZK_CACHE=$work/cache

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) host cores"
if [ $level = small-cards ]; then
    "$folder/cuzk" synth-sector porep --size 32GiB --seed 1 --out "$work/porep" >/dev/null 2>&1
    for gib in 16 24 48; do
        echo "within $gib GiB"
        CUZK_DEVICE_LIMIT=$((gib << 30)) "$folder/cuda_full" porep "$work/porep/c1.json" 1
    done
    exit
fi
"$folder/cuzk" selftest --device cuda | tail -n 3
"$folder/cuda_proofs" >"$work/proofs" 2>"$work/log" || { cat "$work/proofs" "$work/log"; exit 1; }
tail -n 1 "$work/proofs"
if [ $level = tests ]; then
    "$folder/cuda_kernels"
    exit
fi
"$folder/cuda_kernels" bench
if [ $level = kernels ]; then
    "$folder/cuda_proofs" bench 20 2>/dev/null
    exit
fi
for kind in porep snap winning-post window-post; do
    sector=$work/$kind
    "$folder/cuzk" synth-sector $kind --size 32GiB --seed 1 --out "$sector" >/dev/null 2>&1
    case $kind in
    porep) "$folder/cuda_full" porep "$sector/c1.json" 2 ;;
    winning-post) "$folder/cuda_full" $kind "$sector/request.json" $(ls -v "$sector"/vanilla-*.bin) 20 ;;
    *) "$folder/cuda_full" $kind "$sector/request.json" $(ls -v "$sector"/vanilla-*.bin) 1 ;;
    esac
    rm -rf "$sector"
done
