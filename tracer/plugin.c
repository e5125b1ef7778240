/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fathom's qemu-user plugin: writes what the program executes into the shared ring of src/trace/ring.h.
 * It decides nothing and decodes nothing, except that it knows prefetches and cache-line flushes: their
 * addresses only exist in guest registers, so it sends registers along with the blocks that contain one.
 */
#include "qemu_api.h"
#include "../src/trace/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

PLUGIN_EXPORT int qemu_plugin_version = QEMU_API_VERSION;

enum {
    MAX_RANGES = 1024,
    MAX_CHECKS = 16, /* pushes used to check that guest registers can be read */
    MAX_PATH = 4096,
    SPIN_ROUNDS = 200,
    EXIT_TOOL = 125,
    INFO_STORE_BIT = 17, /* of the memory info word */
    INFO_SIZE_BIT = 4,   /* three bits, log2 */
};

struct range {
    uint64_t start, end;
};

enum { REG_SP = 4 };

/*
 * Blocks with hints. qemu keeps guest registers in host registers and brings its state up to date only
 * where a block starts or ends and where memory is accessed: that is where registers are read.
 */
struct watched_insn {
    uint64_t word;          /* insn number, as for every access */
    uint16_t insn, n_hints; /* hints before it in the block */
};
struct watched_block {
    uint64_t word; /* RING_BLOCK | id */
    uint16_t n_insns, n_hints;
    struct watched_insn insn[];
};
enum { MAX_SNAPSHOTS = 2 * (RING_INSN_MASK + 2) };

/* The page shared with fathom lies over this variable: no indirection on the hot path. */
static union {
    struct ring_live live;
    uint8_t page[RING_PAGE_BYTES];
} shared __attribute__((aligned(RING_PAGE_BYTES)));

static struct {
    qemu_plugin_id_t id;
    uint64_t *chunks; /* first word of chunk 0 */
    uint64_t next_block;
    struct range range[MAX_RANGES]; /* executable memory already reported */
    unsigned n_ranges;
    struct range host[MAX_RANGES]; /* mapped before the guest was */
    unsigned n_host;
    uint64_t mmap_bytes; /* of the mmap in progress */
    bool detached;       /* a child of the program: nothing is recorded */
    bool reset;          /* the callbacks are being removed */
    unsigned n_checks;
    bool registers_read, registers_failed, registers_reported;
    const uint64_t *check;               /* registers to be checked by the push in progress */
    const struct watched_block *watched; /* running or just over; NULL: none */
    const uint64_t *regs;                /* sixteen, of the guest */
    unsigned n_snapshots;
    struct snapshot {
        uint64_t regs[RING_REGISTERS];
        uint16_t insn, n_hints;
    } snapshot[MAX_SNAPSHOTS];
} tracer;

static void futex__wait(uint32_t *word, uint32_t value)
{
    const struct timespec timeout = {.tv_nsec = 100 * 1000 * 1000};

    syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0);
}

static void futex__wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Without its consumer the trace is worthless and the program must not stay behind. */
static void tracer__check_consumer(void)
{
    if (getppid() != (pid_t)shared.live.consumer_pid)
        syscall(SYS_exit_group, EXIT_TOOL);
}

static void ring__open_chunk(uint32_t number)
{
    uint64_t *chunk = tracer.chunks + (uint64_t)(number % RING_CHUNKS) * RING_STRIDE;

    shared.live.chunk = chunk;
    shared.live.limit = chunk + RING_CHUNK_WORDS;
    shared.live.pos = chunk;
    /* Last: whoever finds this number after a sudden death may trust the pointers. */
    __atomic_store_n(&shared.live.number, number, __ATOMIC_RELEASE);
}

static void ring__wait_for_room(uint32_t head)
{
    for (unsigned round = 0;; round++) {
        uint32_t tail = __atomic_load_n(&shared.live.tail, __ATOMIC_ACQUIRE);

        if (head - tail < RING_CHUNKS)
            return;
        if (round < SPIN_ROUNDS) {
            __builtin_ia32_pause();
            continue;
        }
        tracer__check_consumer();
        __atomic_store_n(&shared.live.tail_waiter, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&shared.live.tail, __ATOMIC_SEQ_CST) == tail)
            futex__wait(&shared.live.tail, tail);
        __atomic_store_n(&shared.live.tail_waiter, 0, __ATOMIC_RELAXED);
    }
}

