#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq gzip
# fathom run --ideal and --compare-cores: what is simulated beside the real core changes nothing of it, the
# figures are those of separate runs, each removal helps the program that is bound by what it removes.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"
examples=$FATHOM_BINARY_DIR/examples
seq 1 3000 >"$work/input"
fixed=(env -i "PATH=$PATH")
every=l1,l2,l3,memory,tlb,branch,icache,frontend,ports,window

# simulate FILE OPTION... -- PROGRAM...: the report as JSON
simulate() {
    local file=$1
    shift
    check "${*//$work\//}" "${fixed[@]}" "$fathom" run -q -o none --json "$file" "$@"
    [[ -s $file ]] || complain "no report"
}

# real FILE: the report without what was asked for besides
real() {
    jq 'del(.host, .ideal, .cores)' "$1"
}

# holds FILE CLAIM EXPRESSION
holds() {
    jq -e "$3" "$1" >/dev/null || complain "$2 ($(jq -c '.ideal, .cores' "$1" | head -c 600))"
}

# --- nothing of the real simulation changes -----------------------------------------------------
beside() {
    simulate "$work/alone.json" "$@"
    simulate "$work/beside.json" --ideal "$every" --compare-cores ivb,skl "$@"
    cmp -s <(real "$work/alone.json") <(real "$work/beside.json") || complain "the real simulation differs"
    holds "$work/alone.json" "nothing unasked" '(has("ideal") or has("cores")) | not'
    holds "$work/beside.json" "a row each and one for all" \
        "[.ideal[].name] == (\"$every,together\" | split(\",\"))"
    holds "$work/beside.json" "the cores" '[.cores[].name] == ["ivb", "skl"] and [.cores[].self] == [false, true]'
}
beside -- "$guests/bare_copy"
beside -- "$guests/bare_rep"
beside -- "$guests/acts" echo
beside -- "$guests/acts" modify
beside -- "$guests/acts" crash
beside -n 20000 -- "$guests/bare_loop"
holds "$work/beside.json" "all stop" '[.ideal[], .cores[]] | all(.instructions >= 20000 and .instructions < 100000)'
beside -n 300000 -- /bin/sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done'
beside -- gzip -c "$work/input"
exact='.totals as $t | [.ideal[]] | all(.instructions == $t.instructions
    and ((.speedup - $t.cycles / .cycles) | fabs) < 1e-9)'
holds "$work/beside.json" "every lane executes the whole program" "$exact"
holds "$work/beside.json" "less to wait for, less time" '.ideal | all(.speedup > 0.99)'
holds "$work/beside.json" "together gains most" '.ideal | (map(.speedup) | max) == .[-1].speedup'
holds "$work/beside.json" "the core of the run is the run" '.totals.cycles as $c | .cores[] | select(.self) | .cycles == $c'
holds "$work/beside.json" "trees sum to 100" '[.cores[] | [.topdown[] | select(.level == 1).value] | add | . - 100 | fabs] | max < 1e-9'
cp "$work/beside.json" "$work/first.json"
simulate "$work/beside.json" --ideal "$every" --compare-cores ivb,skl -- gzip -c "$work/input"
cmp -s <(jq 'del(.host)' "$work/first.json") <(jq 'del(.host)' "$work/beside.json") || complain "two runs differ"

# --- another core beside is that core alone --------------------------------------------------------
guest=$("$fathom" cores show skl | sed -n 's/^guest_cpu *= //p')
simulate "$work/beside.json" --compare-cores hsw,bdw -- "$guests/acts" echo
holds "$work/beside.json" "the core of the run comes first" '[.cores[].name] == ["skl", "hsw", "bdw"]'
for core in hsw bdw; do
    simulate "$work/alone.json" --core $core --set "guest_cpu=$guest" -- "$guests/acts" echo
    jq -e --slurpfile alone "$work/alone.json" --arg core $core '.cores[] | select(.name == $core)
        | .cycles == $alone[0].totals.cycles and .instructions == $alone[0].totals.instructions
          and .topdown == $alone[0].trees.topdown' "$work/beside.json" >/dev/null || complain "$core beside differs from $core alone"
