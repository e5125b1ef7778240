#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Eight unmodified Debian programs through fathom run: the tables of docs/programs.md.
#
#   bench/programs.sh [--core NAME] [--print] [NAME...]
#   bench/programs.sh [--core NAME] --keep DIR [--metrics FILE] [--max-instructions N] [NAME...]
#
# The second form only puts NAME.json of each program into DIR.
# Without --print the tables of docs/programs.md are replaced; with names only these programs run, and their
# rows are printed. Some minutes for all. The figures depend on the versions of the programs and of the C library, and the
# speed on the machine; everything else repeats.
set -euo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fathom=${FATHOM_BINARY:-$root/build/fathom}
page=$root/docs/programs.md
core=skl
print=no
keep=
options=()
only=" "

while (($#)); do
    case $1 in
    --core) core=$2 && shift ;;
    --print) print=yes ;;
    --keep) keep=$(cd "$2" && pwd) && shift ;;
    --metrics) options+=(--metrics "$(realpath "$2")") && shift ;;
    --max-instructions) options+=(-n "$2") && shift ;;
    -h | --help) sed -n '3,13s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "bench/programs.sh: no option $1; see --help" >&2 && exit 2 ;;
    *) only+="$1 " && print=yes ;;
    esac
    shift
done
for tool in "$fathom" jq awk sqlite3; do
    command -v "$tool" >/dev/null || {
        echo "bench/programs.sh: $tool is missing (build fathom; apt-get install jq sqlite3)" >&2
        exit 125
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Text with the statistics of text: words out of a small vocabulary, the same on every machine.
awk 'BEGIN {
    seed = 1
    for (i = 0; i < 12000; i++) {
        seed = (seed * 16807) % 2147483647
        n = int(seed / 7) % 997
        printf "%s%s", substr("thequickbrownfoxjumpsoverthelazydogandrunsaway", 1 + n % 37, 2 + n % 8), \
            i % 11 == 10 ? ".\n" : " "
    }
}' >text
for _ in {1..20}; do cat text; done >long
sqlite3 table.db "create table item(id integer primary key, name text, price real, kind int);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
    insert into item select i, 'item ' || (i * 7919 % 100003), (i * 104729 % 9973) / 100.0, i % 13 from n;"
