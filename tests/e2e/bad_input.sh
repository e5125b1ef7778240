#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whatever cannot be analysed: one sentence with the remedy, the right exit status, nothing left behind.
source "${BASH_SOURCE[0]%/*}/lib.bash"

# elf FILE CLASS TYPE MACHINE: a header as bytes, e.g. elf x '\1' '\2' '\3'
elf() {
    {
        printf "\\x7fELF$2\\1\\1\\0\\0\\0\\0\\0\\0\\0\\0\\0$3\\0$4\\0\\1\\0\\0\\0"
        head -c 30 /dev/zero
        printf '\70\0'
        head -c 200 /dev/zero
    } >"$1"
    chmod +x "$1"
}

script() {
    printf '%s\n' "$2" >"$1"
    chmod +x "$1"
}

# ---- the command line -------------------------------------------------------------------------------
for arguments in "run" "run --" "run --no-such-option -- true" "run --level 0 -- true" "run -n 0 -- true" \
    "run -n many -- true" "run --core" "report" "report --level x f" "report a b"; do
    # shellcheck disable=SC2086
    check "usage: fathom $arguments" "$fathom" $arguments
    exits 2
    says "--help"
    leaves
done
for option in --copies={0,x,-1,17,2.5,} --counters={0,x,65,-1,,4x,",5",4\,,4\,x,4\,99,4\,1000000001,4\,1000\,2} \
    --ideal={,nonsense,l1\,\,l2,l1\,l1} --stages=3; do
    check "usage: $option" "$fathom" run "$option" -- true
    exits 2
    says "${option%%=*}" "--help"
    leaves
done
for other in "--ideal l1" "--compare-cores ivb" --stages "--counters 4"; do
    for option in "--copies 2" --sample; do
        for both in "$option $other" "$other $option"; do
            # shellcheck disable=SC2086
            check "usage: $both" "$fathom" run $both -- true
            exits 2
            says "${option% *} cannot be combined with ${other% *}" "--help"
            leaves
        done
    done
done
for both in "--copies 2 --sample" "--sample --copies 2"; do
    # shellcheck disable=SC2086
    check "usage: $both" "$fathom" run $both -- true
    exits 2
    says "--sample cannot be combined with --copies"
    leaves
done
check "empty program name" "$fathom" run -- ""
refused 2 "no program given"

# ---- programs ---------------------------------------------------------------------------------------
check "missing program, by name" "$fathom" run -- no-such-program-here
refused 127 "no-such-program-here" "PATH"
check "missing program, by path" "$fathom" run -- /no/such/program
refused 127 "/no/such/program" "No such file"
check "directory" "$fathom" run -- /tmp
refused 126 "/tmp" "directory"
echo data >"$work/plain"
check "not executable" "$fathom" run -- "$work/plain"
refused 126 "$work/plain" "chmod +x"
mkfifo "$work/pipe"
check "pipe" "$fathom" run -- "$work/pipe"
refused 126 "not a regular file"
cp "$work/plain" "$work/text"
chmod +x "$work/text"
check "text without interpreter" "$fathom" run -- "$work/text"
refused 126 "neither an ELF program nor a script"
elf "$work/i386" '\1' '\2' '\3'
check "32-bit x86" "$fathom" run -- "$work/i386"
refused 126 "$work/i386" "32-bit" "only 64-bit x86-64"
elf "$work/arm64" '\2' '\2' '\267'
check "AArch64" "$fathom" run -- "$work/arm64"
refused 126 "AArch64" "only 64-bit x86-64"
elf "$work/riscv" '\2' '\2' '\363'
check "RISC-V" "$fathom" run -- "$work/riscv"
refused 126 "RISC-V"
elf "$work/object" '\2' '\1' '\76'
check "object file" "$fathom" run -- "$work/object"
refused 126 "object file" "link it"
head -c 30 "$guests/bare_loop" >"$work/cut"
chmod +x "$work/cut"
check "cut-off ELF header" "$fathom" run -- "$work/cut"
refused 126 "damaged"
head -c 4000 "$guests/acts" >"$work/half"
chmod +x "$work/half"
check "half a program" "$fathom" run -- "$work/half"
[[ $status == 125 || $status == 126 || $status -ge 128 ]] || complain "exit status $status"
says "fathom: "
leaves
elf "$work/hollow" '\2' '\2' '\76'
check "ELF header without segments" "$fathom" run -- "$work/hollow"
[[ $status == 125 || $status == 126 ]] || complain "exit status $status instead of 125 or 126"
says "fathom: "
leaves
printf 'MZ\220\0' >"$work/windows.exe"
chmod +x "$work/windows.exe"
check "foreign file" "$fathom" run -- "$work/windows.exe"
refused 126 "windows.exe" "neither an ELF"

