#!/usr/bin/env bash
# Installs NVIDIA's compiler from the Python package index into build/cuda-venv, for machines without a CUDA toolkit.
# It compiles everything; a device is needed only to run. Silent when it is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/cuda-venv
if command -v nvcc >/dev/null || ls $venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc >/dev/null 2>&1; then exit 0; fi
echo "setup-cuda: installing nvcc 13.0 into $venv (about 300 MB)"
python3 -c 'import ensurepip' 2>/dev/null || tools/setup-debian.sh cuda
python3 -m venv $venv
$venv/bin/pip install -q --disable-pip-version-check 'nvidia-cuda-nvcc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' \
    'nvidia-cuda-cccl==13.0.*' 'nvidia-nvvm==13.0.*'
