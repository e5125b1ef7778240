# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the end-to-end scripts: one check after the other, every failure named, none stops the rest.
set -u
export LC_ALL=C.UTF-8
fathom=$FATHOM_BINARY
guests=$FATHOM_GUESTS
work=$(mktemp -d "${TMPDIR:-/tmp}/fathom-e2e.XXXXXX")
failed=0
name=""
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

skip() {
    printf 'SKIPPED: %s\n' "$*"
}

# Ends a script that can check nothing here.
skip_all() {
    skip "$@"
    exit 77
}

command -v qemu-x86_64 >/dev/null || skip_all "qemu-x86_64 is not installed"

# complain WHAT: the current check fails; what was seen is shown once a check
complain() {
    failed=1
    printf 'FAILED: %s: %s\n' "$name" "$*"
    if [[ ${shown-} != "$name" ]]; then
        shown=$name
        printf '  status %s; standard output:\n' "${status-?}"
        sed -n '1,10s/^\(.\{0,160\}\).*/    | \1/p' "$work/.out"
        printf '  standard error:\n'
        sed -n '1,20s/^\(.\{0,400\}\).*/    | \1/p' "$work/.err"
    fi
}

# check NAME COMMAND...: runs it in a new empty folder, without input; $status, .out and .err are kept
check() {
    name=$1
    shift
    here=$work/$((++n_checks))
    mkdir "$here"
    (cd "$here" && exec "$@") </dev/null >"$work/.out" 2>"$work/.err"
    status=$?
}
n_checks=0

exits() {
    [[ $status == "$1" ]] || complain "exit status $status instead of $1"
}

# Words that must be in standard error (says) or output (prints).
# Line breaks and indents of the report count as one blank.
says() {
    local word all
    all=$(tr -s ' \n' '  ' <"$work/.err")
    for word in "$@"; do
        [[ $all == *"$word"* ]] || complain "standard error does not say \"$word\""
    done
}

says_once() {
    local all n
    all=$(tr -s ' \n' '  ' <"$work/.err")
    n=$(grep -oF -- "$1" <<<"$all" | wc -l)
    [[ $n == 1 ]] || complain "\"$1\" stands $n times on standard error"
}

prints() {
    local word all
    all=$(tr -d '\0' <"$work/.out" | tr -s ' \n' '  ')
    for word in "$@"; do
        [[ $all == *"$word"* ]] || complain "standard output does not contain \"$word\""
    done
}

silent() {
    [[ ! -s $work/.out ]] || complain "something on standard output"
    [[ ! -s $work/.err ]] || complain "something on standard error"
}

# Exactly one line of fathom's on standard error, standing there once.
one_sentence() {
    local n
    n=$(grep -c '^fathom: ' "$work/.err")
    [[ $n == 1 ]] || complain "$n lines of fathom on standard error instead of 1"
    n=$(wc -l <"$work/.err")
    [[ $n == "${1:-1}" ]] || complain "$n lines on standard error instead of ${1:-1}"
}

# The folder of the check holds exactly these files.
leaves() {
    local found
    found=$(cd "$here" && find . -mindepth 1 -printf '%P\n' | sort | paste -sd' ')
    [[ $found == "$*" ]] || complain "files left behind: \"$found\" instead of \"$*\""
}

# refused STATUS WORD...: one sentence with these words, nothing done
refused() {
    exits "$1"
    shift
    one_sentence
    says "$@"
    [[ ! -s $work/.out ]] || complain "something on standard output"
    leaves
}

# No process that has WORD among its arguments; two seconds to vanish. WORD must be the test's own:
# others may run the same guests meanwhile.
no_orphan() {
    local i found
    for ((i = 0; i < 20; i++)); do
        found=$(grep -alF -f /dev/stdin /proc/[0-9]*/cmdline <<<"$1" 2>/dev/null)
        [[ $found ]] || return 0
        sleep 0.1
    done
    complain "still running: $found"
}

# json FILE EXPRESSION: a jq expression over a JSON file
json() {
    jq -r "$2" "$1"
}

finish() {
    ((n_checks)) || complain "no checks"
    ((failed)) || printf '%d checks passed\n' "$n_checks"
    exit $failed
}
