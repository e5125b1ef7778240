#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fathom run --sample against full simulation on the programs of bench/programs.sh: the table of docs/sample.md.
#
#   bench/sample.sh [--core NAME] [--sample PERIOD[,WINDOW[,WARM]]] [--keep DIR] [--print] [NAME...]
#
# --keep leaves the inputs and the results of the full simulations in DIR, and uses them if they are there.
# Without --print the table of docs/sample.md is replaced; with names only these programs run, and their rows
# are printed. Speed is of the whole program, with qemu, on this machine; everything else repeats.
set -euo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fathom=${FATHOM_BINARY:-$root/build/fathom}
page=$root/docs/sample.md
core=skl
print=no
keep=""
option=--sample
only=" "

while (($#)); do
    case $1 in
    --core) core=$2 && shift ;;
    --sample) option=--sample=$2 && shift ;;
    --keep) keep=$2 && shift ;;
    --print) print=yes ;;
    -h | --help) sed -n '3,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "bench/sample.sh: no option $1; see --help" >&2 && exit 2 ;;
    *) only+="$1 " && print=yes ;;
    esac
    shift
done
for tool in "$fathom" jq awk sqlite3; do
    command -v "$tool" >/dev/null || {
        echo "bench/sample.sh: $tool is missing (build fathom; apt-get install jq sqlite3)" >&2
        exit 125
    }
done
work=${keep:-$(mktemp -d)}
mkdir -p "$work"
[[ $keep ]] || trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=programs.bash
source "$root/bench/programs.bash"
[[ -f table.db ]] || programs__inputs

rows="" outside=0 slow=0

# run FILE OPTION... -- COMMAND...
run() {
    local file=$1
    shift
    programs__run "$fathom" run -q --core "$core" -o none --json "$file.new" "$@" >out 2>err || {
        echo "bench/sample.sh: ended with status $?: $(tail -3 err)" >&2
        exit 125
    }
    mv "$file.new" "$file"
}

measure() { # NAME SHOWN COMMAND...
    local name=$1
    shift 2
    [[ $only == " " || $only == *" $name "* ]] || return 0
    echo "$name ..." >&2
    [[ -s $core.$name.full.json ]] || run "$core.$name.full.json" -- "$@"
    run "$core.$name.sample.json" "$option" -- "$@"
    rows+=$(jq -rn --arg name "$name" --slurpfile f "$core.$name.full.json" --slurpfile s "$core.$name.sample.json" '
        def r(n): . * pow(10; n) | round / pow(10; n);
        $f[0] as $f | $s[0] as $s
        | (if $s.sample.ipc_low <= $f.totals.ipc and $f.totals.ipc <= $s.sample.ipc_high then "yes" else "**no**" end) as $inside
        | ([$f, $s] | map([.trees.topdown[] | select(.level <= 2).value]) | transpose | map(.[1] - .[0] | fabs) | max) as $tree
        | "| \($name) | \($f.totals.instructions / 1e6 | r(1)) | \($s.sample.windows) | \($f.totals.ipc | r(3)) | \($s.totals.ipc | r(3)) | \($s.sample.ipc_low | r(3)) – \($s.sample.ipc_high | r(3)) | \($inside) | \((1 / $s.totals.ipc * $f.totals.ipc - 1) * 100 | r(1)) % | \($tree | r(1)) | \($f.host.million_instructions_per_second | tonumber | r(1)) | \($s.host.million_instructions_per_second | tonumber | r(1)) |"')$'\n'
    tail -2 <<<"$rows" >&2
    outside=$((outside + $(grep -c 'no\*\*' <<<"$(tail -2 <<<"$rows")" || true)))
    slow=$((slow + $(jq '.totals.instructions >= 1e8 and (.host.million_instructions_per_second | tonumber) < 30 | if . then 1 else 0 end' "$core.$name.sample.json")))
}
programs__each measure

table() {
    cat <<EOF
Core: \`$core\`, \`fathom run $option\`. Speeds in million instructions a second.

| program | million instructions | windows | IPC in full | IPC sampled | 99.7 % interval | inside | bias of CPI | tree off by | speed in full | speed sampled |
| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |
$rows
EOF
}

((outside)) && echo "bench/sample.sh: NOT REACHED: outside the interval: $outside" >&2
((slow)) && echo "bench/sample.sh: NOT REACHED: less than 30 M/s on a program of 100 M instructions: $slow" >&2
if [[ $print == yes ]]; then
    table
    exit 0
fi
table >new
awk 'FNR == NR { text = text $0 "\n"; next }
     /^<!-- begin: made by/ { print; printf "\n%s", text; skip = 1; next }
     /^<!-- end: made by/ { skip = 0 }
     !skip' new "$page" >page
cp page "$page"
echo "written: docs/sample.md" >&2