/* Publishes the current chunk and opens the next. */
static void ring__next_chunk(void)
{
    uint32_t head = shared.live.head + 1;

    *shared.live.pos = RING_WORD(RING_END, 0);
    /* The chunk after the published ones must be free before `pos` moves there. */
    __atomic_store_n(&shared.live.head, head, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&shared.live.head_waiter, __ATOMIC_SEQ_CST))
        futex__wake(&shared.live.head);
    ring__wait_for_room(head);
    ring__open_chunk(head);
}

static void tracer__was_reset(qemu_plugin_id_t id)
{
    (void)id;
}

static bool guest__peek(const void *address, void *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* The registers as they are before instruction `insn` has written any. */
static void snapshots__take(unsigned insn, unsigned n_hints)
{
    struct snapshot *s = &tracer.snapshot[tracer.n_snapshots++];

    s->insn = (uint16_t)insn;
    s->n_hints = (uint16_t)n_hints;
    if (tracer.registers_read)
        memcpy(s->regs, tracer.regs, sizeof s->regs);
    else if (!guest__peek(tracer.regs, s->regs, sizeof s->regs)) /* not trusted yet */
        tracer.registers_failed = true;
}

/* Of the accesses between two hints the first and the last matter. */
static void snapshots__note_access(const struct watched_insn *w)
{
    const struct snapshot *last;

    if (!tracer.watched || tracer.registers_failed)
        return;
    last = &tracer.snapshot[tracer.n_snapshots - 1];
    if (w->insn <= last->insn)
        return;
    if (w->n_hints == last->n_hints) {
        if (w->n_hints == tracer.watched->n_hints)
            return;
        if (w->n_hints == 0 || last[-1].n_hints == w->n_hints)
            tracer.n_snapshots--;
    }
    snapshots__take(w->insn, w->n_hints);
}

/* The watched block is over. */
static void snapshots__send(void)
{
    const struct watched_block *b = tracer.watched;
    uint64_t *pos = shared.live.pos;

    tracer.watched = NULL;
    shared.live.limit = shared.live.chunk + RING_CHUNK_WORDS;
    if (tracer.snapshot[tracer.n_snapshots - 1].n_hints != b->n_hints)
        snapshots__take(b->n_insns, b->n_hints);
    if (!tracer.registers_read)
        return;
    *pos++ = RING_WORD(RING_SNAPSHOTS, tracer.n_snapshots * RING_SNAPSHOT_WORDS);
    for (unsigned i = 0; i < tracer.n_snapshots; i++) {
        *pos++ = tracer.snapshot[i].insn;
        memcpy(pos, tracer.snapshot[i].regs, sizeof tracer.snapshot[i].regs);
        pos += RING_REGISTERS;
    }
    shared.live.pos = pos;
}

/* A block or definition found the chunk full, or what a watched block left behind, or this is a child
 * of the traced program. */
static void ring__full(void)
{
    if (!tracer.detached) {
        if (tracer.watched)
            snapshots__send();
        if (shared.live.pos >= shared.live.limit)
            ring__next_chunk();
        return;
    }
    shared.live.pos = shared.live.chunk;
    if (!tracer.reset) {
        tracer.reset = true;
        qemu_plugin_reset(tracer.id, tracer__was_reset);
    }
}

/* ---- what runs with the program ---- */

static void tracer__block(unsigned vcpu, void *word)
{
    uint64_t *pos;

    (void)vcpu;
    if (__builtin_expect(shared.live.pos >= shared.live.limit, 0))
        ring__full();
    pos = shared.live.pos;
    *pos = (uint64_t)(uintptr_t)word;
    shared.live.pos = pos + 1;
}

static void tracer__access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *word)
{
    uint64_t *pos = shared.live.pos;

    (void)vcpu;
    *pos = (vaddr & RING_ADDR_MASK) | (uint64_t)(uintptr_t)word |
           (uint64_t)(info >> INFO_STORE_BIT & 1) << RING_STORE_SHIFT |
           (uint64_t)(info >> INFO_SIZE_BIT & 7) << RING_SIZE_SHIFT;
    shared.live.pos = pos + 1;
}

