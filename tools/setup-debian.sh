#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, when some are missing.
#
#   tools/setup-debian.sh [fuzz|cuda|ci]
#
# Says what it installs and is silent when all is there. Needs root or sudo for installing. On other systems it only
# says which tools are missing. `ci` adds what only some tests need, so that none of them is skipped.
set -euo pipefail

packages=(gcc g++ libc6-dev cmake ninja-build libssl-dev libyajl-dev libcmocka-dev python3 clang-format pari-gp
          pkg-config libsqlite3-dev libnghttp2-dev libprotobuf-c-dev protobuf-c-compiler libmicrohttpd-dev
          libtomlplusplus-dev libsystemd-dev)
[ "${1-}" != fuzz ] || packages+=(clang llvm)
[ "${1-}" != cuda ] || packages+=(python3-venv)
if [ "${1-}" = ci ]; then
    packages+=(make git ca-certificates python3-venv openssl spin prometheus chromium systemd)
    # Other packages of these exclude Debian's, so what is there stays.
    command -v go >/dev/null || packages+=(golang-go)
    command -v node >/dev/null || packages+=(nodejs)
    command -v npm >/dev/null || packages+=(npm)
fi

if ! command -v dpkg-query >/dev/null; then
    for tool in cc cmake ninja python3; do
        command -v "$tool" >/dev/null || { echo "setup: $tool is missing; please install it" >&2; exit 1; }
    done
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) || status=
    [[ $status == *"ok installed" ]] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: these packages are missing; as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io \
    "${missing[@]}" </dev/null >/dev/null
