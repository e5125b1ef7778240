#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq
# fathom run --metrics: a metric file in perf's schema, with Intel's event names, on the simulated counters.
set -euo pipefail
fathom=${FATHOM_BINARY:?}
guest=${FATHOM_GUESTS:?}/bare_loop
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
"$fathom" report x.fathom --all | grep -q '^Metrics (simulated counters)' || {
    echo "FAILED: the stored result does not show the metrics"
    failed=1
}

echo '[{"MetricName": "x", "MetricExpr": "1 +"}]' >bad.json
status=0
"$fathom" run -o bad.fathom --metrics bad.json -- "$guest" 2>messages || status=$?
if [[ $status != 125 || -e bad.fathom ]] || ! grep -q 'bad.json: metric x: MetricExpr, column 4' messages; then
    echo "FAILED: a bad expression: status $status"
    cat messages
    failed=1
fi
exit $failed
