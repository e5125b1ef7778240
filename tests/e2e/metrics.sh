#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq
# fathom run --metrics: a metric file in perf's schema, with Intel's event names, on the simulated counters.
set -euo pipefail
fathom=${FATHOM_BINARY:?}
guest=${FATHOM_GUESTS:?}/bare_loop
program=$(type -P sort)
here=${BASH_SOURCE[0]%/*}
[[ $here == /* ]] || here=$PWD/$here
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >intel.json <<'EOF'
[{"MetricName": "tma_frontend_bound", "MetricGroup": "TopdownL1", "ScaleUnit": "100%",
  "MetricExpr": "IDQ_UOPS_NOT_DELIVERED.CORE / (4 * CPU_CLK_UNHALTED.THREAD)"},
 {"MetricName": "tma_fetch_latency", "MetricGroup": "TopdownL2;tma_frontend_bound_group", "ScaleUnit": "100%",
  "MetricExpr": "cpu@IDQ_UOPS_NOT_DELIVERED.CORE\\,cmask\\=4@ / CPU_CLK_UNHALTED.THREAD"},
 {"MetricName": "tma_retiring", "MetricGroup": "TopdownL1", "ScaleUnit": "100%",
  "MetricExpr": "UOPS_RETIRED.RETIRE_SLOTS / (4 * CPU_CLK_UNHALTED.THREAD)"},
 {"MetricName": "tma_unknown", "MetricGroup": "TopdownL1", "MetricExpr": "NO_SUCH.EVENT / CPU_CLK_UNHALTED.THREAD"}]
EOF
"$fathom" run -q -o x.fathom --json x.json --metrics intel.json -- "$guest"
value() {
    jq -r --arg tree "$1" --arg path "$2" '.trees[$tree][] | select(.path == $path) | .value' x.json
}
failed=0
for path in "Frontend Bound" Retiring "Frontend Bound/Fetch Latency"; do
    if [[ $(value metrics "$path") != $(value topdown-counters "$path") ]]; then
        echo "FAILED: $path: $(value metrics "$path"), not $(value topdown-counters "$path")"
        failed=1
    fi
done
if [[ $(value metrics Unknown) != null ]]; then
    echo "FAILED: an event that does not exist gives $(value metrics Unknown), not \"not counted\""
    failed=1
fi
"$fathom" report x.fathom --all >report
grep -q '^Metrics (simulated counters)' report || {
    echo "FAILED: the stored result does not show the metrics"
    failed=1
}

# Edges: they come and go in turn, and each needs a cycle of its own.
cat >edges.json <<'EOF'
[{"MetricName": "tma_edges", "MetricExpr": "cpu@UOPS_EXECUTED.THREAD\\,cmask\\=1\\,edge@"},
 {"MetricName": "tma_falls", "MetricExpr": "cpu@UOPS_EXECUTED.THREAD\\,cmask\\=1\\,inv\\,edge\\=1@"},
 {"MetricName": "tma_cycles", "MetricExpr": "OpsExecuted:c1"}]
EOF
"$fathom" run -q -o none --json x.json --metrics edges.json -- "$guest"
jq -e '.trees.metrics | map(.value) as [$edges, $falls, $cycles]
    | $edges > 0 and $edges <= $cycles and ($edges - $falls | fabs) <= 1' x.json >/dev/null || {
    echo "FAILED: edges: $(jq -c '.trees.metrics | map(.value)' x.json)"
    failed=1
}

# Every node of the Top-Down trees that Linux' perf has for two processors, by their own event names.
for core in ivb skl; do
    file=$here/metrics/$core.json
    "$fathom" run -q -o none -n 2000000 --core $core --json x.json --metrics "$file" -- "$program" "$here/metrics/$core.json" >/dev/null
    jq -e --argjson n "$(grep -c '"MetricGroup"' "$file")" \
        '.trees.metrics | length == $n and all(.value != null)' x.json >/dev/null || {
        echo "FAILED: $core: not counted:" "$(jq -c '[.trees.metrics[] | select(.value == null) | .path]' x.json)"
        failed=1
    }
done

# Few counters: the same bytes twice and from the stored result; with counters for everything there is no error.
"$fathom" run -q -o x.fathom --json x.json --counters 4,1000 -- "$guest"
"$fathom" run -q -o none --json y.json --counters 4,1000 -- "$guest"
"$fathom" report --json x.fathom >z.json
for other in y.json z.json; do
    cmp <(jq 'del(.host)' x.json) <(jq 'del(.host)' $other) || failed=1
done
"$fathom" report x.fathom >report
grep -q '^Multiplexing (4 counters in turns of 1,000 cycles' report || {
    echo "FAILED: the report does not show the multiplexed tree"
    failed=1
}
jq -e '.multiplexing.groups > 2 and .trees["topdown-multiplexed"] != .trees["topdown-counters"]' x.json >/dev/null || {
    echo "FAILED: --counters 4 shows no multiplexing"
    failed=1
}
"$fathom" run -q -o none --json x.json --counters 64 --metrics intel.json -- "$guest"
jq -e '[.trees["metrics-multiplexed", "metrics"] | map([.path, .value])] | .[0] == .[1]' x.json >/dev/null || {
    echo "FAILED: with a counter for each event the trees differ"
    failed=1
}
for bad in 0 x 65 -1 4, 4,x 4,99 4,5000000000 ""; do
    status=0
    "$fathom" run -o bad.fathom --counters "$bad" -- "$guest" 2>messages || status=$?
    if [[ $status != 2 || -e bad.fathom ]] || ! grep -q -e '--counters' messages; then
        echo "FAILED: --counters '$bad': status $status: $(<messages)"
        failed=1
    fi
done

echo '[{"MetricName": "x", "MetricExpr": "1 +"}]' >bad.json
status=0
"$fathom" run -o bad.fathom --metrics bad.json -- "$guest" 2>messages || status=$?
if [[ $status != 125 || -e bad.fathom ]] || ! grep -q 'bad.json: metric x: MetricExpr, column 4' messages; then
    echo "FAILED: a bad expression: status $status"
    cat messages
    failed=1
fi
exit $failed
