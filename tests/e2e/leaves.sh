#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq
# Known bottlenecks: every program of leaves.tsv is bound by the path in its line, its control is not, and
# counters and truth agree at level 1. Each line is tried on its first core; FATHOM_LEAVES=all tries them all.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"
examples=$FATHOM_BINARY_DIR/examples
[[ -x $examples/chase ]] || skip_all "the examples are not built: ninja examples"
table=${BASH_SOURCE[0]%/*}/leaves.tsv
[[ $table == /* ]] || table=$OLDPWD/$table

# The word before a failure names the program; what jq prints are the complaints.
bound='
def siblings($t; $n): ($n.path | split("/")[:-1] | join("/")) as $up
    | [$t[] | select(.level == $n.level and (.path | split("/")[:-1] | join("/")) == $up)
       | select(.path != "Retiring" or $n.path == "Retiring")];
.trees.topdown as $t | ($path | split("/")) as $names
| ($t | map(select(.path == $path)) | first) as $leaf
| if $leaf == null then "there is no \($path)" else
    (if $leaf.flagged then empty else "\($path) is not flagged (\($leaf.value * 10 | round / 10) %)" end),
    (range(1; $names | length + 1) as $l | ($names[:$l] | join("/")) as $p
     | ($t[] | select(.path == $p)) as $n | siblings($t; $n) | max_by(.value)
     | select(.value > $n.value) | "\(.name) (\(.value * 10 | round / 10) %) is larger than \($n.name) (\($n.value * 10 | round / 10) %)")
  end'
free='.trees.topdown[] | select(.path == $path and .flagged) | "\($path) is flagged (\(.value * 10 | round / 10) %)"'
agree='[.trees[] | [.[] | select(.level == 1)] | sort_by(.path) | map(.value)] as $v
    | range($v[0] | length) as $i | ($v[0][$i] - $v[1][$i] | fabs) | select(. > 0.5)
    | "counters and truth differ by \(.) points at level 1"'
size='.totals.instructions | select(. < 3e6 or . > 8e6) | "\(. / 1e6) million instructions instead of 3 to 8"'

file_of() {
    printf '%s/%s.json' "$work" "${1// /_}@$2"
}

# simulate "PROGRAM ARGUMENT" CORE: into its file
simulate() {
    local json program
    json=$(file_of "$1" "$2")
    read -ra program <<<"$1"
    [[ -e $json ]] || "$fathom" run -q -o none --core "$2" --json "$json" -- "$examples/${program[0]}" "${program[@]:1}" >"$json.out" 2>"$json.err"
}

# Two at a time.
simulate_all() {
    local line program
    while IFS=$'\t' read -r -u3 program core; do
        while (($(jobs -rp | wc -l) >= 2)); do wait -n; done
        simulate "$program" "$core" &
    done 3< <(each_line | awk -F'\t' -v OFS='\t' '{print $1, $3; print $2, $3}' | sort -u)
    wait
}

# program, control, core, path
each_line() {
    local program control cores core path
    while IFS=$'\t' read -r program control cores path; do
        [[ $program == \#* || ! $program ]] && continue
        for core in $cores; do
            printf '%s\t%s\t%s\t%s\n' "$program" "$control" "$core" "$path"
            [[ ${FATHOM_LEAVES-} == all ]] || break
        done
    done <"$table"
}

# judge "PROGRAM ARGUMENT" CORE PATH EXPRESSION...
judge() {
    local json complaint core=$2 path=$3
    json=$(file_of "$1" "$core")
    name="$1 on $core"
    n_checks=$((n_checks + 1))
    if [[ ! -s $json ]]; then
        printf 'FAILED: %s: no report: %s\n' "$name" "$(head -c 300 "$json.err")"
        failed=1
        return
    fi
    shift 3
    while read -r complaint; do
        printf 'FAILED: %s: %s\n' "$name" "$complaint"
        failed=1
    done < <(for expression in "$@"; do jq -r --arg path "$path" "$expression" "$json" 2>&1; done)
}

# matmul VERSION EXPRESSION CLAIM: about the shares of function multiply; $of.VERSION are those of all
matmul() {
    name="matmul$1 on $matmul_core"
    n_checks=$((n_checks + 1))
    jq -en --argjson of "$matmul_shares" "\$of[\"matmul$1\"] as \$me | \$me | $2" >/dev/null && return
    printf 'FAILED: %s: %s: %s\n' "$name" "$3" "$matmul_shares"
    failed=1
}

# The product moves from memory through the core to retiring as its versions get better.
matmul_versions() {
    local v json
    matmul_core=$1
    matmul_shares='{}'
    for v in '' -blocked -interchanged -vectorised; do
        json=$work/matmul$v.json
        "$fathom" run -q -o none -n 7000000 --core "$matmul_core" --json "$json" -- "$examples/matmul$v" >/dev/null 2>&1
        matmul_shares=$(jq -c --arg v "matmul$v" --argjson s "$matmul_shares" '[.functions[] | select(.name == "multiply")][0]
            | $s + {($v): (.tree | map_values(. * 10 | round / 10))}' "$json")
    done
    matmul "" '.memory_bound > .core_bound and .memory_bound > .retiring' "Memory Bound is not the largest"
    matmul -blocked '.core_bound > .memory_bound and .memory_bound < $of.matmul.memory_bound / 2' "not moved from memory to the core"
    matmul -interchanged '.core_bound < $of["matmul-blocked"].core_bound and .retiring > .core_bound + .memory_bound' "not moved from the core to retiring"
    matmul -vectorised '.retiring > .core_bound + .memory_bound and .retiring > 2 * $of.matmul.retiring' "not retiring"
}

simulate_all
matmul_versions ivb
while IFS=$'\t' read -r program control core path; do
    judge "$program" "$core" "$path" "$bound" "$agree" "$size"
    judge "$control" "$core" "$path" "$free" "$agree"
done < <(each_line)

finish