# ---- scripts ----------------------------------------------------------------------------------------
script "$work/good" "#!$guests/acts echo"
check "script" "$fathom" run -q -o none -- "$work/good" one
exits 7
prints "$work/good" "one"
leaves
script "$work/shell" $'#!/bin/sh\nexit 5'
check "shell script" "$fathom" run -q -o none -- "$work/shell"
exits 5
leaves
script "$work/lost" "#!/no/such/interpreter"
check "script without its interpreter" "$fathom" run -- "$work/lost"
refused 127 "$work/lost" "interpreter" "/no/such/interpreter"
script "$work/nameless" "#!"
check "script that names no interpreter" "$fathom" run -- "$work/nameless"
refused 126 "$work/nameless" "names no interpreter"
script "$work/circle" "#!$work/circle"
check "script that runs itself" "$fathom" run -- "$work/circle"
refused 126 "too many"

# ---- programs that end in another way -----------------------------------------------------------------
check "AVX-512" "$fathom" run -q -- "$guests/bare_avx512"
exits 132
says "vpaddd" "0x40100c" "AVX-512" "-mno-avx512f"
[[ $(grep -c '^fathom: ' "$work/.err") == 1 ]] || complain "more than one sentence"
leaves bare_avx512.fathom
check "crash" "$fathom" run -o crash.fathom -- "$guests/acts" crash
exits 139
says "Segmentation fault" "signal 11" "instructions"
says_once "was killed by signal 11"
leaves crash.fathom
cp "$here/crash.fathom" "$work/crash.fathom"
check "report of a crash" "$fathom" report "$work/crash.fathom"
exits 0
prints "signal 11" "Verdict"
check "threads" "$fathom" run -q -o none -- "$guests/acts" thread "orphan-$$-thread"
exits 125
one_sentence
says "second thread" "multi-threaded" "OMP_NUM_THREADS"
[[ $(<"$work/.out") == "before the thread" ]] || complain "the program's output is lost"
no_orphan "orphan-$$-thread"
check "fork" "$fathom" run -o none -- "$guests/acts" fork
exits 4
says "fork" "untraced"
check "fork, told in quiet mode or in the JSON" "$fathom" run -q -o none --json - -- "$guests/acts" fork
exits 4
prints '"fork"' "untraced"
check "exec" "$fathom" run -q -o none -- "$guests/acts" exec /bin/sh
exits 11
one_sentence
says "execve" "/bin/sh" "command line"

# ---- cores ------------------------------------------------------------------------------------------
check "unknown core" "$fathom" run --core pentium -- true
refused 2 "pentium" "snb, ivb, hsw, bdw, skl"
check "missing core file" "$fathom" run --core ./none.core -- true
exits 2
one_sentence
says "./none.core"
leaves
"$fathom" cores show skl >"$work/good.core"
check "own core file" "$fathom" run -q -o none --core "$work/good.core" -- "$guests/bare_loop"
exits 0
silent
# bad_core NAME SED WORD...: a core file with one line changed
bad_core() {
    sed "$2" "$work/good.core" >"$work/bad.core"
    check "core file: $1" "$fathom" run --core "$work/bad.core" -- true
    shift 2
    refused 2 "$work/bad.core" "$@"
}
line=$(grep -n '^rob_entries' "$work/good.core" | cut -d: -f1)
bad_core "unknown key" 's/^rob_entries/rob_entrees/' ":$line:" "rob_entrees"
bad_core "not a number" 's/^\(rob_entries *=\).*/\1 many uops/' ":$line:" "rob_entries" "many"
bad_core "wrong unit" 's/^\(rob_entries *= *[0-9]*\) uops/\1 bytes/' ":$line:" "rob_entries" "bytes"
bad_core "impossible value" 's/^\(rob_entries *=\).*/\1 0 uops/' ":$line:" "rob_entries"
bad_core "no equals sign" 's/^rob_entries *=/rob_entries/' ":$line:"
check "--set: unknown key" "$fathom" run --set robb=512 -- true
refused 2 "robb" "rob_entries"
check "--set: no value" "$fathom" run --set rob_entries -- true
refused 2 "rob_entries"
check "--set: not a number" "$fathom" run --set rob_entries=big -- true
refused 2 "rob_entries" "big"
# KEY=VALUE WORD...: a value that cannot be built, and what would do
while read -r value words; do
    check "--set: $value" "$fathom" run --set "$value" -- true
    # shellcheck disable=SC2086
    refused 2 "${value%%=*}" $words
