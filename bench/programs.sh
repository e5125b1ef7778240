#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Eight unmodified Debian programs through fathom run: the tables of docs/programs.md.
#
#   bench/programs.sh [--core NAME] [--print] [NAME...]
#   bench/programs.sh [--core NAME] --keep DIR [--metrics FILE] [--max-instructions N] [NAME...]
#
# The second form only puts NAME.json of each program into DIR.
# Without --print the tables of docs/programs.md are replaced; with names only these programs run, and their
# rows are printed. Some minutes for all. The figures depend on the versions of the programs and of the C library, and the
# speed on the machine; everything else repeats.
set -euo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fathom=${FATHOM_BINARY:-$root/build/fathom}
page=$root/docs/programs.md
core=skl
print=no
keep=
options=()
only=" "

while (($#)); do
    case $1 in
    --core) core=$2 && shift ;;
    --print) print=yes ;;
    --keep) keep=$(cd "$2" && pwd) && shift ;;
    --metrics) options+=(--metrics "$(realpath "$2")") && shift ;;
    --max-instructions) options+=(-n "$2") && shift ;;
    -h | --help) sed -n '3,13s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "bench/programs.sh: no option $1; see --help" >&2 && exit 2 ;;
    *) only+="$1 " && print=yes ;;
    esac
    shift
done
for tool in "$fathom" jq awk sqlite3; do
    command -v "$tool" >/dev/null || {
        echo "bench/programs.sh: $tool is missing (build fathom; apt-get install jq sqlite3)" >&2
        exit 125
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# shellcheck source=programs.bash
source "$root/bench/programs.bash"
programs__inputs

rows_1="" rows_2="" rows_3="" worst=0

node() { # PATH
    jq -r --arg path "$1" '.trees.topdown[] | select(.path == $path) | .value * 10 | round / 10' result.json
}

percent() {
    printf '%.1f' "$1"
}

# measure NAME SHOWN COMMAND...: one row of each table
measure() {
    local name=$1 shown=$2 row flagged
    shift 2
    [[ $only == " " || $only == *" $name "* ]] || return 0
    echo "$name ..." >&2
    programs__run "$fathom" run -q --core "$core" "${options[@]}" -o none --json result.json -- "$@" >out 2>err || {
        echo "bench/programs.sh: $name ended with status $?: $(tail -3 err)" >&2
        exit 125
    }
    jq -r '"    \(.totals.instructions) instructions, IPC \(.totals.ipc), \(.host.million_instructions_per_second) M/s"' result.json >&2
    if [[ $keep ]]; then
        cp result.json "$keep/$name.json"
        return 0
    fi
    row="| $name | \`$shown\` |"
    row+=$(jq -r '.totals | " \(.instructions / 1e6 * 100 | round / 100) | \(.cycles / 1e6 * 100 | round / 100) | \(.ipc * 100 | round / 100) |"' result.json)
    row+=" $(jq -r '.host.million_instructions_per_second | tonumber * 10 | round / 10' result.json) |"
    rows_1+=$row$'\n'
    row="| $name |"
    for path in "Frontend Bound" "Frontend Bound/Fetch Latency" "Frontend Bound/Fetch Bandwidth" \
        "Bad Speculation" "Bad Speculation/Branch Mispredicts" "Bad Speculation/Machine Clears" \
        "Retiring" "Retiring/Base" "Retiring/Micro Sequencer" \
        "Backend Bound" "Backend Bound/Memory Bound" "Backend Bound/Core Bound"; do
        row+=" $(percent "$(node "$path")") |"
    done
    flagged=$(jq -r '[.trees.topdown[] | select(.flagged and .level == 2) | {path, value}] | sort_by(-.value)
        | map(.path | gsub("/"; " › ")) | join("; ")' result.json)
    rows_2+="$row ${flagged:-none} |"$'\n'
    row="| $name |"
    row+=$(jq -r '(([.unknown_instructions[].count] | add // 0) / .totals.instructions * 100) as $share
        | " \(.unknown_instructions | length) | \($share * 10000 | round / 10000) % | "
        + ([.unknown_instructions[:6][] | "\(.name) × \(.count)"] | join(", "))
        + (if (.unknown_instructions | length) > 6 then ", …" else "" end) + " |"
        + " " + ([.nondeterminism[].name] | join(", ")) + " |"' result.json)
    rows_3+=$row$'\n'
    worst=$(jq --argjson worst "$worst" '[(([.unknown_instructions[].count] | add // 0) / .totals.instructions), $worst] | max' result.json)
}

programs__each measure

[[ -z $keep ]] || exit 0

tables() {
    cat <<EOF
Core: \`$core\`. Millions; speed in million simulated instructions a second on the machine that made this page.

| program | command | instructions | cycles | IPC | speed |
| --- | --- | ---: | ---: | ---: | ---: |
$rows_1
The exact tree, levels 1 and 2, in per cent of the issue slots, and what is flagged on level 2:

| program | **Frontend** | Latency | Bandwidth | **Bad Spec.** | Mispredicts | Clears | **Retiring** | Base | Micro Seq. | **Backend** | Memory | Core | flagged |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
$rows_2
Instruction forms without a row of their own in the core's table, which got a documented default recipe, and
what may make runs differ:

| program | forms | share of instructions | forms × executions | asked for |
| --- | ---: | ---: | --- | --- |
$rows_3
EOF
}

if awk -v w="$worst" 'BEGIN { exit !(w > 0.001) }'; then
    echo "bench/programs.sh: NOT REACHED: a program has more than 0.1 % of its instructions without a row" >&2
fi
if [[ $print == yes ]]; then
    tables
    exit 0
fi
if [[ ! -f $page ]]; then
    cat >"$page" <<'EOF'
# Real programs

Unmodified Debian programs under `fathom run`. The tables are made by `bench/programs.sh`, which also makes
the inputs: a text of 12,000 words out of a fixed generator, and a table of 100,000 rows. Every program runs
from its first instruction in the dynamic linker to its last; the environment is fixed, because the stack
begins below it. `gcc` is a driver that starts the compiler proper as another process: its own figures are
those of the driver, and `cc1` stands in a row of its own.

<!-- begin: made by bench/programs.sh -->
<!-- end: made by bench/programs.sh -->

The speed includes everything from the start of the emulator to the last cycle report.
EOF
fi
tables >new
awk 'FNR == NR { text = text $0 "\n"; next }
     /^<!-- begin: made by/ { print; printf "\n%s", text; skip = 1; next }
     /^<!-- end: made by/ { skip = 0 }
     !skip' new "$page" >page
cp page "$page"
echo "written: docs/programs.md" >&2
