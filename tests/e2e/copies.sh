#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq gzip
# fathom run --copies: sums over the copies are exact, one copy is the plain run, results repeat, and sharing
# shows where it should: a set that fits the L3 alone no longer does, latency of memory becomes bandwidth.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"
examples=$FATHOM_BINARY_DIR/examples
seq 1 1000 >"$work/input"
fixed=(env -i "PATH=$PATH")

# simulate FILE OPTION... -- PROGRAM...: the report as JSON
simulate() {
    local file=$1
    shift
    check "${*//$work\//}" "${fixed[@]}" "$fathom" run -q -o none --json "$file" "$@"
    [[ -s $file ]] || complain "no report"
}

# holds FILE CLAIM EXPRESSION
holds() {
    jq -e "$prelude $3" "$1" >/dev/null || complain "$2 ($(jq -c '.copies.rows[] | del(.topdown)' "$1" | head -c 900))"
}
prelude='
def alone: .copies.rows[] | select(.alone);
def copies: [.copies.rows[] | select(.alone | not)];
def node($name): first(.topdown[] | select(.name == $name)).value;
def total($name): first(.trees.topdown[] | select(.name == $name)).value;
def near($a; $b; $tolerance): ($a - $b) | fabs <= $tolerance;
'

# sums FILE N: everything that must add up
sums() {
    holds "$1" "the rows" '[.copies.rows[].name] == ["alone"] + [range(1; '"$2"' + 1) | tostring]'
    holds "$1" "starts" '(alone.starts_at == 0) and ([copies[].starts_at] | . == sort and .[0] == 0 and (unique | length) == length)'
    holds "$1" "instructions and cycles are sums" '(.totals.instructions == ([copies[].instructions] | add))
        and (.totals.cycles == ([copies[].cycles] | add))'
    holds "$1" "events, stack and functions are of all copies" '(.events["Instructions"] // .totals.instructions) == .totals.instructions
        and near([.stacks.exact[].cycles] | add; .totals.cycles; 1e-3)
        and near([.functions[].cycles] | add; .totals.cycles; 1e-3)
        and ([.functions[].instructions] | add) == .totals.instructions'
    holds "$1" "slots of every node are sums" '.totals.cycles as $cycles | [.copies.rows[] | select(.alone | not)] as $rows
        | [.trees.topdown[] | .path as $path | .value as $value
            | near([$rows[] | .cycles as $c | (.topdown[] | select(.path == $path)).value * $c] | add; $value * $cycles; $cycles * 1e-7)] | all'
    holds "$1" "trees sum to 100" '[.copies.rows[] | [.topdown[] | select(.level == 1).value] | add | near(.; 100; 1e-9)] | all'
    holds "$1" "slow-down and throughput" '(alone | .cycles / .instructions) as $cpi
        | ([.copies.rows[] | near(.slowdown; .cycles / .instructions / $cpi; 1e-9)] | all)
        and near(.copies.throughput; [copies[] | 1 / .slowdown] | add; 1e-9)'
}

# --- one copy is the plain run ---------------------------------------------------------------------
for command in "$guests/acts echo" "gzip -c $work/input"; do
    read -ra words <<<"$command"
    simulate "$work/plain.json" -- "${words[@]}"
    plain_status=$status
    simulate "$work/one.json" --copies 1 -- "${words[@]}"
    exits "$plain_status"
    cmp -s <(jq 'del(.host)' "$work/plain.json") <(jq 'del(.host, .copies)' "$work/one.json") || complain "one copy differs from the plain run"
    sums "$work/one.json" 1
    holds "$work/one.json" "nothing is shared" '(alone | del(.name, .alone)) == (copies[0] | del(.name, .alone)) and .copies.throughput == 1'
    jq -e 'has("copies") | not' "$work/plain.json" >/dev/null || complain "copies unasked"
done

# --- several: each executes everything, output once, the same twice ---------------------------------
simulate "$work/four.json" --copies 4 -- gzip -c "$work/input"
gzip -c "$work/input" | cmp -s - "$work/.out" || complain "the program's output is not that of one run"
sums "$work/four.json" 4
jq -e --slurpfile plain "$work/plain.json" "$prelude"' [.copies.rows[]] | all(.instructions == $plain[0].totals.instructions)' \
    "$work/four.json" >/dev/null || complain "a copy does not execute the whole program"
jq -e --slurpfile plain "$work/plain.json" "$prelude"' alone | .cycles == $plain[0].totals.cycles and .topdown == $plain[0].trees.topdown' \
    "$work/four.json" >/dev/null || complain "the one alone is not the plain run"