cat >small.c <<'C'
#include <stddef.h>
int scanf(const char *, ...), printf(const char *, ...), strcmp(const char *, const char *);
char *strncpy(char *, const char *, size_t);
void *calloc(size_t, size_t), qsort(void *, size_t, size_t, int (*)(const void *, const void *));
struct node { struct node *next; char word[28]; int n; };
static struct node *table[1024];
static unsigned hash(const char *s) { unsigned h = 5381; while (*s) h = h * 33 + (unsigned char)*s++; return h % 1024; }
static struct node *find(const char *word)
{
    unsigned h = hash(word);
    for (struct node *n = table[h]; n; n = n->next)
        if (!strcmp(n->word, word))
            return n;
    struct node *n = calloc(1, sizeof *n);
    strncpy(n->word, word, sizeof n->word - 1);
    n->next = table[h];
    return table[h] = n;
}
static int by_count(const void *a, const void *b)
{
    return (*(struct node *const *)b)->n - (*(struct node *const *)a)->n;
}
int main(void)
{
    char word[256];
    struct node *all[65536];
    int n = 0;
    while (scanf("%255s", word) == 1)
        find(word)->n++;
    for (int i = 0; i < 1024; i++)
        for (struct node *p = table[i]; p && n < 65536; p = p->next)
            all[n++] = p;
    qsort(all, n, sizeof *all, by_count);
    for (int i = 0; i < n && i < 10; i++)
        printf("%7d %s\n", all[i]->n, all[i]->word);
    return 0;
}
C
cat >words.pl <<'P'
my %n;
while (<>) { $n{$1}++ while /(\w+)/g }
printf "%d %s\n", $n{$_}, $_ for (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n)[0 .. 9];
P
cat >sieve.lua <<'L'
local composite, primes, text = {}, 0, {}
for i = 2, 40000 do
    if not composite[i] then
        primes = primes + 1
        text[#text + 1] = tostring(i)
        for j = i * i, 40000, i do composite[j] = true end
    end
end
print(primes, #table.concat(text, " "))
L
python='
words = {}
for line in open("text"):
    for w in line.split():
        words[w] = words.get(w, 0) + 1
print(sorted(words.items(), key=lambda p: (-p[1], p[0]))[:3], sum(i * i % 7 for i in range(30000)))'
query="select kind, count(*), avg(price), max(name) from item where price > 20 and kind < 2 group by kind order by 3 desc"

rows_1="" rows_2="" rows_3="" worst=0

node() { # PATH
    jq -r --arg path "$1" '.trees.topdown[] | select(.path == $path) | .value * 10 | round / 10' result.json
}

percent() {
    printf '%.1f' "$1"
}

# measure NAME COMMAND SHOWN: one row of each table
measure() {
    local name=$1 shown=$2 row flagged
    shift 2
    [[ $only == " " || $only == *" $name "* ]] || return 0
    if [[ $shown != *cc1* ]] && ! command -v "$1" >/dev/null; then
        echo "bench/programs.sh: $1 is not installed, left out" >&2
        return 0
    fi
    echo "$name ..." >&2
    # The environment decides where the stack begins, so it is fixed.
    env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 PYTHONHASHSEED=0 PERL_HASH_SEED=0 \
        "$fathom" run -q --core "$core" "${options[@]}" -o none --json result.json -- "$@" <text >out 2>err || {
        echo "bench/programs.sh: $name ended with status $?: $(tail -3 err)" >&2
        exit 125
    }
    jq -r '"    \(.totals.instructions) instructions, IPC \(.totals.ipc), \(.host.million_instructions_per_second) M/s"' result.json >&2
    if [[ $keep ]]; then
        cp result.json "$keep/$name.json"
        return 0
    fi
    row="| $name | \`$shown\` |"
    row+=$(jq -r '.totals | " \(.instructions / 1e6 * 100 | round / 100) | \(.cycles / 1e6 * 100 | round / 100) | \(.ipc * 100 | round / 100) |"' result.json)
    row+=" $(jq -r '.host.million_instructions_per_second | tonumber * 10 | round / 10' result.json) |"
    rows_1+=$row$'\n'
    row="| $name |"
    for path in "Frontend Bound" "Frontend Bound/Fetch Latency" "Frontend Bound/Fetch Bandwidth" \
        "Bad Speculation" "Bad Speculation/Branch Mispredicts" "Bad Speculation/Machine Clears" \
        "Retiring" "Retiring/Base" "Retiring/Micro Sequencer" \
        "Backend Bound" "Backend Bound/Memory Bound" "Backend Bound/Core Bound"; do
        row+=" $(percent "$(node "$path")") |"
    done
    flagged=$(jq -r '[.trees.topdown[] | select(.flagged and .level == 2) | {path, value}] | sort_by(-.value)
        | map(.path | gsub("/"; " › ")) | join("; ")' result.json)
    rows_2+="$row ${flagged:-none} |"$'\n'
    row="| $name |"
    row+=$(jq -r '(([.unknown_instructions[].count] | add // 0) / .totals.instructions * 100) as $share
        | " \(.unknown_instructions | length) | \($share * 10000 | round / 10000) % | "
        + ([.unknown_instructions[:6][] | "\(.name) × \(.count)"] | join(", "))
        + (if (.unknown_instructions | length) > 6 then ", …" else "" end) + " |"
        + " " + ([.nondeterminism[].name] | join(", ")) + " |"' result.json)
    rows_3+=$row$'\n'
    worst=$(jq --argjson worst "$worst" '[(([.unknown_instructions[].count] | add // 0) / .totals.instructions), $worst] | max' result.json)
}

measure xz "xz -1 -T1 -c text" xz -1 -T1 -c text
measure gzip "gzip -6 -c text" gzip -6 -c text
measure sqlite3 "sqlite3 table.db 'select … group by kind order by …'" sqlite3 table.db "$query"
measure python3 "python3 -c '…'" /usr/bin/python3 -c "$python"
measure openssl "openssl dgst -sha256 long" openssl dgst -sha256 long
measure perl "perl words.pl text" perl words.pl text
measure lua "lua5.4 sieve.lua" lua5.4 sieve.lua
measure gcc "gcc -O2 -c small.c (the driver)" gcc -O2 -c small.c -o small.o
if cc1=$(gcc -print-prog-name=cc1 2>/dev/null) && [[ -x $cc1 ]]; then
    measure cc1 "cc1 -O2 small.c (what gcc starts)" "$cc1" -quiet -imultiarch "$(gcc -print-multiarch)" -O2 small.c -o small.s
fi

[[ -z $keep ]] || exit 0

tables() {
    cat <<EOF
Core: \`$core\`. Millions; speed in million simulated instructions a second on the machine that made this page.

| program | command | instructions | cycles | IPC | speed |
| --- | --- | ---: | ---: | ---: | ---: |
$rows_1
The exact tree, levels 1 and 2, in per cent of the issue slots, and what is flagged on level 2:

| program | **Frontend** | Latency | Bandwidth | **Bad Spec.** | Mispredicts | Clears | **Retiring** | Base | Micro Seq. | **Backend** | Memory | Core | flagged |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
$rows_2
Instruction forms without a row of their own in the core's table, which got a documented default recipe, and
what may make runs differ:

| program | forms | share of instructions | forms × executions | asked for |
| --- | ---: | ---: | --- | --- |
$rows_3
EOF
}

if awk -v w="$worst" 'BEGIN { exit !(w > 0.001) }'; then
    echo "bench/programs.sh: NOT REACHED: a program has more than 0.1 % of its instructions without a row" >&2
fi
if [[ $print == yes ]]; then
    tables
    exit 0
fi
if [[ ! -f $page ]]; then
    cat >"$page" <<'EOF'
# Real programs

Unmodified Debian programs under `fathom run`. The tables are made by `bench/programs.sh`, which also makes
the inputs: a text of 12,000 words out of a fixed generator, and a table of 100,000 rows. Every program runs
from its first instruction in the dynamic linker to its last; the environment is fixed, because the stack
begins below it. `gcc` is a driver that starts the compiler proper as another process: its own figures are
those of the driver, and `cc1` stands in a row of its own.

<!-- begin: made by bench/programs.sh -->
<!-- end: made by bench/programs.sh -->

The speed includes everything from the start of the emulator to the last cycle report.
EOF
fi
tables >new
awk 'FNR == NR { text = text $0 "\n"; next }
     /^<!-- begin: made by/ { print; printf "\n%s", text; skip = 1; next }
     /^<!-- end: made by/ { skip = 0 }
     !skip' new "$page" >page
cp page "$page"
echo "written: docs/programs.md" >&2
