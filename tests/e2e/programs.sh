#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq xz-utils gzip sqlite3 python3-minimal perl-base lua5.4 openssl
# Real programs, unmodified: they write what they write without fathom, end as they end without, and nearly
# every instruction has a row in the core's table. Small inputs; bench/programs.sh has the larger ones.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"

export PYTHONHASHSEED=0 PERL_HASH_SEED=0 PATH=/usr/bin:/bin
seq 1 3 3000 >"$work/text"

# real NAME LEAST COMMAND...: at least that many thousand instructions
real() {
    local what=$1 least=$2 want share
    shift 2
    if ! command -v "$1" >/dev/null; then
        skip "$1 is not installed"
        return
    fi
    check "$what, without fathom" sh -c 'in=$1; shift; exec "$@" <"$in"' - "$work/text" "$@"
    want=$status
    cp "$work/.out" "$work/plain.out"
    rm -f "$work/report.json"
    check "$what" sh -c 'in=$1; shift; exec "$@" <"$in"' - "$work/text" \
        "$fathom" run -q -o none --json "$work/report.json" -- "$@"
    exits "$want"
    cmp -s "$work/plain.out" "$work/.out" || complain "its output differs from that without fathom"
    [[ ! -s $work/.err ]] || complain "something on standard error"
    jq -e '.run.complete' "$work/report.json" >/dev/null || complain "the run is not complete"
    jq -e ".totals.instructions >= ${least}000" "$work/report.json" >/dev/null ||
        complain "only $(jq .totals.instructions "$work/report.json") instructions"
    jq -e '.totals.ipc > 0.1 and .totals.ipc < 4.5' "$work/report.json" >/dev/null || complain "IPC $(jq .totals.ipc "$work/report.json")"
    share=$(jq '([.unknown_instructions[].count] | add // 0) / .totals.instructions' "$work/report.json")
    awk -v share="$share" 'BEGIN { exit !(share <= 0.001) }' ||
        complain "$share of the instructions have no row: $(jq -c '.unknown_instructions[:5] | map([.name, .count])' "$work/report.json")"
}

real xz 1000 xz -1 -T1 -c
real gzip 500 gzip -c
real sqlite3 500 sqlite3 :memory: "create table t(a, b);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
    insert into t select i, 'x' || (i * 7919 % 1009) from n; select max(b), sum(a) from t group by a % 7;"
real python3 3000 /usr/bin/python3 -I -S -c 'print(sum(i * i for i in range(1000)), "x".join(map(str, range(50))))'
real openssl 1000 openssl dgst -sha256 "$work/text"
real perl 500 perl -ne '$n{length $_}++; END { print "$_ $n{$_}\n" for sort keys %n }'
real lua 500 lua5.4 -e 'local t = {} for i = 1, 2000 do t[i] = i * i % 97 end table.sort(t) print(t[1], t[2000])'
if command -v gcc >/dev/null; then
    echo 'int twice(int x) { return 2 * x; }' >"$work/small.c"
    real gcc 200 gcc -O2 -c "$work/small.c" -o "$work/small.o"
    [[ -s $work/small.o ]] || complain "no object file"
fi
# The guest's processor is that of the core: openssl chooses its code by CPUID.
for core in snb ivb hsw bdw skl; do
    command -v openssl >/dev/null || break
    check "openssl on $core" "$fathom" run -q -o none --core $core --json "$work/$core.json" -- openssl dgst -sha256 "$work/text"
    exits 0
done

finish