holds "$work/four.json" "a program in its own caches scales" '.copies.throughput > 3.6 and .copies.throughput <= 4.01'
cp "$work/four.json" "$work/first.json"
simulate "$work/four.json" --copies 4 -- gzip -c "$work/input"
cmp -s <(jq 'del(.host)' "$work/first.json") <(jq 'del(.host)' "$work/four.json") || complain "two runs differ"
simulate "$work/crash.json" --copies 2 -- "$guests/acts" crash
sums "$work/crash.json" 2
simulate "$work/rep.json" --copies 3 -- "$guests/bare_rep"
sums "$work/rep.json" 3
simulate "$work/limit.json" --copies 3 -n 30000 -- "$guests/bare_loop"
sums "$work/limit.json" 3
holds "$work/limit.json" "all stop" '[.copies.rows[].instructions] | all(. >= 30000 and . < 60000)'

# --- reports and stored results ----------------------------------------------------------------------
check "text" "${fixed[@]}" "$fathom" run -o a.fathom --json a.json --copies 2 -- "$guests/acts" echo
exits 7
says "copies 2;" "Copies (on cores that share L3 and memory" "alone" "2 copies do the work of"
cp "$here/a.fathom" "$here/a.json" "$work"
check "stored" "$fathom" report --json "$work/a.fathom"
cmp -s "$work/.out" "$work/a.json" || complain "fathom report --json differs from fathom run --json"
check "stored, as text" "$fathom" report "$work/a.fathom"
prints "Copies (on cores that share L3 and memory" "2 copies do the work of"

# --- what makes no sense -------------------------------------------------------------------------------
wrong() {
    check "$*" "$fathom" run -o none "$@" -- "$guests/bare_copy"
    exits 2
    [[ $(wc -l <"$work/.err") -le 2 ]] || complain "more than a sentence"
    [[ ! -s $work/.out ]] || complain "something on standard output"
    leaves
}
for n in 0 x -1 17 1.5 "" 4x; do
    wrong --copies "$n" && says "--copies" "from 1 to 16" "'$n'"
done
wrong --copies 2 --ideal l1 && says "--copies" "--ideal"
wrong --compare-cores ivb --copies 2 && says "--copies" "--compare-cores"
check "too little memory" bash -c 'ulimit -v 120000; exec "$0" run -o none --copies 16 -- "$1"' "$fathom" "$guests/bare_copy"
refused 125 "--copies 16 needs about" "MiB" "ulimit -v"

# --- sharing --------------------------------------------------------------------------------------------
if [[ -x $examples/updates ]]; then
    # a set of 1 MiB in 2 MiB of L3: alone it hits, four evict one another's lines
    simulate "$work/share.json" --core ivb --set l3_size=2MiB --copies 4 -n 700000 -- "$examples/chase" l3
    sums "$work/share.json" 4
    holds "$work/share.json" "alone: L3 Bound" '(alone | node("L3 Bound") > 50 and node("Ext. Memory Bound") < 10)'
    holds "$work/share.json" "four: Ext. Memory Bound" '(total("L3 Bound") < 15 and total("Ext. Memory Bound") > 60)'
    holds "$work/share.json" "every copy suffers" '[copies[].slowdown] | all(. > 2)'
    # random updates: latency alone; the channel is full with eight
    simulate "$work/share.json" --core ivb --copies 8 -n 300000 -- "$examples/updates"
    sums "$work/share.json" 8
    holds "$work/share.json" "alone: MEM Latency" '(alone | node("MEM Latency") > node("MEM Bandwidth"))'
    holds "$work/share.json" "eight: MEM Bandwidth" '(total("MEM Bandwidth") > 3 * total("MEM Latency"))'
    holds "$work/share.json" "the copies share evenly" '[copies[].cycles] | max < 1.03 * min'
    # streams that fill the channel alone gain nothing from four
    simulate "$work/share.json" --core ivb --copies 4 -n 500000 -- "$examples/triad"
    holds "$work/share.json" "no more than the channel gives" '.copies.throughput < 1.8'
    # independent misses: one alone leaves half of the channel
    simulate "$work/share.json" --core ivb --copies 4 -n 350000 -- "$examples/gather"
    holds "$work/share.json" "twice as many" '.copies.throughput > 1.7 and .copies.throughput < 2.6'
else
    skip "the examples are not built: ninja examples"
fi

finish