done
simulate "$work/beside.json" --set rob_entries=64 --compare-cores skl -- "$guests/bare_copy"
holds "$work/beside.json" "a changed core beside the built-in one" '[.cores[].name] == ["skl, set", "skl"]'

# --- reports and stored results ----------------------------------------------------------------------
check "text" "${fixed[@]}" "$fathom" run -o a.fathom --json a.json --ideal memory,branch --compare-cores ivb -- "$guests/acts" echo
exits 7
says "What if" "memory" "Memory Bound" "together" "Cores (the same execution)" "ivb"
cp "$here/a.fathom" "$here/a.json" "$work"
check "stored" "$fathom" report --json "$work/a.fathom"
cmp -s "$work/.out" "$work/a.json" || complain "fathom report --json differs from fathom run --json"
check "stored, as text" "$fathom" report "$work/a.fathom"
prints "What if" "memory" "Cores (the same execution)"
check "one removal has no row for all" "${fixed[@]}" "$fathom" run -o none --ideal memory -- "$guests/bare_copy"
says "memory"
! grep -q together "$work/.err" || complain "a row for all"
if command -v sqlite3 >/dev/null; then
    check "a result from before" sqlite3 "$work/a.fathom" "DROP TABLE ideal; DROP TABLE core_node; DROP TABLE core"
    check "a result from before" "$fathom" report "$work/a.fathom"
    exits 0
fi

# --- words that mean nothing -------------------------------------------------------------------------
wrong() {
    check "$*" "$fathom" run -o none "$@" -- "$guests/bare_copy"
    exits 2
    [[ $(wc -l <"$work/.err") -le 2 ]] || complain "more than a sentence"
    leaves
}
wrong --ideal gravity && says "gravity" "l1, l2, l3, memory, tlb, branch, icache, frontend, ports, window"
wrong --ideal "" && says "knows no ''"
wrong --ideal l1, && says "knows no ''"
wrong --ideal l1,tlb,l1 && says "'l1' twice"
wrong --ideal l1 --ideal l1 && says "'l1' twice"
wrong --compare-cores pentium && says "pentium" "snb, ivb, hsw, bdw, skl"
wrong --compare-cores ivb,ivb && says "'ivb' twice"
wrong --compare-cores skl && says "only skl"
wrong --compare-cores ivb --compare-cores hsw && says "--compare-cores twice"
wrong --set ports=16 --ideal ports && says "16 ports"

# --- each removal helps what is bound by it ------------------------------------------------------------
# gains "PROGRAM ARGUMENT" KIND AT_LEAST [OTHER AT_MOST]...
gains() {
    local program kind=$2 least=$3 others="" expression
    read -ra program <<<"$1"
    shift 3
    expression="(.ideal[] | select(.name == \"$kind\").speedup >= $least)"
    while (($# > 1)); do
        others+=,$1
        expression+=" and (.ideal[] | select(.name == \"$1\").speedup <= $2)"
        shift 2
    done
    simulate "$work/gain.json" -n 600000 --ideal "$kind$others" -- "$examples/${program[0]}" "${program[@]:1}"
    holds "$work/gain.json" "$expression" "$expression"
}
if [[ -x $examples/chase ]]; then
    gains "chase l2" l1 1.5 l2 1.3 branch 1.2
    gains "chase-memory" memory 3 window 1.1
    gains "branch" branch 2 memory 1.2 ports 1.2
    gains "code-l1i" icache 1.5 tlb 1.2 memory 1.2
    gains "code-itlb" tlb 1.5 icache 1.4
    gains "code-mite" frontend 1.3 memory 1.3
    gains "load-ports" ports 1.05 window 1.1
    gains "lcp" frontend 3 branch 1.2
else
    skip "the examples are not built: ninja examples"
fi

finish
