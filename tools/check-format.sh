#!/usr/bin/env bash
# Checks (or with --fix applies) the layout of all C sources by clang-format. Files come from git, so build folders and
# untracked files do not matter.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.c' '*.h' '*.cu' '*.cuh')
if [ "${1-}" = --fix ]; then
    clang-format -i "${files[@]}"
else
    clang-format --dry-run -Werror "${files[@]}"
    echo "format: ${#files[@]} files are laid out as .clang-format says"
fi
