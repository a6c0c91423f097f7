#!/bin/sh
# Fetches blst (Apache-2.0; its sources are in the npm package @chainsafe/blst) and builds it as
# build/oracles/libblst.so: an outside oracle for tests and benchmarks of group sums. Nothing of it is part of cuzk.
# Usage: tools/oracles/fetch_blst.sh. Needs npm, a C compiler and the network.
set -eu

version=0.2.11
sha256=7e53abd85e87a59dd11f5d1e22cc3435edd238c1f05f1afe26132b3642e3229b
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build/oracles

if [ -f "$out/libblst.so" ]; then
    echo "$out/libblst.so is there already"
    exit 0
fi
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "@chainsafe/blst@$version" >/dev/null
echo "$sha256  chainsafe-blst-$version.tgz" | sha256sum -c - >/dev/null
tar xzf "chainsafe-blst-$version.tgz"
mkdir lib
cd lib
sh ../package/blst/build.sh -shared >/dev/null
mv libblst.so* "$out/"
echo "$out/libblst.so"