done <<'EOF'
l1i_size=48KiB 32768 65536
l1d_size=96KiB 65536 131072
l1d_ways=7 32704 33152
l2_size=384KiB 262144 524288
l3_size=1000000 999424 1000448
itlb_entries=100 64 128
itlb_ways=3 96 192
dtlb_entries=65 64 128
stlb_entries=1537 1536 3072
stlb_ways=5 1280 2560
btb_entries=4095 2048 4096
btb_ways=3 3072 6144
dsb_sets=33 32 64
l1d_ways=65 64
l1i_replacement=fifo plru qlru lru
l3_replacement= plru qlru lru
wrong_path=maybe yes no
prefetch_next_page=2 yes no
smc_clear_cyc=1001 1000
elim_history=9 8
ports=7 8 16
EOF
check "--set: no decoder left" "$fathom" run -c snb --set decoders=1 -- true
refused 2 "decoders" "fuse_on_last_decoder"
check "--set: impossible" "$fathom" run --set rob_entries=-1 -- true
refused 2 "rob_entries"

# ---- outputs ----------------------------------------------------------------------------------------
check "no such output folder" "$fathom" run -o /no/such/folder/x.fathom -- "$guests/acts" time
refused 125 "/no/such/folder" "-o"
check "output is a folder" "$fathom" run -o . -- "$guests/acts" time
refused 125 "directory" "-o"
check "JSON into a folder" "$fathom" run -o none --json . -- "$guests/acts" time
refused 125 "directory" "--json"
check "JSON into no folder" "$fathom" run -o none --json /no/such/folder/x.json -- "$guests/acts" time
refused 125 "/no/such/folder" "--json"
if [[ -c /dev/full ]]; then
    # Under a link: whatever happens to the name, the device stays.
    ln -s /dev/full "$work/full"
    check "JSON to a full device" "$fathom" run -q -o none --json "$work/full" -- "$guests/bare_loop"
    refused 125 "No space left" "$work/full"
    [[ -c /dev/full && -L $work/full ]] || complain "the device or its link was replaced"
    check "JSON to a full standard output" bash -c '"$@" >/dev/full' - \
        "$fathom" run -q -o none --json - -- "$guests/bare_loop"
    refused 125 "standard output"
    check "report to a full standard output" bash -c '"$@" >/dev/full' - "$fathom" report "$work/crash.fathom"
    refused 125 "standard output"
    check "report --json to a full standard output" bash -c '"$@" >/dev/full' - \
        "$fathom" report --json "$work/crash.fathom"
    refused 125 "standard output"
fi
# A file size limit in 1024-byte blocks stands for a disk that fills up; SIGXFSZ must not end fathom mutely.
check "full disk, result" bash -c 'ulimit -S -f 40; exec "$@"' - \
    "$fathom" run -q -o x.fathom -- "$guests/bare_loop"
refused 125 "x.fathom"
check "full disk, JSON" bash -c 'ulimit -S -f 4; exec "$@"' - \
    "$fathom" run -q -o none --json x.json -- "$guests/bare_loop"
refused 125 "x.json"
check "full disk, older files stay" bash -c 'echo old >x.fathom; echo old >x.json; ulimit -S -f 4; exec "$@"' - \
    "$fathom" run -q -o x.fathom --json x.json -- "$guests/bare_loop"
exits 125
leaves x.fathom x.json
[[ $(cat "$here/x.fathom" "$here/x.json") == $'old\nold' ]] || complain "an older file was damaged"
check "hard limit on file sizes" bash -c 'ulimit -f 40; exec "$@"' - "$fathom" run -- "$guests/bare_loop"
refused 125 "ulimit -f unlimited"
mkdir "$work/disk"
if [[ $(id -u) == 0 ]] && mount -t tmpfs -o size=32k none "$work/disk" 2>/dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    check "full file system" "$fathom" run -q -o "$work/disk/x.fathom" -- "$guests/bare_loop"
    refused 125 "No space left on device" "disk/x.fathom"
    [[ -z $(ls -A "$work/disk") ]] || complain "left on the full disk: $(ls -A "$work/disk")"
    check "full file system, JSON" "$fathom" run -q -o none --json "$work/disk/x.json" -- "$guests/acts" time
    refused 125 "No space left on device" "disk/x.json"
    [[ -z $(ls -A "$work/disk") ]] || complain "left on the full disk: $(ls -A "$work/disk")"
