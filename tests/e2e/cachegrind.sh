#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: valgrind jq
# With prefetchers and wrong paths off and LRU everywhere the miss counts are cachegrind's (docs/memory.md).
source "${BASH_SOURCE[0]%/*}/lib.bash"
command -v valgrind >/dev/null || skip_all "valgrind is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
[[ -x $FATHOM_BINARY_DIR/examples/matmul ]] || skip_all "the examples are not built: ninja examples"
bench=$FATHOM_SOURCE_DIR/bench/cachegrind.sh

# Every figure within 2 %: the script says so by its status.
for program in matmul matmul-blocked; do
    check "$program beside cachegrind" "$bench" "$FATHOM_BINARY_DIR/examples/$program" 64
    exits 0
    prints "$program |" "last level misses"
done

# The script notices: no agreement to a thousandth of a per cent.
check "a difference is noticed" env FATHOM_TOLERANCE=0.001 "$bench" "$FATHOM_BINARY_DIR/examples/matmul" 64
exits 1

finish