#if defined(__x86_64__)
/* Generated code keeps the CPU state in RBP; its first words are the sixteen guest registers. */
#define REGISTER_CALLBACK(name)                                                                              \
    __attribute__((visibility("hidden"))) void name(unsigned vcpu, void *arg);                               \
    __attribute__((visibility("hidden"))) void name##_body(unsigned vcpu, void *arg, const uint64_t *regs);  \
    __asm__(".pushsection .text\n" #name ":\n\tmovq %rbp, %rdx\n\tjmp " #name "_body\n.popsection\n")
REGISTER_CALLBACK(tracer__watched_block);
REGISTER_CALLBACK(tracer__check);

void tracer__watched_block_body(unsigned vcpu, void *arg, const uint64_t *regs)
{
    const struct watched_block *b = arg;

    tracer__block(vcpu, (void *)(uintptr_t)b->word);
    if (tracer.registers_failed)
        return;
    tracer.watched = b;
    tracer.regs = regs;
    tracer.n_snapshots = 0;
    snapshots__take(0, 0);
    shared.live.limit = shared.live.chunk; /* whatever comes after the block enters ring__full */
}

void tracer__check_body(unsigned vcpu, void *arg, const uint64_t *regs)
{
    (void)vcpu;
    (void)arg;
    tracer.check = regs;
}

/* At its store a push has not moved the stack pointer yet. The state pointer is not trusted before. */
static void tracer__check_result(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *arg)
{
    uint64_t sp;

    (void)vcpu;
    (void)info;
    (void)arg;
    if (tracer.registers_read || tracer.registers_failed)
        return;
    if (guest__peek(&tracer.check[REG_SP], &sp, sizeof sp) && vaddr == sp - 8)
        tracer.registers_read = true;
    else
        tracer.registers_failed = true;
}

/* Generated code has the state pointer in RBP, qemu's own functions do not: the block's is used. */
static void tracer__watched_access(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *arg)
{
    const struct watched_insn *w = arg;

    tracer__access(vcpu, info, vaddr, (void *)(uintptr_t)w->word);
    snapshots__note_access(w);
}
#endif

/* ---- translation ---- */

static void ring__put(uint64_t word)
{
    *shared.live.pos++ = word;
}

/* Callers have made sure of room (the slack behind the limit). Returns the payload length in words. */
static unsigned ring__put_text(const char *text, size_t length)
{
    size_t words = length / 8 + 1;

    shared.live.pos[words - 1] = 0;
    memcpy(shared.live.pos, text, length);
    shared.live.pos += words;
    return (unsigned)words;
}

static void ring__make_room(void)
{
    if (shared.live.pos >= shared.live.limit)
        ring__full();
}

static void tracer__report_map(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
    size_t length = strlen(path);
    uint64_t *header;

    ring__make_room();
    header = shared.live.pos++;
    ring__put(start);
    ring__put(end);
    ring__put(offset);
    *header = RING_WORD(RING_MAP, 3 + ring__put_text(path, length));
}

static bool ranges__hold(const struct range *range, unsigned n, uint64_t addr)
{
    for (unsigned i = 0; i < n; i++)
        if (addr >= range[i].start && addr < range[i].end)
            return true;
    return false;
}

static void ranges__add(struct range *range, unsigned *n, uint64_t start, uint64_t end)
{
    if (*n == MAX_RANGES)
        *n = 0; /* only a cache: what is forgotten is reported once more */
    range[*n].start = start;
    range[*n].end = end;
    ++*n;
}

/* Forgets what was known about [start, end): the program has mapped something there. */
static void ranges__drop(uint64_t start, uint64_t end)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < tracer.n_ranges; i++)
        if (tracer.range[i].start >= end || tracer.range[i].end <= start)
            tracer.range[kept++] = tracer.range[i];
    tracer.n_ranges = kept;
}

struct map_line {
    uint64_t start, end, offset;
    const char *path; /* "" for anonymous memory */
};

static bool map_line__parse(char *line, struct map_line *map)
{
    int path_at = 0;
    char *newline = strchr(line, '\n');

    if (newline)
        *newline = 0;
    if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %n", &map->start, &map->end, &map->offset, &path_at) < 3)
        return false;
    map->path = path_at ? line + path_at : "";
    return true;
}

/* Calls `each` for the lines of /proc/self/maps until it returns true. */
static void maps__walk(bool (*each)(const struct map_line *map, uint64_t arg), uint64_t arg)
{
    FILE *in = fopen("/proc/self/maps", "re");
    char line[MAX_PATH + 256];
    struct map_line map;

    if (!in)
        return;
    while (fgets(line, sizeof line, in))
        if (map_line__parse(line, &map) && each(&map, arg))
            break;
    fclose(in);
}

static bool maps__note_host(const struct map_line *map, uint64_t arg)
{
    (void)arg;
    ranges__add(tracer.host, &tracer.n_host, map->start, map->end);
    return tracer.n_host == MAX_RANGES;
}

