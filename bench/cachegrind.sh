#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cache misses of fathom's memory system beside cachegrind's, same program, same geometry: prefetchers off (cachegrind
# has none), 32 KiB 8-way L1s, 8 MiB 16-way last level. fathom replaces by tree-PLRU and QLRU, cachegrind by LRU, and
# the two show the program different processors, so a few per cent apart are expected.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fathom=${FATHOM_BINARY:-$root/build/fathom}
for tool in "$fathom" valgrind jq; do
    command -v "$tool" >/dev/null || {
        echo "bench/cachegrind.sh: $tool is missing (build fathom; apt-get install valgrind jq)" >&2
        exit 1
    }
done
if (($# == 0)); then
    echo "usage: bench/cachegrind.sh PROGRAM [ARGUMENT]..." >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$fathom" run -q -o none --json "$work/ours.json" --set prefetch_l1_next=no --set prefetch_l1_ip=no \
    --set prefetch_l2_adjacent=no --set prefetch_l2_streamer=no -- "$@" >/dev/null
valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64 \
    --cachegrind-out-file=/dev/null "$@" 2>"$work/theirs" >/dev/null

ours() {
    jq --arg name "$1" '.events | if type == "array" then .[] | select(.name == $name) | .value else .[$name] end' \
        "$work/ours.json"
}
theirs() {
    sed -n "s/.*$1 *misses: *\([0-9,]*\).*/\1/p" "$work/theirs" | tr -d , | head -1
}
row() {
    awk -v what="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%-10s %12d %12d %+7.1f %%\n", what, a, b, b ? 100 * (a - b) / b : 0 }'
}
printf '%-10s %12s %12s %9s\n' misses fathom cachegrind difference
row L1I "$(ours L1I.Misses)" "$(theirs I1)"
row L1D "$(($(ours L1D.LoadMisses) + $(ours L1D.StoreMisses)))" "$(theirs D1)"
row "last level" "$(ours L3.Misses)" "$(theirs 'LL ')"
