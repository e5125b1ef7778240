#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq gzip
# The same program gives the same bytes, apart from the object "host"; what could differ is named.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"

seq 1 4000 >"$work/input"
# The program's stack begins below its environment, so that one must be the same, PWD and _ included.
fixed=(env -i "PATH=$PATH" PERL_HASH_SEED=0)

# without_host FILE: the bytes of a report without what stands in "host", the last key
without_host() {
    sed '/^  "host": {/,/^  }/d' "$1"
}

# same A B: the reports are equal byte for byte
same() {
    grep -q '^  "host": {' "$1" || complain "no object \"host\" in the report"
    if ! cmp -s <(without_host "$1") <(without_host "$2"); then
        diff <(without_host "$1") <(without_host "$2") | head -20 >"$work/.err"
        complain "the reports differ: $(jq -c .totals "$1") and $(jq -c .totals "$2")"
    fi
}

# twice NAME OPTION... -- PROGRAM...: two runs, $work/1.json and $work/2.json
twice() {
    local what=$1 run
    shift
    for run in 1 2; do
        check "$what, run $run" sh -c 'in=$1; shift; exec "$@" <"$in"' - "$work/input" \
            "${fixed[@]}" "$fathom" run -q -o none --json "$work/$run.json" "$@"
        [[ $status -lt 125 ]] || complain "exit status $status"
    done
    same "$work/1.json" "$work/2.json"
}

for core in snb ivb hsw bdw skl; do
    twice "a dynamic program on $core" --core $core -- "$guests/acts" echo
done
for program in "bare_copy" "bare_calls" "acts-static echo" "acts modify" "acts fault" "acts divide"; do
    # shellcheck disable=SC2086
    twice "$program" -- "$guests/"$program
done
twice "gzip" -- gzip -c
twice "a shell script" -- /bin/sh -c 'i=0; while [ $i -lt 200 ]; do i=$((i+1)); done'
if [[ -x /usr/bin/perl ]]; then
    twice "perl" -- /usr/bin/perl -e '$h{$_} = 1 for 1..300; print join ",", keys %h'
fi

# What must not matter.
run=(run -q -o none --json "$work/2.json" -- "$guests/acts" echo x)
check "reference" "${fixed[@]}" "$fathom" run -q -o none --json "$work/1.json" -- "$guests/acts" echo x
exits 7
check "another result file and a report" "${fixed[@]}" "$fathom" run -o a-longer-name.fathom --all --json "$work/2.json" -- "$guests/acts" echo x
same "$work/1.json" "$work/2.json"
cp "$here/a-longer-name.fathom" "$work/stored.fathom"
check "the stored result" "$fathom" report --json "$work/stored.fathom"
cmp -s "$work/.out" "$work/2.json" || complain "fathom report --json differs from fathom run --json"
check "a copy of the stored result" sh -c 'cp "$1" b.fathom; exec "$2" report --json b.fathom' - "$work/stored.fathom" "$fathom"
cmp -s "$work/.out" "$work/2.json" || complain "a copied result reads differently"
check "JSON to standard output" "${fixed[@]}" "$fathom" run -q -o none --json - -- "$guests/acts" echo x
sed -n '/^{/,$p' "$work/.out" >"$work/2.json"
same "$work/1.json" "$work/2.json"
check "variables of qemu" "${fixed[@]}" QEMU_CPU=max QEMU_LOG=cpu QEMU_STRACE=1 QEMU_STACK_SIZE=1000000 QEMU_RAND_SEED=7 "$fathom" "${run[@]}"
same "$work/1.json" "$work/2.json"
if command -v taskset >/dev/null; then
    check "one CPU only" taskset -c 0 "${fixed[@]}" "$fathom" "${run[@]}"
    same "$work/1.json" "$work/2.json"
fi
check "low priority" nice -n 19 "${fixed[@]}" "$fathom" "${run[@]}"
same "$work/1.json" "$work/2.json"
check "much output waiting in a slow pipe" bash -c '"$@" | { sleep 0.5; cat >/dev/null; }' - "${fixed[@]}" "$fathom" "${run[@]}"
same "$work/1.json" "$work/2.json"
mkdir "$work/elsewhere"
cp "$fathom" "${FATHOM_PLUGIN:-${fathom%/*}/fathom-qemu.so}" "$work/elsewhere/"
check "another place of the executable" "${fixed[@]}" "$work/elsewhere/fathom" "${run[@]}"
same "$work/1.json" "$work/2.json"
# names WORD...: what the report gives as reasons for differences
names() {
    local word
    for word in "$@"; do
        jq -e --arg word "$word" '[.nondeterminism[].name] | index($word) != null' "$work/1.json" >/dev/null ||
            complain "$word is not among the reasons: $(jq -c '[.nondeterminism[].name]' "$work/1.json")"
    done
}
check "a program that reads the clock" "$fathom" run -q -o none --json "$work/1.json" -- "$guests/acts" time
names clock_gettime getppid
[[ $(jq '.nondeterminism[] | select(.name == "clock_gettime") | .count' "$work/1.json") == 25 ]] || complain "not 25 calls"
jq -e '.nondeterminism | all(.note | length > 10)' "$work/1.json" >/dev/null || complain "a reason without a note"
check "the clock in the text report" "$fathom" run -o none -- "$guests/acts" time
says "clock_gettime"
check "a program that asks for its number" "$fathom" run -q -o none --json "$work/1.json" -- /bin/sh -c 'echo $$ $PPID >/dev/null'
names getpid getppid
check "a program that reads a random device" "$fathom" run -q -o none --json "$work/1.json" -- head -c 4 /dev/urandom
names "open of /proc, /sys or a random device"
check "a program with none of it" "$fathom" run -q -o none --json "$work/1.json" -- "$guests/bare_copy"
[[ $(jq '.nondeterminism | length' "$work/1.json") == 0 ]] || complain "$(jq -c .nondeterminism "$work/1.json")"

finish