static bool maps__note_guest(const struct map_line *map, uint64_t pc)
{
    if (pc < map->start || pc >= map->end)
        return false;
    ranges__add(tracer.range, &tracer.n_ranges, map->start, map->end);
    if (map->path[0] == '/' && !ranges__hold(tracer.host, tracer.n_host, pc))
        tracer__report_map(map->start, map->end, map->offset, map->path);
    return true;
}

static void tracer__locate(uint64_t pc)
{
    if (ranges__hold(tracer.range, tracer.n_ranges, pc))
        return;
    maps__walk(maps__note_guest, pc);
}

/* What stands in front of an opcode. */
struct prefixes {
    unsigned length;
    bool operand_size;
};

static struct prefixes prefixes__read(const uint8_t *bytes, size_t size)
{
    struct prefixes p = {0};

    for (; p.length < size; p.length++) {
        uint8_t b = bytes[p.length];

        if (b == 0x66)
            p.operand_size = true;
        else if (b != 0x64 && b != 0x65 && b != 0x67 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26 &&
                 b != 0xf2 && b != 0xf3)
            break;
    }
    if (p.length < size && (bytes[p.length] & 0xf0) == 0x40)
        p.length++;
    return p;
}

static bool insn__is_push(const uint8_t *bytes, size_t size)
{
    return size == 1 && (bytes[0] & 0xf8) == 0x50;
}

/* Does it touch memory only as a hint: PREFETCHx, PREFETCHW, CLFLUSH(OPT), CLWB, CLDEMOTE? */
static bool insn__is_hint(const uint8_t *bytes, size_t size)
{
    struct prefixes p = prefixes__read(bytes, size);
    const uint8_t *op = bytes + p.length;
    unsigned reg;

    if (size - p.length < 3 || op[0] != 0x0f || op[2] >= 0xc0)
        return false;
    reg = op[2] >> 3 & 7;
    switch (op[1]) {
    case 0x0d:
        return true;
    case 0x18:
        return reg < 4;
    case 0x1c:
        return reg == 0;
    case 0xae:
        return reg == 7 || (reg == 6 && p.operand_size);
    default:
        return false;
    }
}

#if defined(__x86_64__)
static void insn__check_registers(struct qemu_plugin_insn *insn)
{
    if (tracer.n_checks == MAX_CHECKS)
        return;
    tracer.n_checks++;
    qemu_plugin_register_vcpu_insn_exec_cb(insn, tracer__check, CB_READ_REGS, NULL);
    qemu_plugin_register_vcpu_mem_cb(insn, tracer__check_result, CB_NO_REGS, MEM_BOTH, NULL);
}

static bool tb__has_hint(const struct qemu_plugin_tb *tb)
{
    size_t n = qemu_plugin_tb_n_insns(tb);

    for (size_t i = 0; i < n; i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        if (insn__is_hint(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn)))
            return true;
    }
    return false;
}

/* Callbacks for a block with hints; false: it has none, or there is no memory. */
static bool tb__watch(struct qemu_plugin_tb *tb, uint64_t block_word)
{
    size_t n = qemu_plugin_tb_n_insns(tb);
    struct watched_block *watched = NULL;
    unsigned n_hints = 0;

    if (tb__has_hint(tb)) /* kept as long as the translation: for ever */
        watched = malloc(sizeof *watched + n * sizeof watched->insn[0]);
    if (!watched)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        watched->insn[i] = (struct watched_insn){
            .word = (uint64_t)i << RING_INSN_SHIFT, .insn = (uint16_t)i, .n_hints = (uint16_t)n_hints};
        qemu_plugin_register_vcpu_mem_cb(insn, tracer__watched_access, CB_NO_REGS, MEM_BOTH,
                                         &watched->insn[i]);
        n_hints += insn__is_hint(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn));
    }
    watched->word = block_word;
    watched->n_insns = (uint16_t)n;
    watched->n_hints = (uint16_t)n_hints;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, tracer__watched_block, CB_READ_REGS, watched);
    return true;
}
#else
/* On other hosts the addresses of hints stay unknown. */
static bool tb__watch(struct qemu_plugin_tb *tb, uint64_t block_word)
{
    (void)tb, (void)block_word;
    return false;
}

static void insn__check_registers(struct qemu_plugin_insn *insn)
{
    (void)insn;
}
#endif

/* The bytes of one instruction: 15 and the size. An EVEX instruction stops qemu's decoder early; the
 * rest is read from memory so that it can be named. */
