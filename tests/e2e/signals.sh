#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Interruptions: the figures until then are kept, the exit status tells the signal, no process stays.
source "${BASH_SOURCE[0]%/*}/lib.bash"
set -m # jobs get process groups of their own and the usual signals, as from a terminal

# A long run in the background; its words in "${@}". Waits until the guest says that it spins.
begin() {
    name=$1
    shift
    here=$work/$((++n_checks))
    mkdir "$here"
    : >"$work/.out"
    token="spin-$$-$n_checks"
    (cd "$here" && exec "$fathom" run "$@" "$token") </dev/null >"$work/.out" 2>"$work/.err" &
    job=$!
    for ((i = 0; i < 100; i++)); do
        grep -q spinning "$work/.out" && break
        sleep 0.1
    done
    grep -q spinning "$work/.out" || complain "the guest did not start within 10 seconds"
    sleep 1
}

# Waits for the job for at most ten seconds; $seconds it took.
end() {
    local from=$SECONDS
    (
        sleep 10
        kill -KILL -- "-$job"
    ) 2>/dev/null &
    local guard=$!
    wait "$job" 2>/dev/null
    status=$?
    kill -KILL -- "-$guard" 2>/dev/null
    wait "$guard" 2>/dev/null
    ((SECONDS - from < 8)) || complain "it took $((SECONDS - from)) seconds to end"
    no_orphan "$token"
}

# The stored result is whole, reads, and says that it is not the whole program.
check_result() {
    local file=$here/$1
    shown=
    leaves "$1"
    "$fathom" report --json "$file" >"$work/result.json" 2>"$work/.err" || complain "fathom report cannot read the result"
    grep -q '"complete": *false' "$work/result.json" || complain "the result claims to be complete"
    grep -q '"incomplete_why": *"' "$work/result.json" || complain "the result does not say why it is incomplete"
    grep -q '"instructions": *[1-9][0-9]\{5,\}' "$work/result.json" || complain "nothing was gathered"
    "$fathom" report "$file" 2>&1 | grep -q Verdict || complain "fathom report shows no verdict"
}

begin "Ctrl-C" -o x.fathom -- "$guests/acts" spin
kill -INT -- "-$job"
end
exits 130
says "interrupted" "Verdict"
says_once "interrupted by signal 2"
check_result x.fathom

begin "Ctrl-C, quiet" -q -- "$guests/acts" spin
kill -INT -- "-$job"
end
exits 130
one_sentence
says "interrupted"
check_result acts.fathom

begin "Ctrl-C twice" -q -o x.fathom -- "$guests/acts" spin
kill -INT -- "-$job"
sleep 0.02
kill -INT -- "-$job" 2>/dev/null
end
exits 130
# The second may stop the writing, but then nothing half-written stays.
[[ -z $(ls -A "$here") ]] || check_result x.fathom

begin "SIGINT to fathom alone" -q -o x.fathom -- "$guests/acts" spin
kill -INT "$job"
end
exits 130
check_result x.fathom

begin "SIGTERM" -q -o x.fathom -- "$guests/acts" spin
kill -TERM "$job"
end
exits 143
one_sentence
check_result x.fathom

begin "hang-up" -q -o x.fathom -- "$guests/acts" spin
kill -HUP -- "-$job"
end
exits 129

begin "fathom killed" -q -o x.fathom -- "$guests/acts" spin
kill -KILL "$job"
end
exits 137
leaves

begin "the guest killed" -q -o x.fathom -- "$guests/acts" spin
guest=$(grep -alF -f /dev/stdin /proc/[0-9]*/cmdline <<<"$token" 2>/dev/null | grep -v "/$job/" | head -1)
kill -KILL "$(cut -d/ -f3 <<<"$guest")"
end
exits 137
says "killed by signal 9"
check_result x.fathom

begin "a limit on instructions" -q -n 3000000 -o x.fathom -- "$guests/acts" spin
end
exits 0
says "--max-instructions 3000000"
check_result x.fathom
n=$(sed -n 's/.*"instructions": *\([0-9]*\).*/\1/p' "$work/result.json" | head -1)
((n >= 3000000 && n < 3300000)) || complain "$n instructions instead of about 3000000"

# Signals are the program's own when it ends by them.
for number in 1 2 6 13 14 15; do
    check "the guest raises $number" "$fathom" run -q -o none -- "$guests/acts" kill "$number"
    exits $((128 + number))
    one_sentence "$(wc -l <"$work/.err")" # qemu may add a line of its own
    says "signal $number"
done
check "the guest handles signals" "$fathom" run -q -o none -- "$guests/acts" alarm
exits 0
silent
check "broken pipe" bash -c '"$@" | head -c 100000 >/dev/null; echo "${PIPESTATUS[0]}"' - \
    "$fathom" run -q -o none -- yes
[[ $(<"$work/.out") == 141 ]] || complain "exit status $(<"$work/.out") instead of 141"

finish
