#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq gzip
# The contract of docs/json.md: names, types, and everything that must add up.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"

report=$work/report.json

# holds CLAIM EXPRESSION: all that the expression yields of the report is true
holds() {
    local said
    if ! said=$(jq -e "$prelude [$2] | length > 0 and all" "$report" 2>&1); then
        complain "$1 ($(head -c 300 <<<"$said"))"
    fi
}
prelude='
def near($a; $b; $tolerance): ($a - $b) | fabs <= $tolerance;
def count: type == "number" and . >= 0 and . == floor;
def text: type == "string" and length > 0;
def text_or_null: . == null or text;
def hex: type == "string" and test("^0x[0-9a-f]+$");
def share: . == null or (type == "number" and . >= 0 and . <= 1 + 1e-9);
def positive: . == null or (type == "number" and . >= 0);
def slots: [.retiring, .bad_speculation, .frontend_bound, .memory_bound, .core_bound];
def weight: (.cycles | positive) and (.share | share) and (.instructions | count) and (.ipc | positive)
    and (.tree | slots | all(. == null) or near(add; 100; 1e-9));
def children($tree): .path as $up | (.level + 1) as $level
    | [$tree[] | select(.level == $level and (.path | startswith($up + "/")))];
'

check_names() {
    holds "the top level has its keys" '["fathom", "schema_version", "run", "totals", "trees", "stacks",
        "functions", "modules", "places_total", "places", "events", "verdict", "unknown_instructions",
        "nondeterminism", "host"] - keys == []'
    holds "fathom is a version" '.fathom | test("^[0-9]+\\.[0-9]+\\.[0-9]+")'
    holds "schema_version" '.schema_version == 1'
    holds "run" '.run | (.command | text) and (.core | text) and .source == "simulated" and (.core_text | text)
        and (.guest_cpu | text) and (.exit_status | count) and (.complete | type) == "boolean"
        and (.incomplete_why | text_or_null) and (.complete == (.incomplete_why == null))'
    holds "totals" '.totals | [.instructions, .cycles, .issue_width, .slots, .uops_retired, .uops_issued] | all(count)'
    holds "the trees" '.trees | (keys | contains(["topdown", "topdown-counters"])) and all(type == "array" and length > 0)'
    holds "nodes" '.trees[] | all((.name | text) and (.path | text) and (.level | count) and (.value | positive)
        and (.unit | text) and (.flagged | type) == "boolean" and (.source | text) and (.hint | text_or_null))'
    holds "the stacks" '.stacks | has("exact") and all(type == "array" and length > 0)'
    holds "components" '.stacks[] | all((.component | text) and (.cycles | positive) and (.cpi | positive))'
    holds "functions" '.functions | length > 0 and all((.name | text) and (.module | text_or_null) and (.entry | hex)
        and (.file | text_or_null) and (.line == null or (.line | count)) and weight)'
    holds "places" '.places | length > 0 and length <= 200 and all((.address | hex) and (.offset | hex)
        and (.module | text_or_null) and (.function | text) and (.text | text_or_null) and weight)'
    holds "modules" '.modules | all((.path | text) and (.build_id == null or (.build_id | test("^[0-9a-f]+$"))))'
    holds "events" '.events | length > 0 and all(count)'
    holds "verdict" '.verdict | (.text | text) and has("next")'
    holds "unknown instructions and reasons" '.unknown_instructions, .nondeterminism
        | all((.name | text) and (.count | count) and .count > 0 and (.note | text_or_null))'
    holds "host" '.host | length > 0 and all(type == "string")'
}