static void ring__put_insn(const uint8_t *bytes, size_t size, uint64_t vaddr)
{
    uint8_t packed[16] = {0};

    if (size > 15)
        size = 15;
    memcpy(packed, bytes, size);
    packed[15] = (uint8_t)size;
    if (bytes[0] == 0x62) {
        size_t whole = RING_PAGE_BYTES - vaddr % RING_PAGE_BYTES;
        uint8_t more[15];

        if (whole > 15)
            whole = 15;
        if (whole > size && guest__peek((const void *)(uintptr_t)vaddr, more, whole))
            memcpy(packed, more, whole);
    }
    memcpy(shared.live.pos, packed, 16);
    shared.live.pos += 2;
}

/* Tells once that prefetches will have no address. */
static void tracer__report_registers(void)
{
    if (!tracer.registers_failed || tracer.registers_reported)
        return;
    tracer.registers_reported = true;
    ring__make_room();
    ring__put(RING_WORD(RING_NO_REGISTERS, 0));
}

static void tracer__translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    size_t n = qemu_plugin_tb_n_insns(tb);
    uint64_t vaddr = qemu_plugin_tb_vaddr(tb), block = tracer.next_block;
    bool watched;

    (void)id;
    if (tracer.detached)
        return;
    tracer.next_block++;
    tracer__report_registers();
    tracer__locate(vaddr);
    ring__make_room();
    ring__put(RING_WORD(RING_DEFINE, 3 + 2 * n));
    ring__put(block);
    ring__put(vaddr);
    ring__put(n);
    watched = tb__watch(tb, RING_BLOCK | block);
    if (!watched)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, tracer__block, CB_NO_REGS,
                                             (void *)(uintptr_t)(RING_BLOCK | block));
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const uint8_t *bytes = qemu_plugin_insn_data(insn);
        size_t size = qemu_plugin_insn_size(insn);

        ring__put_insn(bytes, size, vaddr);
        if (insn__is_push(bytes, size))
            insn__check_registers(insn);
        if (!watched)
            qemu_plugin_register_vcpu_mem_cb(insn, tracer__access, CB_NO_REGS, MEM_BOTH,
                                             (void *)(uintptr_t)((uint64_t)i << RING_INSN_SHIFT));
        vaddr += size;
    }
}

/* ---- system calls ---- */

static void tracer__report_string(int64_t num, uint64_t guest_path)
{
    char path[256];
    size_t length = 0;
    uint64_t *header;

    while (length < sizeof path - 1 &&
           guest__peek((const char *)(uintptr_t)guest_path + length, path + length, 1) && path[length])
        length++;
    ring__make_room();
    header = shared.live.pos++;
    ring__put((uint64_t)num);
    *header = RING_WORD(RING_STRING, 1 + ring__put_text(path, length));
}

/* For rt_sigaction: the handler stands first in what its second argument points to. */
static uint64_t guest__word(uint64_t address)
{
    uint64_t word = 0;

    if (address && !guest__peek((const void *)(uintptr_t)address, &word, sizeof word))
        word = 0;
    return word;
}

/* A second thread would run beside this one without an order between their records. */
static void tracer__refuse_thread(void)
{
    ring__make_room();
    ring__put(RING_WORD(RING_THREAD, 0));
    syscall(SYS_exit_group, EXIT_TOOL);
}

/* Guest numbers are those of x86-64. */
enum {
    NR_OPEN = 2,
    NR_MMAP = 9,
    NR_MUNMAP = 11,
    NR_SIGACTION = 13,
    NR_MREMAP = 25,
    NR_CLONE = 56,
    NR_EXECVE = 59,
    NR_OPENAT = 257,
    NR_EXECVEAT = 322,
};

static void tracer__syscall(qemu_plugin_id_t id, unsigned vcpu, int64_t num, uint64_t a1, uint64_t a2,
                            uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)vcpu, (void)a7, (void)a8;
    if (tracer.detached)
        return;
    ring__make_room();
    ring__put(RING_WORD(RING_SYSCALL, 7));
    ring__put((uint64_t)num);
    ring__put(a1);
    ring__put(a2);
    ring__put(num == NR_SIGACTION ? guest__word(a2) : a3);
    ring__put(a4);
    ring__put(a5);
    ring__put(a6);
    if (num == NR_CLONE && (a1 & CLONE_VM) && !(a1 & CLONE_VFORK))
        tracer__refuse_thread();
    if (num == NR_OPEN || num == NR_EXECVE)
        tracer__report_string(num, a1);
    if (num == NR_OPENAT || num == NR_EXECVEAT)
        tracer__report_string(num, a2);
    if (num == NR_EXECVE || num == NR_EXECVEAT)
        __atomic_store_n(&shared.live.execing, 1, __ATOMIC_RELEASE);
    if (num == NR_MMAP)
        tracer.mmap_bytes = a2;
    if (num == NR_MUNMAP || num == NR_MREMAP)
        ranges__drop(a1, a1 + a2);
}

