#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq
# fathom loop --from-run: the loops of a program that was run, beside their predictions.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"
examples=$FATHOM_BINARY_DIR/examples
[[ -x $examples/matmul && -x $examples/triad && -x $examples/branch && -x $examples/chase &&
    -x $examples/alias-4k ]] ||
    skip_all "the examples are not built: ninja examples"

# holds EXPRESSION: true of the JSON that was printed
holds() {
    local result
    result=$(jq -r "$1" "$work/.out" 2>&1)
    [[ $result == true ]] || complain "not true: $1 (${result:0:200})"
}

# Parts sum to the whole, in each column and along each row.
adds_up='[.loops[] | (if .why_not then .program else .program, .prediction, .difference end)
    | select(.cycles) | (.cycles - ([to_entries[] | select(.key != "cycles") | .value] | add)) | fabs < 1e-6] | all'
rows='[.loops[] | select(.why_not == null) | . as $l | .program | keys[]
    | ($l.program[.] - $l.prediction[.] - $l.difference[.]) | fabs < 1e-6] | all'

run() {
    "$fathom" run -q -o "$work/$1.fathom" "${@:2}" >/dev/null 2>&1
}
cp "$examples/matmul" app
run matmul -- ./app 64 64
run triad -n 2000000 -- "$examples/triad"
run branch -n 2000000 -- "$examples/branch"
run l1 -n 1000000 -- "$examples/chase" l1
run alias -n 1000000 -- "$examples/alias-4k"

# --- the product of two 64 x 64 matrices: 64^3 iterations in the inner loop, faster than without end
check "matmul" "$fathom" loop --from-run "$work/matmul.fathom"
exits 0
prints "1 63" "262144" "multiply, matmul.c:" "0x" "Loop: At least 4 cycles per iteration" "Try: "
check "matmul as JSON" "$fathom" loop --from-run "$work/matmul.fathom" --json
exits 0
holds '.loops | length == 10'
holds '.loops[0] | .function == "multiply" and .iterations == 262144 and .why_not == null'
holds '.loops[0] | .share > 0.3 and .share < 1 and .program.cycles > 1.5 and .program.cycles < 4'
holds '.loops[0].prediction.cycles == 4'
holds '[.loops[].share] == ([.loops[].share] | sort | reverse)'
holds '(.share - ([.loops[].share] | add)) | fabs < 1e-9'
holds '.not_searched == []'
holds "$adds_up"
holds "$rows"
cp "$work/.out" "$work/first"
check "matmul again" "$fathom" loop --from-run "$work/matmul.fathom" --json
cmp -s "$work/first" "$work/.out" || complain "other bytes the second time"

# --- the sum of its places is what the profile says
"$fathom" report "$work/matmul.fathom" --json >"$work/report.json"
check "shares" jq -n --slurpfile loops "$work/first" --slurpfile report "$work/report.json" \
    '$loops[0].loops[0] as $l
     | [$report[0].places[] | select(.module == $l.module)
        | (.offset | ltrimstr("0x") | explode | reduce .[] as $c (0; . * 16 + (if $c > 96 then $c - 87 else $c - 48 end))) as $o
        | select($o >= $l.start and $o < $l.end) | .cycles] | add as $sum
     | ($sum - $l.cycles) | fabs < 1e-6'
prints true

# --- choices
check "one loop" "$fathom" loop --from-run "$work/matmul.fathom" -n 1 --json
holds '.loops | length == 1'
check "a function" "$fathom" loop --from-run "$work/matmul.fathom" --function multiply --json
holds '[.loops[].function] | unique == ["multiply"]'
check "another core" "$fathom" loop --from-run "$work/matmul.fathom" -n 1 --core snb
exits 0
prints "predictions for snb" "core of your own choice"

# --- causes
check "data in L1" "$fathom" loop --from-run "$work/l1.fathom" -n 1 --json
holds '.loops[0] | .prediction.cycles == 4 and (.difference.cycles | fabs < 0.01)'
holds '.loops[0].verdict | contains("as predicted")'
check "4K aliasing" "$fathom" loop --from-run "$work/alias.fathom" -n 1 --json
holds '.loops[0] | .difference.cycles > 4 and .difference.memory > 0.9 * .difference.cycles'
check "memory" "$fathom" loop --from-run "$work/triad.fathom" -n 1 --json
holds '.loops[0] | .difference.cycles > 2 and .difference.memory > 0.5 * .difference.cycles'
holds '.loops[0].verdict | contains("mostly memory")'
holds '.complete == false'
holds "$adds_up"
holds "$rows"
check "bad speculation" "$fathom" loop --from-run "$work/branch.fathom" -n 1
exits 0
prints "No prediction: an inner branch at" "are bad speculation" "mispredicted"

# --- what is wrong with the input
check "missing result" "$fathom" loop --from-run nope.fathom
refused 125 "nope.fathom"
check "no result" "$fathom" loop --from-run "$examples/matmul"
refused 125 "is not a fathom result"
check "no such function" "$fathom" loop --from-run "$work/matmul.fathom" --function nosuch
refused 125 "no loop that was executed matches"
check "two inputs" "$fathom" loop --from-run "$work/matmul.fathom" --hex 90
exits 2
says "one input at a time"
check "timeline" "$fathom" loop --from-run "$work/matmul.fathom" --timeline 2
exits 2
check "--set alone" "$fathom" loop --from-run "$work/matmul.fathom" --set rob=100
exits 2
says "needs --core"
check "--loops alone" "$fathom" loop --loops 3 --hex 90
exits 2
check "no core" "$fathom" loop --from-run "$work/matmul.fathom" --core i386
exits 2
cp "$examples/triad" "$work/app"
check "changed file" "$fathom" loop --from-run "$work/matmul.fathom" --json
exits 0
says "app: is not the file that was run"
holds '(.not_searched | length) == 1 and (.loops | length) > 0 and ([.loops[].module | contains("/app")] | any | not)'
rm "$work/app"
check "removed file" "$fathom" loop --from-run "$work/matmul.fathom"
exits 0
says "app: is not there any more"
check "full disk" "$fathom" loop --from-run "$work/matmul.fathom" --json=/dev/full
exits 125
finish