else
    skip "a full file system needs root and mount"
fi
if [[ $(id -u) == 0 ]] && command -v setpriv >/dev/null; then
    # An ordinary user, for whom permissions hold; the build folder may be closed to him.
    user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    mkdir -m 755 "$work/closed"
    chmod 755 "$work"
else
    user=()
    mkdir -m 555 "$work/closed"
fi
# Through a shell: setpriv itself still finds the file with root's capabilities.
if [[ -z ${user[*]} ]] || "${user[@]}" sh -c 'exec "$@"' - "$fathom" --version >/dev/null 2>&1; then
    check "unwritable folder" "${user[@]}" "$fathom" run -o "$work/closed/x.fathom" -- "$guests/bare_loop"
    refused 125 "$work/closed" "Permission denied" "-o"
    check "unwritable folder, no -o" "${user[@]}" sh -c 'cd "$1" && shift && exec "$@"' - \
        "$work/closed" "$fathom" run -q -- "$guests/bare_loop"
    says "bare_loop.fathom" "Permission denied" "-o"
    leaves
    check "unreadable result" sh -c 'umask 077; cp "$1" x.fathom; chmod 755 .; shift; exec "$@" x.fathom' - \
        "$work/crash.fathom" "${user[@]}" "$fathom" report
    [[ -n ${user[*]} ]] && { exits 125 && says "Permission denied" "x.fathom"; }
else
    skip "unwritable folders: another user cannot execute $fathom"
fi

# ---- results that are none ----------------------------------------------------------------------------
: >"$work/empty"
head -c 10000 "$work/crash.fathom" >"$work/short"
head -c 100000 /dev/urandom >"$work/noise"
printf 'SQLite format 3\0' | cat - /dev/zero | head -c 8192 >"$work/database"
{ head -c 4096 "$work/crash.fathom"; tail -c +4097 "$work/crash.fathom" | tr '\0-\377' '\1-\377\0'; } >"$work/damaged"
for file in /no/such.fathom /etc/passwd /tmp "$guests/acts" "$work"/{empty,short,noise,database,damaged}; do
    check "report of $file" timeout 20 "$fathom" report "$file"
    refused 125 "$file"
done
if command -v sqlite3 >/dev/null; then
    sqlite3 "$work/other.db" 'create table t(x); insert into t values(1);'
    check "report of another database" "$fathom" report "$work/other.db"
    refused 125 "other.db" "not a fathom result"
fi

# ---- the emulator -----------------------------------------------------------------------------------
mkdir "$work/bin"
check "qemu missing" env PATH="$work/bin" "$fathom" run -- "$guests/bare_loop"
refused 125 "qemu-x86_64" "apt-get install qemu-user"
check "doctor without qemu" env PATH="$work/bin" "$fathom" doctor
exits 125
prints "missing qemu" "qemu-user"
# fake_qemu VERSION: prints that version and refuses plugins, as such a version would
fake_qemu() {
    printf '#!/bin/sh\n[ "$1" = --version ] && echo "%s" && exit 0\nexit 1\n' "$1" >"$work/bin/qemu-x86_64"
    chmod +x "$work/bin/qemu-x86_64"
}
fake_qemu "qemu-x86_64 version 4.1.0 (Debian 1:4.1)"
check "qemu too old" env PATH="$work/bin:/usr/bin:/bin" "$fathom" run -- "$guests/bare_loop"
refused 125 "4.1.0" "too old" "apt-get install qemu-user"
fake_qemu "qemu-x86_64 version 5.2.0 (Debian 1:5.2)"
check "qemu refuses the plugin" env PATH="$work/bin:/usr/bin:/bin" "$fathom" run -- "$guests/bare_loop"
refused 125 "5.2.0" "plugin" "apt-get install qemu-user"
fake_qemu "something else"
check "not a qemu" env PATH="$work/bin:/usr/bin:/bin" "$fathom" run -- "$guests/bare_loop"
refused 125 "qemu-x86_64" "apt-get install qemu-user"
mkdir "$work/copy"
cp "$fathom" "$work/copy/fathom"
check "plugin missing" "$work/copy/fathom" run -- "$guests/bare_loop"
refused 125 "fathom-qemu.so" "build or install"
echo "no library" >"$work/copy/fathom-qemu.so"
check "plugin broken" "$work/copy/fathom" run -- "$guests/bare_loop"
exits 125
says "plugin" "apt-get install qemu-user"
leaves
finish
