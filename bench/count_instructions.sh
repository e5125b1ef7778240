#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Instructions of a program counted without fathom, by Valgrind, to compare with `fathom run`.
#
#   bench/count_instructions.sh PROGRAM [ARGS...]
#
# Both figures include the dynamic linker and start-up. Expect Valgrind's to be some thousands higher
# (it shows the program another CPU and a longer environment) and those of programs that look at the
# time, at random numbers or at their process number to differ a little from run to run. callgrind counts
# a REP string instruction once for each repetition, fathom once. Where the machine has counters, perf's
# figure is printed as well.
set -euo pipefail

if [ $# -eq 0 ]; then
    sed -n '3,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
if ! command -v valgrind >/dev/null; then
    echo "valgrind is not installed: apt-get install valgrind" >&2
    exit 125
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A program's own failure is not ours: what counts is the count.
valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" -- "$@" >/dev/null || true
collected=$(sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' "$log" | tail -1)
printf '%-24s %15s\n' "valgrind (callgrind)" "${collected:-failed}"

if perf stat -x, -e instructions:u -o "$log" -- "$@" >/dev/null 2>&1; then
    counted=$(sed -n 's/^\([0-9][0-9]*\),.*instructions.*/\1/p' "$log")
    printf '%-24s %15s\n' "perf stat (hardware)" "${counted:-not counted}"
fi
