#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq
# Instruction counts through the whole road, against programs whose count is known by reading them.
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v jq >/dev/null || skip_all "jq is not installed"

# counts PROGRAM N: instructions as the header of its source says
counts() {
    check "$1" "$fathom" run -q -o none --json x.json -- "$guests/$1"
    exits 0
    local n
    n=$(jq .totals.instructions "$here/x.json")
    [[ $n == "$2" ]] || complain "$n instructions instead of $2"
    n=$(jq '[.functions[].instructions] | add' "$here/x.json")
    [[ $n == "$2" ]] || complain "its functions have $n instructions instead of $2"
}

counts bare_loop 2000004
counts bare_rep 23
counts bare_page 6006
counts bare_calls 70005
counts bare_copy 120006

# What was executed does not depend on the core, as long as the program does not ask for one.
for core in snb ivb hsw bdw skl; do
    check "bare_loop on $core" "$fathom" run -q -o none --json x.json --core $core -- "$guests/bare_loop"
    exits 0
    n=$(jq .totals.instructions "$here/x.json")
    [[ $n == 2000004 ]] || complain "$n instructions instead of 2000004"
    # A chain of decrements: one cycle a turn on each of them, and some for the start.
    n=$(jq '.totals.cycles' "$here/x.json")
    ((n >= 1000000 && n < 1004000)) || complain "$n cycles for a million turns of one cycle"
done

# A crash is counted up to the instruction that died.
check "bare_avx512" "$fathom" run -q -o none --json x.json -- "$guests/bare_avx512"
exits 132
n=$(jq .totals.instructions "$here/x.json")
[[ $n == 3 ]] || complain "$n instructions instead of 3"

# The same count from the stored result.
check "bare_loop stored" bash -c '"$0" run -q -o x.fathom -- "$1" && "$0" report --json x.fathom' "$fathom" "$guests/bare_loop"
exits 0
n=$(jq .totals.instructions "$work/.out")
[[ $n == 2000004 ]] || complain "$n instructions instead of 2000004"

finish
