#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq gzip
# fathom run --sample: the interval holds the figure of the full run, the sums are exact, nothing depends on
# the machine, and what cannot be sampled is said.
tests=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
source "$tests/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"
awk 'BEGIN { for (i = 1; i <= 5000; i++) printf "%d %x%s", i * i % 9973, i * 7919 % 4099, i % 8 ? " " : "\n" }' >"$work/input"
# The program's stack begins below its environment, so that one must be the same.
fixed=(env -i "PATH=$PATH")

# simulate FILE OPTION... -- PROGRAM...: the report as JSON
simulate() {
    local file=$1
    shift
    check "${*//$work\//}" sh -c 'in=$1; shift; exec "$@" <"$in"' - "$work/input" "${fixed[@]}" "$fathom" run -q --json "$file" "$@"
    [[ -s $file ]] || complain "no report"
}

# that JQ-EXPRESSION WHAT: holds of full.json ($full) and sampled.json ($s)
that() {
    jq -en --slurpfile f "$work/full.json" --slurpfile g "$work/sampled.json" '$f[0] as $full | $g[0] as $s | '"$1" >/dev/null ||
        complain "$2: $(jq -c '[.totals, .sample]' "$work/sampled.json"), full: $(jq -c .totals "$work/full.json")"
}

# ---- the command line --------------------------------------------------------------------------------
for option in --sample=0 --sample=many --sample=10000,0 --sample=20000,1,2,3 --sample= --sample=-5; do
    check "$option" "$fathom" run $option -- true
    exits 2
    says "--sample" "--help"
    leaves
done
check "a window that does not fit" "$fathom" run --sample=10000,9000,1001 -- true
exits 2
says "9000 instructions and 1001 before it do not fit into a period of 10000"
leaves
for other in "--ideal memory" "--compare-cores hsw" "--copies 2"; do
    # shellcheck disable=SC2086
    check "with $other" "$fathom" run --sample $other -- true
    exits 2
    says "--sample cannot be combined with ${other% *}"
    leaves
done

# ---- a program of some million instructions -----------------------------------------------------------
simulate "$work/full.json" -o none -- gzip -6 -c
simulate "$work/sampled.json" -o sampled.fathom --sample=20000 -- gzip -6 -c
that '$s.run.source | test("sampled: [0-9]+ windows of 1000 instructions every 20000")' "the source does not say it"
that '$s.run.complete and $s.run.exit_status == 0' "not complete"
that '$s.totals.instructions == $full.totals.instructions' "instructions are not exact"
that '$s.sample.windows > 50 and $s.sample.measured < $full.totals.instructions / 8' "not sampled"
that '$s.sample.ipc_low <= $full.totals.ipc and $full.totals.ipc <= $s.sample.ipc_high' "the interval misses the IPC"
that '$s.sample.ipc_low > 0.7 * $s.totals.ipc and $s.sample.ipc_high < 1.4 * $s.totals.ipc' "a useless interval"
that '$s.totals.slots == $s.totals.cycles * $s.totals.issue_width' "slots"
that '([$s.stacks.exact[].cycles] | add) == $s.totals.cycles' "the stack does not sum up"
that '[$s.trees.topdown[] | select(.level == 1).value] | add | . > 99.999999 and . < 100.000001' "the tree does not sum up"
that '([$s.functions[].cycles] | add) as $sum | $sum > $s.totals.cycles - 1 and $sum < $s.totals.cycles + 1' "functions do not sum up"
that '([$s.functions[].instructions] | add) == $s.totals.instructions' "instructions of functions do not sum up"
that '[$s.trees[][].source] | unique == ["exact, sampled", "simulated counters, sampled"]' "trees do not say it"
that '[$s, $full] | map(.events["Memory.Stores"]) | .[0] / .[1] | . > 0.98 and . < 1.02' "stores are not counted in all of the program"
that '[$s, $full] | map(.events["L1D.LoadMisses"]) | .[0] / .[1] | . > 0.7 and . < 1.4' "misses are not those of all of the program"
that '[$s, $full] | map(.functions[0].name) | .[0] == .[1]' "another hottest function"
stored=$(find "$work" -name sampled.fathom)
check "the stored result" "$fathom" report --json "$stored"
cmp -s "$work/.out" "$work/sampled.json" || complain "reads differently"
check "the stored result as text" "$fathom" report "$stored"
prints "IPC between" "with a confidence of 99.7 %" "windows of 1,000 instructions"

# ---- nothing depends on the machine -------------------------------------------------------------------
same() {
    cmp -s <(jq 'del(.host)' "$work/sampled.json") <(jq 'del(.host)' "$work/again.json") || complain "another result"
}
simulate "$work/again.json" -o none --sample=20000 -- gzip -6 -c
same
if command -v taskset >/dev/null; then
    check "one CPU only" sh -c 'in=$1; shift; exec "$@" <"$in"' - "$work/input" taskset -c 0 "${fixed[@]}" "$fathom" \
        run -q -o none --json "$work/again.json" --sample=20000 -- gzip -6 -c
    same
fi

# ---- short programs -----------------------------------------------------------------------------------
metrics=$tests/metrics/skl.json # some of them count edges
check "shorter than a period" "${fixed[@]}" "$fathom" run -q -o none --json "$work/sampled.json" --sample --metrics "$metrics" -- "$guests/acts-static" echo
exits 7
check "in full" "${fixed[@]}" "$fathom" run -q -o none --json "$work/full.json" --metrics "$metrics" -- "$guests/acts-static" echo
that '$s.run.source | test("simulated in full, as it is shorter than one --sample period of 200000 instructions")' "does not say so"
that '[$s, $full] | map(del(.host, .run.source, .sample, .stacks)) | .[0] == .[1]' "another result"
that '$s.sample.windows == 0 and $s.sample.measured == $full.totals.instructions' "not all of it was measured"
check "few windows" "${fixed[@]}" "$fathom" run -o none --sample=4000,500,500 -- "$guests/acts-static" echo
exits 7
says "windows were measured: their mean says little"

# ---- programs that do not end by themselves -----------------------------------------------------------
check "--max-instructions" "$fathom" run -q -o none --json "$work/sampled.json" --sample=20000 -n 1000000 -- /bin/sh -c 'while :; do :; done'
exits 0
says "stopped after --max-instructions 1000000"
that '$s.totals.instructions >= 1000000 and $s.totals.instructions < 1030000 and ($s.run.complete | not)' "limit"
check "interrupted" timeout -s INT 2 "$fathom" run -q -o none --json "$work/sampled.json" --sample -- /bin/sh -c 'while :; do :; done'
says "interrupted by signal 2"
that '$s.run.exit_status == 130 and $s.totals.instructions > 0' "interrupt"
check "killed" "$fathom" run -q -o none --json "$work/sampled.json" --sample=5000 -- "$guests/acts" crash
exits 139
says "was killed by signal 11"

finish
