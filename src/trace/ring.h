/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The shared memory between fathom and its qemu plugin: one producer, one consumer, chunks of words. */
#ifndef FATHOM_TRACE_RING_H
#define FATHOM_TRACE_RING_H

#include <stdint.h>

/*
 * Layout of the shared file: one page `struct ring_live`, then RING_CHUNKS chunks of RING_STRIDE words.
 *
 * The producer fills a chunk until at least RING_CHUNK_WORDS are in it, ends it with RING_END and
 * publishes it by head++. The consumer gives chunks back by tail++. head - tail <= RING_CHUNKS - 1.
 * Room is checked only where a block starts: the slack behind RING_CHUNK_WORDS holds everything that
 * one block can write (512 instructions of at most 130 pieces), its snapshots and one block definition.
 * When the producer has died, `pos` tells how much of the unpublished chunk is valid.
 */
enum {
    RING_MAGIC = 0x66746d33,
    RING_PAGE_BYTES = 4096,
    RING_CHUNKS = 8,
    RING_CHUNK_WORDS = 1 << 14,
    RING_STRIDE = RING_CHUNK_WORDS + (1 << 17),
};
#define RING_BYTES (RING_PAGE_BYTES + (uint64_t)RING_CHUNKS * RING_STRIDE * 8)

/* The first page. The plugin maps it over a static variable, so that its hot path has no indirection. */
struct ring_live {
    /* producer only, its own addresses */
    uint64_t *pos;    /* next word */
    uint64_t *limit;  /* a block that starts at or behind it goes into the next chunk */
    uint64_t *chunk;  /* first word of the current chunk */
    uint32_t execing; /* inside execve: if the process image changes, tracing is over */
    uint32_t number;  /* of the current chunk, counted up from 0 */
    uint8_t pad1[64 - 32];
    uint32_t head; /* chunks published; a futex */
    uint32_t head_waiter;
    uint32_t hello; /* RING_MAGIC once the plugin is there; a futex */
    uint8_t pad2[64 - 12];
    uint32_t tail; /* chunks given back; a futex */
    uint32_t tail_waiter;
    uint32_t go; /* set by the consumer: the program may start; a futex */
    uint32_t consumer_pid;
};

/*
 * Words.
 *   block    1 | id                                                   a block starts to execute
 *   access   00 | size log2 (3) | store (1) | insn (9) | address (48)   in program order after its block
 *   control  011 | length in words (24) | kind (8)  + payload
 * written from bit 63 down: block has bit 63, control has bits 62 and 61.
 */
#define RING_BLOCK (1ull << 63)
#define RING_CONTROL (3ull << 61)
#define RING_ADDR_MASK ((1ull << 48) - 1)
enum { RING_INSN_SHIFT = 48, RING_STORE_SHIFT = 57, RING_SIZE_SHIFT = 58, RING_INSN_MASK = 511 };

enum ring_kind {
    RING_END,          /* of a chunk */
    RING_DEFINE,       /* id, vaddr, n, then n times two words: 15 bytes and the size in the last byte */
    RING_SYSCALL,      /* number, six arguments; of rt_sigaction the third is the handler */
    RING_SYSCALL_RET,  /* number, result */
    RING_MAP,          /* start, end, file offset, path bytes padded with zeros */
    RING_STRING,       /* number of the system call, path bytes: opened or executed */
    RING_THREAD,       /* a second thread was about to start */
    RING_SNAPSHOTS,    /* of the block that has just run, see below */
    RING_NO_REGISTERS, /* guest registers cannot be read: addresses of prefetches are unknown */
};

/*
 * Prefetches and cache-line flushes have no access record: their addresses follow from guest registers.
 * After a block that contains any come snapshots in order, each RING_SNAPSHOT_WORDS long: an instruction's
 * number and the sixteen general registers (in encoding order) as they are before that instruction has
 * written any; the number of instructions stands for the block's end. Registers are right only at the
 * start, at memory accesses and at the end. Each hint has the nearest snapshot on either side, if any.
 */
enum { RING_REGISTERS = 16, RING_SNAPSHOT_WORDS = 1 + RING_REGISTERS };
#define RING_WORD(kind, n_words) (RING_CONTROL | (uint64_t)(n_words) << 8 | (uint64_t)(kind))
#define RING_KIND(word) ((unsigned)((word)&0xff))
#define RING_LENGTH(word) ((unsigned)((word) >> 8 & 0xffffff))

#endif
