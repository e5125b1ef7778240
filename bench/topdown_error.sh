#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The error of Top-Down: what the formulas make of counters, less the truth, for all examples and real programs.
#
#   bench/topdown_error.sh [--print] [--instructions N] [CORE...]
#
# Replaces the tables of docs/topdown-error.md (or prints them) for the cores (skl ivb). N instructions of each
# program (2000000). Some minutes a core. Exits with 1 if level 1 is off by more than 0.5 points anywhere.
set -euo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fathom=${FATHOM_BINARY:-$root/build/fathom}
examples=$(dirname "$fathom")/examples
page=$root/docs/topdown-error.md
metrics=$root/tests/e2e/metrics
instructions=2000000
print=no
cores=()

while (($#)); do
    case $1 in
    --print) print=yes ;;
    --instructions) instructions=$2 && shift ;;
    -h | --help) sed -n '3,8s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "bench/topdown_error.sh: no option $1; see --help" >&2 && exit 2 ;;
    *) cores+=("$1") ;;
    esac
    shift
done
((${#cores[@]})) || cores=(skl ivb)
for tool in "$fathom" "$examples/chase" jq; do
    command -v "$tool" >/dev/null || {
        echo "bench/topdown_error.sh: $tool is missing (build fathom and the examples; apt-get install jq)" >&2
        exit 125
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# measure CORE NAME PROGRAM...: NAME.json in the directory of the core
measure() {
    local core=$1 name=$2 options=()
    shift 2
    [[ ! -e $metrics/$core.json ]] || options=(--metrics "$metrics/$core.json")
    env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 "$fathom" run -q --core "$core" -n "$instructions" "${options[@]}" \
        -o none --json "$work/$core/$name.json" -- "$@" >/dev/null 2>"$work/messages" || {
        echo "bench/topdown_error.sh: $name ended with status $?: $(tail -3 "$work/messages")" >&2
        exit 125
    }
}

for core in "${cores[@]}"; do
    mkdir "$work/$core"
    echo "$core ..." >&2
    while IFS=$'\t' read -r program control _; do
        for line in "$program" "$control"; do
            read -ra words <<<"$line"
            name=${line// /-}
            [[ -e $work/$core/$name.json ]] || measure "$core" "$name" "$examples/${words[0]}" "${words[@]:1}"
        done
    done < <(grep -v '^#' "$root/tests/e2e/leaves.tsv")
    for program in "$examples"/matmul*; do
        [[ -x $program ]] && measure "$core" "${program##*/}" "$program"
    done
    options=()
    [[ ! -e $metrics/$core.json ]] || options=(--metrics "$metrics/$core.json")
    "$root/bench/programs.sh" --core "$core" --keep "$work/$core" "${options[@]}" --max-instructions "$instructions" \
        2>/dev/null
done

# Rows {path, level, core, program, truth, error, set} of every node that both trees have.
cat >"$work/rows.jq" <<'JQ'
{"DTLB Load": "DTLB Loads", "Store Fwd Blk": "Store Forward Blocked", "FB Full": "Fill Buffer Full",
 "L1 Latency Dependency": "L1 Latency", "DRAM Bound": "Ext. Memory Bound", "Store Bound": "Stores Bound",
 "DTLB Store": "DTLB Stores", "Serializing Operation": "Serializing", "Ports Utilization": "Ports",
 "Ports Utilized 0": "0 Ports Executing", "Ports Utilized 1": "1 Port Executing",
 "Ports Utilized 2": "2 Ports Executing", "Ports Utilized 3m": "3+ Ports Executing"} as $other
| input_filename as $file
| ($file | split("/")[-2:]) as [$core, $program]
| (.trees.topdown | map({(.path): .}) | add) as $truth
| (.trees["topdown-counters"] | map(. + {set: "paper"})) + (.trees.metrics // [] | map(. + {set: "perf"}))
| .[] | select(.value != null)
| (.path | split("/") | map($other[.] // .) | join("/")) as $path
| select($truth[$path])
| {path: $path, level, core: $core, program: ($program | rtrimstr(".json")), set,
   truth: $truth[$path].value, error: (.value - $truth[$path].value), unit}
JQ
for core in "${cores[@]}"; do
    for file in "$work/$core"/*.json; do
        jq -c -f "$work/rows.jq" "$file"
    done
done >"$work/rows.json"

# table SET: one row a node
table() {
    echo "| level | node | unit | mean truth | mean \\|error\\| | worst error | of |"
    echo "| ---: | --- | --- | ---: | ---: | ---: | --- |"
    jq -rs --arg set "$1" 'def r: . * 10 | round / 10 | if . == 0 then 0 else . end;
        [.[] | select(.set == $set)] | group_by(.path)
        | map({path: .[0].path, level: .[0].level, unit: (.[0].unit | ltrimstr("% ")),
               truth: (map(.truth) | add / length), mean: (map(.error | fabs) | add / length),
               worst: max_by(.error | fabs)})
        | sort_by(.level, -.mean, .path)[]
        | "| \(.level) | \(.path | gsub("/"; " › ")) | \(.unit) | \(.truth | r) | \(.mean | r) | \(.worst.error | r) | \(.worst.program), \(.worst.core) |"' \
        "$work/rows.json"
}

levels() {
    jq -rs 'def r: . * 100 | round / 100 | if . == 0 then 0 else . end;
        group_by([.set, .level])[] | (map(.error | fabs) | add / length) as $mean | max_by(.error | fabs) as $worst
        | "| \(.[0].set | if . == "paper" then "paper (built in)" else "Linux perf" end) | \(.[0].level) | \($mean | r) | \($worst.error | r) | \($worst.path | split("/")[-1]), \($worst.program), \($worst.core) |"' \
        "$work/rows.json"
}

worst=$(jq -rs '[.[] | select(.level == 1) | .error | fabs] | max' "$work/rows.json")
tables() {
    local programs=("$work/${cores[0]}"/*.json) list
    printf -v list '%s, ' "${cores[@]}"
    cat <<EOF
${#programs[@]} programs, ${instructions} instructions of each, cores ${list%, }. Points are per
cent of slots or clocks; an error is formula − truth.

| formulas | level | mean \\|error\\| | worst error | of |
| --- | ---: | ---: | ---: | --- |
$(levels)

### The paper's formulas, node by node

$(table paper)

### The formulas of Linux perf, node by node

$(table perf)
EOF
}

if [[ $print == yes ]]; then
    tables
else
    begin='<!-- begin: bench/topdown_error.sh -->' end='<!-- end -->'
    tables >"$work/tables"
    awk -v begin="$begin" -v end="$end" -v file="$work/tables" '
        $0 == begin { print; print ""; while ((getline line < file) > 0) print line; print ""; skip = 1 }
        $0 == end { skip = 0 }
        !skip && $0 != begin { print }' "$page" >"$work/page"
    cat "$work/page" >"$page"
fi
awk -v w="$worst" 'BEGIN { exit !(w > 0.5) }' && {
    echo "bench/topdown_error.sh: level 1 is off by $worst points" >&2
    exit 1
}
exit 0
