#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command line itself: help, version, wrong words, closed and full outputs.
set -u
failed=0

# expect STATUS WORD COMMAND...: exit status, and WORD somewhere in the output
expect() {
    local want=$1 word=$2 output status
    shift 2
    output=$("$@" 2>&1)
    status=$?
    if [[ $status != "$want" || $output != *"$word"* ]]; then
        printf 'FAILED: %s\n  status %s instead of %s, or no "%s" in:\n%s\n' "$*" "$status" "$want" "$word" "$output"
        failed=1
    fi
}

expect 0 "Commands:" "$FATHOM_BINARY" --help
expect 0 "fathom 0." "$FATHOM_BINARY" --version
expect 2 "Commands:" "$FATHOM_BINARY"
expect 2 'did you mean "report"' "$FATHOM_BINARY" reprot
expect 2 "no option" "$FATHOM_BINARY" --nonsense
for command in run loop report cores doctor; do
    expect 0 "Usage: fathom $command" "$FATHOM_BINARY" "$command" --help
    expect 0 "Usage: fathom $command" "$FATHOM_BINARY" help "$command"
    expect 2 "--help" "$FATHOM_BINARY" "$command" --no-such-option
done

expect 0 "Skylake" "$FATHOM_BINARY" cores
expect 0 "rob_entries               = 224 uops" "$FATHOM_BINARY" cores show skl
expect 0 "rob_entries               = 512 uops" "$FATHOM_BINARY" cores show --set rob=512 skl
expect 2 "rob_entries" "$FATHOM_BINARY" cores show --set robb=512 skl
expect 2 "snb, ivb, hsw, bdw, skl" "$FATHOM_BINARY" cores show pentium
expect 2 "./no/such.core" "$FATHOM_BINARY" cores show ./no/such.core
expect 2 "rob_entries" "$FATHOM_BINARY" run --set robb=512 -- true
expect 125 "cannot write" bash -c '"$FATHOM_BINARY" cores show skl >/dev/full'
expect 0 "works here" "$FATHOM_BINARY" doctor

exit $failed
