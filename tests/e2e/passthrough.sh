#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The program sees its own world: bytes, descriptors, arguments, environment, exit status.
source "${BASH_SOURCE[0]%/*}/lib.bash"

quiet=("$fathom" run -q -o none --)

for code in 0 1 2 77 124 125 126 127 128 255; do
    check "exit status $code" "${quiet[@]}" /bin/sh -c "exit $code"
    exits $code
    silent
done

# Every byte value, a size that is no multiple of anything, in both directions.
head -c 1000003 /dev/urandom >"$work/bytes"
check "bytes" bash -c '"$@" <"$0"' "$work/bytes" "${quiet[@]}" cat
exits 0
cmp -s "$work/bytes" "$work/.out" || complain "the bytes changed between standard input and output"
[[ ! -s $work/.err ]] || complain "something on standard error"
check "bytes to standard error" bash -c '"$@" <"$0"' "$work/bytes" "${quiet[@]}" /bin/sh -c 'exec dd status=none bs=64k of=/dev/stderr'
check "standard error of the program" "${quiet[@]}" "$guests/acts" echo
exits 7
[[ $(<"$work/.err") == "to stderr" ]] || complain "the program's standard error is changed"
check "a report leaves standard output alone" "$fathom" run -o none -- "$guests/acts" echo one
exits 7
[[ $(<"$work/.out") == "$guests/acts"$'\necho\none' ]] || complain "fathom added to standard output"
says "to stderr" "Verdict"

check "arguments" "${quiet[@]}" "$guests/acts" echo "" " two  words " '*' --help -q $'new\nline' $'\x01\xff' 'a,b=c'
exits 7
printf '%s\n' "$guests/acts" echo "" " two  words " '*' --help -q $'new\nline' $'\x01\xff' 'a,b=c' | cmp -s - "$work/.out" ||
    complain "arguments changed"
check "options end at the program" "$fathom" run -q -o none "$guests/acts" echo -o none --json
exits 7
prints "-o none --json"

# The same from a plain run and a traced one, apart from the program.
check "descriptors and environment, plain" env -i A=1 LANG=xx EMPTY= LD_BIND_NOW=1 PATH="$PATH" "$guests/acts" surroundings
cp "$work/.out" "$work/plain.out"
check "descriptors and environment" env -i A=1 LANG=xx EMPTY= LD_BIND_NOW=1 PATH="$PATH" "${quiet[@]}" "$guests/acts" surroundings
exits 0
diff <(sort "$work/plain.out") <(sort "$work/.out") >"$work/.err" || complain "descriptors or environment differ"
check "descriptors handed on, plain" bash -c 'exec 5<"$0" 9>/dev/null; exec "$@"' "$work/bytes" "$guests/acts" surroundings
cp "$work/.out" "$work/plain.out"
check "descriptors handed on" bash -c 'exec 5<"$0" 9>/dev/null; exec "$@"' "$work/bytes" "${quiet[@]}" "$guests/acts" surroundings
exits 0
[[ $(head -1 "$work/.out") == $(head -1 "$work/plain.out") ]] || complain "$(head -1 "$work/.out") instead of $(head -1 "$work/plain.out")"

check "closed standard input" bash -c 'exec "$@" <&-' - "${quiet[@]}" cat
[[ $status == 1 ]] || complain "exit status $status instead of cat's 1"
check "closed standard output" bash -c 'exec "$@" >&-' - "${quiet[@]}" /bin/sh -c 'exit 3'
exits 3
check "closed standard error" bash -c 'exec "$@" 2>&-' - "$fathom" run -o x.fathom -- /bin/sh -c 'exit 4'
exits 4
leaves x.fathom
check "all closed" bash -c '"$@" <&- >&- 2>&-; echo $?' - "$fathom" run -o x.fathom -- /bin/sh -c 'exit 6'
[[ $(<"$work/.out") == 6 ]] || complain "exit status $(<"$work/.out") instead of 6"
leaves x.fathom
"$fathom" report "$here/x.fathom" >/dev/null 2>"$work/.err" || complain "the result is damaged"
check "closed output, the program opens files" bash -c 'exec "$@" >&- 2>&- <&-' - \
    "$fathom" run -q -o none -- /bin/sh -c 'exec >seen; echo first'
leaves seen
[[ $(cat "$here/seen" 2>/dev/null) == first ]] || complain "the program's file was lost"
check "the program closes everything" "${quiet[@]}" "$guests/acts" close
exits 0
check "few descriptors" bash -c 'ulimit -n 16; exec "$@"' - "${quiet[@]}" "$guests/acts" limit
exits 0
prints 16

check "name in PATH" env PATH="$guests:$PATH" "${quiet[@]}" acts echo
exits 7
[[ $(head -1 "$work/.out") == acts ]] || complain "argv[0] is $(head -1 "$work/.out") instead of acts"
check "relative path" bash -c 'cp "$0" program; exec "$@" ./program echo' "$guests/acts" "${quiet[@]}"
exits 7
[[ $(head -1 "$work/.out") == ./program ]] || complain "argv[0] is $(head -1 "$work/.out") instead of ./program"
check "a name with blanks and commas" bash -c 'cp "$0" "a, b=c"; exec "$@" "./a, b=c" echo' "$guests/acts" "${quiet[@]}"
exits 7
check "working directory" bash -c 'mkdir sub; cd sub; exec "$@"' - "${quiet[@]}" /bin/sh -c '/bin/pwd -P'
exits 0
prints "$here/sub"
check "the default result's name" "$fathom" run -q -- "$guests/bare_loop"
exits 0
leaves bare_loop.fathom

finish
