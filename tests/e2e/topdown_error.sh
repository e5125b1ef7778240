#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq
# Level 1 of Top-Down by counters, with the built-in formulas and with those of Linux' perf, is the truth within 0.5
# points, whatever the program is bound by. Deeper levels are in docs/topdown-error.md.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"
examples=$FATHOM_BINARY_DIR/examples
[[ -x $examples/chase ]] || skip_all "the examples are not built: ninja examples"
metrics=${BASH_SOURCE[0]%/*}/metrics
[[ $metrics == /* ]] || metrics=$OLDPWD/$metrics

failed=0 checked=0
level_1() { # CORE PROGRAM...
    local core=$1 complaints
    shift
    "$fathom" run -q --core "$core" -n 250000 -o none --json result.json --metrics "$metrics/$core.json" -- "$@" \
        <"$metrics/$core.json" >/dev/null 2>messages || {
        echo "FAILED: $core, $*: status $?: $(<messages)"
        failed=1
        return 0
    }
    complaints=$(jq -r '(.trees.topdown | map(select(.level == 1) | {(.path): .value}) | add) as $truth
        | (if $truth | length == 4 then empty else "the exact tree has \($truth | length) nodes on top" end),
          (("topdown-counters", "metrics") as $tree | .trees[$tree] | map(select(.level == 1)) as $top
           | (if $top | length == 4 then empty else "\($tree) has \($top | length) nodes on top" end),
             ($top[] | (.value - $truth[.path]) as $error | select(.value == null or ($error | fabs) > 0.5)
              | "\($tree): \(.path) is \(.value), off by \($error)"))' result.json)
    [[ -z $complaints ]] || {
        echo "FAILED: $core, $*: $complaints"
        failed=1
    }
    checked=$((checked + 1))
}

for core in skl ivb; do
    for program in branch code-l1i microcode lock alias-4k store-stream divider; do
        level_1 $core "$examples/$program"
    done
    level_1 $core "$examples/chase" pages
    level_1 $core "$(type -P sort)"
done
((checked == 18)) || failed=1
exit $failed