check_sums() {
    holds "slots are width times cycles" '.totals | .slots == .issue_width * .cycles'
    holds "IPC and CPI" '.totals | near(.ipc * .cycles; .instructions; 1e-6) and near(.ipc * .cpi; 1; 1e-9)'
    holds "no more uops retired than issued" '.totals | .uops_retired <= .uops_issued'
    holds "level 1 sums to 100" '.trees.topdown | near(map(select(.level == 1).value) | add; 100; 1e-9)'
    holds "level 1 has the four categories" '.trees[] | [.[] | select(.level == 1).name] | sort
        == ["Backend Bound", "Bad Speculation", "Frontend Bound", "Retiring"]'
    holds "children sum to their parents" '.trees.topdown as $t | $t | map(select(children($t) | length > 0)
        | select(near(.value; children($t) | map(.value) | add; 1e-9) | not).path) | . == []'
    holds "level 1 of the counters sums to 100" '.trees["topdown-counters"] | near(map(select(.level == 1).value) | add; 100; 1e-6)'
    holds "Retiring is the retired slots" '.totals as $n | .trees.topdown[] | select(.path == "Retiring")
        | near(.value; 100 * $n.uops_retired / $n.slots; 1e-9)'
    holds "paths are unique, end in the name and have the level's depth" '.trees[] | (map(.path) | unique | length) as $n
        | length == $n and all((.path | split("/")) as $p | $p[-1] == .name and ($p | length) == .level)'
    holds "parents stand before their children" '.trees[] | [.[].path] as $paths | range(length) as $i
        | ($paths[$i] | split("/")[:-1] | join("/")) as $up | $up == "" or ($paths[:$i] | index($up) != null)'
    holds "a flagged node has flagged parents" '.trees[] | [.[] | select(.flagged).path] as $f
        | all($f[]; (split("/")[:-1] | join("/")) as $up | $up == "" or ($f | index($up) != null))'
    holds "stacks sum to the cycles" '.totals.cycles as $c | .stacks[] | near(map(.cycles) | add; $c; 1e-6)'
    holds "stacks sum to the CPI" '.totals.cpi as $c | .stacks[] | near(map(.cpi) | add; $c; 1e-9)'
    holds "the functions' cycles sum to the total" '.totals.cycles as $c | near([.functions[].cycles] | add; $c; 1e-6)'
    holds "the functions' instructions sum to the total" '.totals.instructions as $n | ([.functions[].instructions] | add) == $n'
    holds "the functions' shares sum to 1" 'near([.functions[].share] | add; 1; 1e-9)'
    holds "most cycles first" '[.functions[].cycles] | . == (sort | reverse)'
    holds "places are within the total" '.totals.cycles as $c | ([.places[].cycles] | add) <= $c + 1e-6'
    holds "functions are listed once" '[.functions[] | [.module, .entry, .name]] | length == (unique | length)'
    holds "unknown instructions are among the instructions" '.totals.instructions as $n
        | ([.unknown_instructions[].count] | add // 0) <= $n'
    holds "less than 1 GiB of memory" '.host.peak_memory_mib | tonumber < 1024'
}

# contract NAME STATUS OPTION... -- PROGRAM...
contract() {
    local what=$1 want=$2
    shift 2
    check "$what" "$fathom" run -q -o x.fathom --json "$report" "$@"
    exits "$want"
    check_names
    check_sums
    "$fathom" report --json "$here/x.fathom" 2>"$work/.err" | cmp -s - "$report" || complain "fathom report --json gives another text"
}

for core in snb ivb hsw bdw skl; do
    contract "dynamic program on $core" 7 --core $core -- "$guests/acts" echo
    holds "the core" ".run.core == \"$core\""
done
contract "other widths, stages" 7 --stages --set rob_entries=64 --set issue_width=3 -- "$guests/acts" echo
holds "the changed value is kept" '.run.core_text | test("rob_entries *= *64")'
holds "the changed width" '.totals.issue_width == 3'
holds "four stacks" '.stacks | keys == ["exact", "execute", "rename", "retire"]'
holds "the same Base in every stage" '[.stacks | (.rename, .execute, .retire)[] | select(.component == "Base").cycles] | max - min < 5'
contract "static program" 7 -- "$guests/acts-static" echo
contract "program without C library" 0 -- "$guests/bare_copy"
holds "its function" '[.functions[].name] | index("_start") != null'
contract "loop" 0 -- "$guests/bare_loop"
holds "nothing but loop" '.places[0].text | test("^(dec|jn[ze])")'
contract "crash" 139 -- "$guests/acts" crash
holds "not complete" '.run.complete == false and (.run.incomplete_why | test("signal 11"))'
contract "three instructions" 132 -- "$guests/bare_avx512"
contract "limit" 0 -n 20000 -- "$guests/bare_loop"
holds "not complete" '.run.complete == false and .totals.instructions >= 20000 and .totals.instructions < 100000'
contract "generated code" 0 -- "$guests/acts" modify
holds "code outside files" '[.functions[] | select(.module == null)] | length > 0'
contract "names that are no UTF-8" 7 -- "$guests/acts" echo $'\xff"\\\x01' "tab	newline
"
holds "the command is kept" '.run.command | test("echo .\"\\\\")'
seq 1 3000 >"$work/input"
contract "gzip" 0 -- gzip -c "$work/input"
holds "the library" '[.modules[].path] | map(test("libc.so")) | any'

finish
