#!/usr/bin/env bash
# On a machine with an NVIDIA device: builds, runs the tests that compare the device with the CPU, then the benchmarks,
# and prints a short table last.
#
#   tools/gpu/run.sh [--tests | --kernels | --full | --small-cards | --engine] [FOLDER]
#
#   --tests    the comparisons only
#   --kernels  and the kernels' times (the default)
#   --full     and whole jobs of 32 GiB sectors: a PoRep, an update, a winning and a window PoSt (about 90 GB of device
#              memory, 6 GB of host memory, four minutes)
#   --small-cards  only a 32 GiB PoRep with its key made, written to a file and loaded from it (47 GB in $CUZK_KEY_FOLDER,
#              default a folder in $TMPDIR; as much memory for the file's cache), and batches ($CUZK_BATCH jobs each,
#              default 2) within 16, 24, 32 and 48 GiB of the device's memory, one and two proofs at a time
#   --engine   only the engine: batches of a 32 GiB PoRep with one and two workers for the device ($CUZK_BATCH jobs each,
#              default 4), small jobs of all kinds in turn within 4 GiB of the device, and 200 small proofs while a
#              stranger takes and frees its memory
#   FOLDER     a CUDA build that is there; without it, build/gpu is built for this device (cmake, ninja, gcc, the CUDA
#              toolkit 13, OpenSSL; yajl from CMAKE_PREFIX_PATH where the system has none)
set -euo pipefail
cd "$(dirname "$0")/../.."
level=kernels folder=
for word; do
    case $word in
    --tests | --kernels | --full | --small-cards | --engine) level=${word#--} ;;
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
    cmake --build $folder --target cuzk_program cuzk-cuda cuda_kernels cuda_proofs cuda_full cuda_mixed | tail -n 1
    echo "built for compute capability $capability in $((SECONDS - start)) s"
fi
folder=$(cd "$folder" && pwd)
export CUZK_CUDA_MODULE=$folder/libcuzk-cuda.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CUZK_CACHE=$work/cache

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
echo "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(nproc) host cores"
sector() { "$folder/cuzk" synth-sector "$1" --size "$2" --seed 1 --out "$3" >/dev/null 2>&1; }
if [ $level = small-cards ]; then
    sector porep 32GiB "$work/porep"
    export CUZK_CACHE=${CUZK_KEY_FOLDER:-$CUZK_CACHE}
    mkdir -p "$CUZK_CACHE/dev-keys"
    CUZK_KEY_FOLDER=$CUZK_CACHE/dev-keys CUZK_DEVICE_LIMITS=$((16 << 30)) "$folder/cuda_full" porep "$work/porep/c1.json"
    for card in 16 24 32 48; do # one proof at a time, and two that may share a pass over the key
        "$folder/cuzk" bench batch porep --c1 "$work/porep/c1.json" -c "${CUZK_BATCH:-2}" -j "${CUZK_BATCH:-2}" --pw 10 \
            --gw 1,2 --dev-key --device cuda:0 --device-memory ${card}GiB --out "$work/card" --quiet >/dev/null
        echo "within $card GiB:" && cat "$work/card/sweep.csv" && rm -r "$work/card"
    done
    exit
fi
if [ $level = engine ]; then
    for kind in porep snap winning-post window-post; do sector $kind 2KiB "$work/$kind"; done
    "$folder/cuda_mixed" 20 $((4 << 30)) porep:"$work/porep" snap:"$work/snap" winning-post:"$work/winning-post" \
        window-post:"$work/window-post"
    tools/gpu/take-memory.py &
    "$folder/cuzk" bench batch porep --c1 "$work/porep/c1.json" -c 200 -j 4 --dev-key --device cuda:0 --out "$work/beside"
    kill $! && wait $! || true
    sector porep 32GiB "$work/large"
    "$folder/cuzk" bench batch porep --c1 "$work/large/c1.json" -c "${CUZK_BATCH:-4}" -j "${CUZK_BATCH:-4}" --pw 10 \
        --gw 1,2 --dev-key --device cuda:0 --out "$work/batch"
    cat "$work"/batch/sweep.csv
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
    at=$work/$kind
    sector $kind 32GiB "$at"
    case $kind in
    porep) "$folder/cuda_full" porep "$at/c1.json" 2 ;;
    winning-post) "$folder/cuda_full" $kind "$at/request.json" $(ls -v "$at"/vanilla-*.bin) 20 ;;
    *) "$folder/cuda_full" $kind "$at/request.json" $(ls -v "$at"/vanilla-*.bin) 1 ;;
    esac
    rm -rf "$at"
done
