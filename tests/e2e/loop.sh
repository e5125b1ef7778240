#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: jq binutils
# fathom loop: every kind of input, every output, and what is wrong with the input.
set -u
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
adds=4801d84801d149ffcf75f5

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
loop() {
    "$FATHOM_BINARY" loop "$@"
}

# --- raw bytes
expect 0 "1.00  exact" loop --hex "$adds"
expect 0 "20 cycles, 19 iterations" loop --core snb --init diff --hex "$adds"
expect 0 "published UFS rules" loop --model ufs --hex "$adds"
expect 0 "bounds only" loop --bounds-only --hex "$adds"
expect 0 "fidelity 0.8000" loop --measured 1.25 --hex "$adds"
expect 0 "C complete" loop --timeline 2 --hex "$adds"
expect 125 "cut short" loop --hex 4801
expect 125 "no instruction starts with 06" loop --hex 9006
expect 2 "no hexadecimal digit" loop --hex 48zz
expect 125 "empty" loop --hex ""
expect 125 "a call" loop --hex e800000000
expect 125 "a system call" loop --hex 0f05
expect 125 "a branch inside the block" loop --hex 750090

# --- assembly
cat >two.s <<'END'
	.globl sum
	.type sum, @function
sum:
	xor %eax, %eax
.L1:	add (%rdi,%rax,8), %rcx
	inc %rax
	cmp %rdx, %rax
	jne .L1
.L2:	call other
	dec %ebx
	jnz .L2
	ret
	.size sum, . - sum
END
expect 0 "a call at 0xe" loop two.s
expect 0 "in sum" loop two.s
expect 0 "exact" bash -c "printf 'l: add %%rbx, %%rax\ndec %%r15\njnz l\n' | '$FATHOM_BINARY' loop -"
expect 0 "exact" bash -c "printf 'l: add rax, rbx\ndec r15\njnz l\n' | '$FATHOM_BINARY' loop --intel -"
printf '# LLVM-MCA-BEGIN a\nadd %%rbx, %%rax\n# LLVM-MCA-END\nnop\n# OSACA-BEGIN\nnop\n# OSACA-END\n' >marked.s
expect 0 "marked.s:1 a" loop marked.s
expect 0 "marked.s:5" loop marked.s
printf 'nop\naddq $1, %%foo\n' >bad.s
expect 125 "bad.s:2:" loop bad.s
printf 'ab\0cd' >zero
expect 125 "neither an ELF file nor assembly" loop zero
: >empty
expect 125 "no instruction" loop empty
expect 125 "cannot open" loop missing.s
printf '!<arch>\n' >lib.a
expect 125 "ar x" loop lib.a
expect 125 "cannot run the assembler" env PATH=/nowhere "$FATHOM_BINARY" loop marked.s

# --- ELF files
if command -v cc >/dev/null; then
    printf 'double f(const double *a, int n)\n{\n  double s = 0;\n  for (int i = 0; i < n; i++)\n    s += a[i];\n  return s;\n}\nint g(int x) { return x + 1; }\n' >dot.c
    cc -O1 -g -c dot.c -o dot.o
    expect 0 "in f, dot.c" loop dot.o
    expect 0 "4.00  exact" loop --function f dot.o
    expect 0 "4.00  exact" loop --line dot.c:5 dot.o
    expect 125 "dot.o" loop --function g dot.o
    expect 0 '"largest": "dependencies"' loop --json dot.o
    printf 'int g(int x) { return x + 1; }\n' >none.c
    cc -O1 -c none.c -o none.o
    expect 125 "none.o" loop none.o
    cp dot.o arm.o
    printf '\xb7' | dd of=arm.o bs=1 seek=18 conv=notrunc status=none
    expect 125 "arm.o" loop arm.o
    head -c 200 dot.o >cut.o
    expect 125 "cut.o" loop cut.o
fi

# --- files made
expect 0 "cycles per iteration" loop --json=out.json --dot out.dot --konata out.log --hex "$adds"
expect 0 '"schema": "fathom-loop"' cat out.json
expect 0 "digraph" cat out.dot
expect 0 "Kanata" head -1 out.log
expect 0 "cycles per iteration" loop --konata out.o3 --hex "$adds"
expect 0 "O3PipeView:fetch:" head -1 out.o3
expect 125 "cannot be written" loop --json=/no/such/folder/x --hex "$adds"
expect 125 "cannot write" bash -c "'$FATHOM_BINARY' loop --hex $adds >/dev/full"
if command -v jq >/dev/null; then
    expect 0 "true" jq '.loops[0].figures.cycles == 1' out.json
fi

# --- batches
printf 'id,core,hex\n1,skl,%s\n2,i386,90\n3,snb\n4,skl,zz\n5,snb,90\n' "$adds" >b.csv
expect 0 $'id,cycles\n1,1.00\n2,\n3,\n4,\n5,0.25' bash -c "'$FATHOM_BINARY' loop --batch b.csv 2>err"
expect 0 "b.csv:3: there is no core" cat err
expect 0 "b.csv:4: 2 fields" cat err
expect 0 "3 of 5 blocks" cat err
expect 125 "no column hex" bash -c "printf 'id,x\n1,90\n' | '$FATHOM_BINARY' loop --batch -"
expect 125 "no block" bash -c "printf 'id,hex\n1,zz\n' | '$FATHOM_BINARY' loop --batch -"
expect 0 "mean fidelity 0.5000" bash -c "printf 'id,hex,measured\n1,$adds,2\n' | '$FATHOM_BINARY' loop --batch -"
loop --batch b.csv 2>/dev/null >one
loop --batch b.csv -j 2 -o two 2>/dev/null
expect 0 "" cmp one two

# --- words
expect 2 "which code" loop
expect 2 "one input at a time" loop --hex 90 x.s
expect 2 "no core" loop --core i386 --hex 90
expect 2 "rob_entries" loop --set robb=1 --hex 90
for wrong in --init=x --model=x --at=5 --at=9..5 --line=x --timeline=0 --align=x --measured=-1 -j0; do
    expect 2 "fathom loop: -" loop "$wrong" --hex 90
done
expect 2 "belongs to --sweep" loop --format csv --hex 90
expect 2 "--batch prints CSV only" loop --batch b.csv --json

# --- time: a loop of 1,300 instructions and one with divisions, explained
long=$(printf '4801d8%.0s' {1..1298})49ffcf0f85$(printf '%08x' $((0x100000000 - 1298 * 3 - 9)) | sed 's/\(..\)\(..\)\(..\)\(..\)/\4\3\2\1/')
expect 0 "1300 instructions" loop --hex "$long"
expect 0 "divider" loop --hex f20f5ec1f20f5ed349ffcf75f3

exit $failed
