# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the measurements over real programs: their inputs and command lines.
#
#   programs__inputs             makes the inputs in the current folder (needs awk, sqlite3)
#   programs__each FUNCTION      FUNCTION NAME SHOWN COMMAND...: for every program that is installed

programs__inputs() {
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
}

programs__python='
words = {}
for line in open("text"):
    for w in line.split():
        words[w] = words.get(w, 0) + 1
print(sorted(words.items(), key=lambda p: (-p[1], p[0]))[:3], sum(i * i % 7 for i in range(30000)))'
programs__query="select kind, count(*), avg(price), max(name) from item where price > 20 and kind < 2 group by kind order by 3 desc"

# programs__run FATHOM OPTION... -- COMMAND...: with the text as input. The environment decides where the stack
# begins, so it is fixed.
programs__run() {
    env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 PYTHONHASHSEED=0 PERL_HASH_SEED=0 "$@" <text
}

programs__one() {
    local call=$1
    if [[ $3 != *cc1* ]] && ! command -v "$4" >/dev/null; then
        echo "${0##*/}: $4 is not installed, left out" >&2
        return 0
    fi
    shift
    "$call" "$@"
}

programs__each() {
    local call=$1 cc1
    programs__one "$call" xz "xz -1 -T1 -c text" xz -1 -T1 -c text
    programs__one "$call" gzip "gzip -6 -c text" gzip -6 -c text
    programs__one "$call" sqlite3 "sqlite3 table.db 'select … group by kind order by …'" sqlite3 table.db "$programs__query"
    programs__one "$call" python3 "python3 -c '…'" /usr/bin/python3 -c "$programs__python"
    programs__one "$call" openssl "openssl dgst -sha256 long" openssl dgst -sha256 long
    programs__one "$call" perl "perl words.pl text" perl words.pl text
    programs__one "$call" lua "lua5.4 sieve.lua" lua5.4 sieve.lua
    programs__one "$call" gcc "gcc -O2 -c small.c (the driver)" gcc -O2 -c small.c -o small.o
    if cc1=$(gcc -print-prog-name=cc1 2>/dev/null) && [[ -x $cc1 ]]; then
        programs__one "$call" cc1 "cc1 -O2 small.c (what gcc starts)" "$cc1" -quiet -imultiarch "$(gcc -print-multiarch)" -O2 small.c -o small.s
    fi
}
