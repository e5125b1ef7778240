#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cache misses of fathom's memory system beside cachegrind's: same program, same geometry, same replacement. Without
# arguments it runs the programs of docs/memory.md and prints its table; exit status 1: a figure is more than
# FATHOM_TOLERANCE (2) per cent apart.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fathom=${FATHOM_BINARY:-$root/build/fathom}
tolerance=${FATHOM_TOLERANCE:-2}
for tool in "$fathom" valgrind jq; do
    command -v "$tool" >/dev/null || {
        echo "bench/cachegrind.sh: $tool is missing (build fathom; apt-get install valgrind jq)" >&2
        exit 2
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# cachegrind has two levels, true LRU, no prefetchers, no TLBs, no wrong paths, asks the L1I for every instruction, and
# keeps program order: the L2 is as small as it gets, the last level is the L3, TLBs hold everything, the uop cache next
# to nothing, and few instructions are in flight (where a set is exactly full, the order of accesses decides).
model=()
for pair in wrong_path=no prefetch_l1_next=no prefetch_l1_ip=no prefetch_l2_adjacent=no prefetch_l2_streamer=no \
    prefetch_next_page=no l1i_replacement=lru l1d_replacement=lru l2_replacement=lru l3_replacement=lru \
    l1i_size=32KiB l1i_ways=8 l1d_size=32KiB l1d_ways=8 l2_size=1KiB l2_ways=16 l3_size=8MiB l3_ways=16 \
    dtlb_entries=65536 itlb_entries=65536 stlb_entries=65536 stlb_ways=4 \
    lsd=no dsb_sets=1 dsb_ways=1 dsb_lines_per_window=1 dsb_line_uops=1 \
    rob_entries=16 rs_entries=16 load_buffer=4 store_buffer=4; do
    model+=(--set "$pair")
done
caches=(--cache-sim=yes "--I1=32768,8,64" "--D1=32768,8,64" "--LL=8388608,16,64" --cachegrind-out-file=/dev/null)

# What valgrind adds to the program's environment makes the dynamic linker run other code; memory that malloc maps and
# unmaps comes back at other addresses.
steady=(MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1000000000
    "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0") # the last if fathom is built with it
mapfile -t added < <(valgrind -q --tool=none /usr/bin/env | grep -E '^(LD_|GLIBC)')

ours() {
    jq --arg name "$1" '.events | if type == "array" then .[] | select(.name == $name) | .value else .[$name] end' \
        "$work/ours.json"
}
theirs() {
    sed -n "s/.*$1: *\([0-9,]*\).*/\1/p" "$work/theirs" | tr -d , | head -1
}
far=0
cell() { # WHAT OURS THEIRS
    awk -v a="$2" -v b="$3" 'BEGIN { printf " %d / %d, %+.2f %% |", a, b, b ? 100 * (a - b) / b : 0 }'
    [[ $1 == instructions ]] ||
        awk -v a="$2" -v b="$3" -v t="$tolerance" 'BEGIN { exit 100 * (a > b ? a - b : b - a) > t * b }' || far=1
}
compare() { # NAME PROGRAM [ARGUMENT]...
    local name=$1
    shift
    env "${steady[@]}" "${added[@]}" "$fathom" run -q -o none --json "$work/ours.json" "${model[@]}" -- "$@" >/dev/null
    env "${steady[@]}" valgrind --tool=cachegrind "${caches[@]}" "$@" 2>"$work/theirs" >/dev/null
    printf '| %s |' "$name"
    cell instructions "$(jq .totals.instructions "$work/ours.json")" "$(theirs 'I *refs')"
    cell L1I "$(ours L1I.Misses)" "$(theirs 'I1 *misses')"
    cell L1D "$(($(ours L1D.LoadMisses) + $(ours L1D.StoreMisses)))" "$(theirs 'D1 *misses')"
    cell LL "$(ours L3.Misses)" "$(theirs 'LL misses')"
    printf '\n'
}
all() {
    local name
    head -c 300000 /bin/bash >"$work/input"
    cat >"$work/fill.sql" <<'SQL'
create table t(a integer primary key, b text, c real);
with recursive s(i) as (select 1 union all select i+1 from s where i<5000)
    insert into t select i, printf('%08d', (i*7919)%5000), i*0.5 from s;
create index ib on t(b);
select count(*), sum(c) from t where b like '%77%';
SQL
    for name in matmul matmul-interchanged matmul-blocked matmul-vectorised; do
        compare "\`$name 128 128\`" "$root/build/examples/$name" 128 128
    done
    compare "\`xz -1\` of 300 kB" xz -1 -k -c "$work/input"
    compare "sqlite3, 5,000 rows" sqlite3 :memory: ".read $work/fill.sql"
}

printf '| fathom / cachegrind, difference | instructions | L1I misses | L1D misses | last level misses |\n'
printf '| --- | --- | --- | --- | --- |\n'
if (($# == 0)); then
    all
else
    compare "$1" "$@"
fi
exit "$far"