static void tracer__syscall_ret(qemu_plugin_id_t id, unsigned vcpu, int64_t num, int64_t ret)
{
    (void)id, (void)vcpu;
    if (tracer.detached)
        return;
    if (num == NR_EXECVE || num == NR_EXECVEAT)
        __atomic_store_n(&shared.live.execing, 0, __ATOMIC_RELEASE);
    if (num == NR_MMAP && (uint64_t)ret < (uint64_t)-4095)
        ranges__drop((uint64_t)ret, (uint64_t)ret + tracer.mmap_bytes);
    ring__make_room();
    ring__put(RING_WORD(RING_SYSCALL_RET, 2));
    ring__put((uint64_t)num);
    ring__put((uint64_t)ret);
}

/* ---- start ---- */

/*
 * A child of the program keeps the instrumentation and the shared memory, and must write nothing
 * into it. It gets memory of its own; the first block it runs takes the callbacks away.
 */
static void tracer__forked(void)
{
    uint64_t *scratch;

    tracer.detached = true;
    munmap(tracer.chunks, RING_BYTES - RING_PAGE_BYTES);
    scratch = mmap(NULL, RING_STRIDE * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (scratch == MAP_FAILED || mmap(&shared, RING_PAGE_BYTES, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != &shared)
        _exit(EXIT_TOOL);
    shared.live.chunk = shared.live.pos = shared.live.limit = scratch;
}

/* A second thread that came by another way than clone. */
static void tracer__vcpu_init(qemu_plugin_id_t id, unsigned vcpu)
{
    (void)id;
    if (vcpu == 0)
        maps__walk(maps__note_host, 0);
    else if (!tracer.detached)
        tracer__refuse_thread();
}

/* Asking qemu about every access costs more than the rest of the callback: its bits are known, and
 * checked once. */
static bool tracer__check_bits(void)
{
    for (unsigned bit = 0; bit < 32; bit++)
        if (qemu_plugin_mem_is_store(1u << bit) != (bit == INFO_STORE_BIT))
            return false;
    for (unsigned size = 0; size < 8; size++)
        if (qemu_plugin_mem_size_shift(size << INFO_SIZE_BIT) != size)
            return false;
    return true;
}

static bool tracer__map_ring(int fd)
{
    void *page = mmap(&shared, RING_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    void *chunks =
        mmap(NULL, RING_BYTES - RING_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, RING_PAGE_BYTES);

    close(fd); /* the program's descriptors keep their numbers */
    tracer.chunks = chunks;
    return page != MAP_FAILED && chunks != MAP_FAILED;
}

static int tracer__refuse(const char *why)
{
    fprintf(stderr, "fathom-qemu: %s\n", why);
    return 1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    int fd = -1;

    for (int i = 0; i < argc; i++)
        sscanf(argv[i], "ring=%d", &fd);
    if (fd < 0)
        return tracer__refuse("this plugin is started by `fathom run`, not by hand");
    if (info->system_emulation || strcmp(info->target_name, "x86_64") != 0)
        return tracer__refuse("only qemu-x86_64 (user mode) is supported");
    if (!tracer__map_ring(fd))
        return tracer__refuse("cannot map the shared trace memory");
    if (!tracer__check_bits())
        return tracer__refuse("this qemu describes memory accesses in an unknown way");
    tracer.id = id;
    ring__open_chunk(0);
    pthread_atfork(NULL, NULL, tracer__forked);
    qemu_plugin_register_vcpu_init_cb(id, tracer__vcpu_init);
    qemu_plugin_register_vcpu_tb_trans_cb(id, tracer__translate);
    qemu_plugin_register_vcpu_syscall_cb(id, tracer__syscall);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, tracer__syscall_ret);
    __atomic_store_n(&shared.live.hello, RING_MAGIC, __ATOMIC_SEQ_CST);
    futex__wake(&shared.live.hello);
    while (!__atomic_load_n(&shared.live.go, __ATOMIC_ACQUIRE)) {
        tracer__check_consumer();
        futex__wait(&shared.live.go, 0);
    }
    return 0;
}
