#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Simulated instructions a second of fathom run on xz and sqlite3, with cachegrind and bare qemu on the same
# command in the same session: medians of RUNS (3), and the ratios.
#
#   bench/run_speed.sh [--core NAME] [RUNS]
#
# cachegrind simulates caches and a branch predictor but no pipeline; bare qemu simulates nothing.
set -euo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fathom=${FATHOM_BINARY:-$root/build/fathom}
core=skl
runs=3

while (($#)); do
    case $1 in
    --core) core=$2 && shift ;;
    -h | --help) sed -n '3,8s/^# \{0,1\}//p' "$0" && exit 0 ;;
    [1-9]*) runs=$1 ;;
    *) echo "bench/run_speed.sh: what is $1? See --help" >&2 && exit 2 ;;
    esac
    shift
done
for tool in "$fathom" jq awk xz sqlite3 valgrind qemu-x86_64; do
    command -v "$tool" >/dev/null || {
        echo "bench/run_speed.sh: $tool is missing (build fathom; apt-get install jq xz-utils sqlite3 valgrind qemu-user)" >&2
        exit 125
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
seq 1 7 200000 >text
sqlite3 table.db "create table item(id integer primary key, name text, kind int);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
    insert into item select i, 'item ' || (i * 7919 % 100003), i % 13 from n;"
query="select kind, count(*), max(name) from item where kind < 2 group by kind"

# seconds COMMAND...: wall time of one run
seconds() {
    local from=$EPOCHREALTIME to
    "$@" </dev/null >/dev/null 2>err || {
        echo "bench/run_speed.sh: \"$*\" failed: $(tail -3 err)" >&2
        exit 125
    }
    to=$EPOCHREALTIME
    awk -v a="$from" -v b="$to" 'BEGIN { printf "%.4f\n", b - a }'
}

median() {
    sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# compare NAME COMMAND...: one command under all of them, one after the other so that load hits all alike
compare() {
    local name=$1 i n memory
    shift
    : >plain && : >qemu && : >cachegrind && : >fathom && : >inside
    for ((i = 0; i < runs; i++)); do
        seconds "$@" >>plain
        seconds qemu-x86_64 "$(command -v "$1")" "${@:2}" >>qemu
        seconds valgrind --tool=cachegrind --cache-sim=yes --branch-sim=yes --cachegrind-out-file=/dev/null "$@" >>cachegrind
        seconds "$fathom" run -q --core "$core" -o none --json result.json -- "$@" >>fathom
        jq -r .host.seconds result.json >>inside
    done
    n=$(jq .totals.instructions result.json)
    memory=$(jq -r .host.peak_memory_mib result.json)
    awk -v name="$name" -v n="$n" -v memory="$memory" -v plain="$(median <plain)" -v qemu="$(median <qemu)" \
        -v cachegrind="$(median <cachegrind)" -v fathom="$(median <fathom)" -v inside="$(median <inside)" '
        function row(what, t) { printf "  %-22s %9.3f s %10.2f M/s %8.2f\n", what, t, n / t / 1e6, fathom / t }
        BEGIN {
            printf "%s: %.2f M instructions, %d MiB\n", name, n / 1e6, memory
            printf "  %-22s %11s %14s %8s\n", "", "median", "speed", "fathom takes x times"
            row("native", plain)
            row("qemu-x86_64", qemu)
            row("cachegrind", cachegrind)
            row("fathom run", fathom)
            row("  of it simulating", inside)
            printf "  %s: 2 M/s\n", (n / inside >= 2e6 ? "reached" : "NOT REACHED")
        }'
}

echo "core $core, $runs runs each, one after the other"
compare "xz" xz -1 -T1 -c text
compare "sqlite3" sqlite3 table.db "$query"
