#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Speed of `fathom loop` on the measured blocks, one thread, beside llvm-mca in the same run.
#
#   bench/loop_speed.sh [FATHOM] [BLOCKS.csv]
#
# Blocks a second with the full model and with --bounds-only, simulated cycles a second, and llvm-mca with
# 100 iterations a block on the Skylake blocks (all regions in one file, so that its start-up counts once).
# User time, so that other load on the machine matters little. Published figures: uiCA about 28 blocks a
# second, UFS 4 to 21 loops and 0.3 to 0.55 million cycles a second.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fathom=${1:-$root/build/fathom}
blocks=${2:-$root/../shared/bhive/blocks.csv}
if [[ ! -x $fathom || ! -r $blocks ]]; then
    echo "usage: bench/loop_speed.sh [FATHOM] [BLOCKS.csv]: cannot use $fathom or $blocks" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT=%U

# Repeated, so that opening the cores counts little.
repeat() {
    head -1 "$blocks"
    for ((i = 0; i < $1; i++)); do
        tail -n +2 "$blocks"
    done
}
repeat 5 >"$work/full.csv"
repeat 50 >"$work/many.csv"
# seconds LABEL COMMAND...: user seconds of a command
seconds() {
    { time "$@" >"$work/out" 2>"$work/err"; } 2>&1
}
rate() {
    awk -v n="$1" -v s="$2" 'BEGIN { printf "%.0f", n / (s > 0 ? s : 0.001) }'
}

n_full=$(($(wc -l <"$work/full.csv") - 1))
full=$(seconds "$fathom" loop --batch "$work/full.csv")
r_full=$(rate "$n_full" "$full")
printf '%-46s %10s blocks/s\n' "fathom, full model" "$r_full"
n_many=$(($(wc -l <"$work/many.csv") - 1))
many=$(seconds "$fathom" loop --bounds-only --batch "$work/many.csv")
printf '%-46s %10s blocks/s\n' "fathom, --bounds-only" "$(rate "$n_many" "$many")"

# A chain of divisions runs for many cycles, most of them idle; a wide loop has none.
idle=$(seconds "$fathom" loop --bounds-only --hex 90)
cycles() {
    local hex=$1 s n
    printf 'id,hex\n' >"$work/c.csv"
    for ((i = 0; i < 2000; i++)); do printf '%s,%s\n' "$i" "$hex"; done >>"$work/c.csv"
    s=$(seconds "$fathom" loop --batch "$work/c.csv")
    n=$("$fathom" loop --json --hex "$hex" | sed -n 's/.*"simulated_cycles": \([0-9]*\).*/\1/p')
    awk -v n="$n" -v s="$s" -v idle="$idle" 'BEGIN { d = s - idle; printf "%.1f", n * 2000 / 1e6 / (d > 0 ? d : 0.001) }'
}
printf '%-46s %10s M cycles/s\n' "simulated, 4 uops every cycle" "$(cycles 4801d84801d149ffcf75f5)"
printf '%-46s %10s M cycles/s\n' "simulated, latency-bound" "$(cycles 488b0049ffcf75f8)"

mca=$(command -v llvm-mca || true)
for v in 22 21 20 19 18 17 16 15 14; do
    [[ -n $mca ]] || mca=$(command -v "llvm-mca-$v" || true)
done
if [[ -z $mca ]]; then
    echo "llvm-mca is not installed (package llvm): nothing to compare with"
    exit 0
fi
awk -F, 'NR > 1 && $1 == "skl" { print $3 }' "$blocks" >"$work/hex"
awk '{ print "# LLVM-MCA-BEGIN"; for (i = 1; i < length($0); i += 2) printf ".byte 0x%s\n", substr($0, i, 2); print "# LLVM-MCA-END" }' \
    "$work/hex" >"$work/bytes.s"
# llvm-mca reads instructions, not bytes: disassembled once, outside the measured time.
disassemble() {
    local objdump=${mca/llvm-mca/llvm-mc}
    while read -r hex; do
        echo "# LLVM-MCA-BEGIN"
        sed 's/../0x& /g' <<<"$hex" | "$objdump" --disassemble --triple=x86_64 -mattr=+avx2,+fma,+bmi,+bmi2,+f16c \
            2>/dev/null | grep -v '^\s*\.text'
        echo "# LLVM-MCA-END"
    done <"$work/hex"
}
if ! command -v "${mca/llvm-mca/llvm-mc}" >/dev/null; then
    echo "llvm-mc is not installed beside $mca: nothing to compare with"
    exit 0
fi
disassemble >"$work/skl.s"
n=$(wc -l <"$work/hex")
s=$(seconds "$mca" -mcpu=skylake -iterations=100 --skip-unsupported-instructions=any "$work/skl.s" || true)
if [[ ! -s $work/out ]]; then
    s=$(seconds "$mca" -mcpu=skylake -iterations=100 "$work/skl.s" || true)
fi
r_mca=$(rate "$n" "$s")
printf '%-46s %10s blocks/s\n' "$("$mca" --version | sed -n 's/.*LLVM version/llvm-mca/p' | head -1), 100 iterations" "$r_mca"
awk -v a="$r_full" -v b="$r_mca" 'BEGIN { printf "fathom / llvm-mca: %.1f\n", a / b }'
