/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random code with prefetches whose addresses are told a second time, in a way that a memory trace shows.
 * Each piece is: some instructions, a prefetch or flush, LEA of its operand into R15, some instructions, a
 * jump, and then for each of the six low bytes of R15 a CMPB $0,(RSI,R13) with that byte in R13. RSI is
 * constant and shown by a CMPB $0,(RSI) at the start. The code runs several times. With the argument
 * "lost", the one prefetch has an address that cannot be known.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PIECES = 3000,
    PASSES = 3,
    CODE_BYTES = 4 << 20,
    RAX = 0,
    RSP = 4,
    RSI = 6,
    R12 = 12,
    R15 = 15,
    DATA_BYTES = 4096,
};

static uint8_t *at; /* next byte of code */
static uint64_t seed = 1;

static unsigned random__below(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((seed >> 33) % n);
}

static void put(unsigned byte)
{
    *at++ = (uint8_t)byte;
}

static void put_bytes(const void *bytes, size_t n)
{
    memcpy(at, bytes, n);
    at += n;
}

static void put_32(uint32_t value)
{
    put_bytes(&value, sizeof value);
}

/* A register that may hold anything. */
static unsigned any_register(void)
{
    static const uint8_t FREE[] = {0, 1, 2, 3, 5, 7, 8, 9, 10, 11, 12};

    return FREE[random__below(sizeof FREE)];
}

/* REX, opcode (0x1XX: two bytes) and ModRM with two registers. */
static void put_registers(int wide, unsigned opcode, unsigned reg, unsigned rm)
{
    put(0x40u | (wide ? 8u : 0) | (reg >> 3) << 2 | rm >> 3);
    if (opcode & 0x100)
        put(0x0f);
    put(opcode & 0xff);
    put(0xc0u | (reg & 7) << 3 | (rm & 7));
}

struct operand {
    unsigned base, index, scale, mod;
    int32_t disp;
};

static struct operand random_operand(void)
{
    struct operand o = {.base = any_register(), .index = any_register(), .scale = random__below(4)};

    o.mod = random__below(3);
    o.disp = (int32_t)random__below(1u << 20) - (1 << 19);
    if (random__below(3) == 0)
        o.index = RSP; /* none */
    if (random__below(8) == 0)
        o.base = RSI;
    return o;
}

/* With a SIB byte always. Base RBP or R13 without displacement means none. */
static void put_memory(int wide, unsigned opcode, unsigned reg, struct operand o)
{
    put(0x40u | (wide ? 8u : 0) | (reg >> 3) << 2 | (o.index >> 3) << 1 | o.base >> 3);
    if (opcode & 0x100)
        put(0x0f);
    put(opcode & 0xff);
    put(o.mod << 6 | (reg & 7) << 3 | 4);
    put(o.scale << 6 | (o.index & 7) << 3 | (o.base & 7));
    if (o.mod == 1)
        put((unsigned)o.disp & 255);
    else if (o.mod == 2 || (o.base & 7) == 5)
        put_32((uint32_t)o.disp);
}

/* Effects on registers that can be followed. */
static void put_simple(void)
{
    static const uint16_t TWO[] = {0x01, 0x09, 0x21, 0x29, 0x31, 0x03,  0x0b,  0x23,  0x2b,  0x33,
                                   0x89, 0x8b, 0x39, 0x85, 0x63, 0x1af, 0x1b6, 0x1b7, 0x1be, 0x1bf};
    static const uint8_t SHIFT[] = {0, 1, 4, 5, 7}, GROUP[] = {0, 1, 4, 5, 6, 7};
    unsigned a = any_register(), b = any_register();
    int wide = (int)random__below(2);

    switch (random__below(12)) {
    case 0:
        put_registers(wide, 0x83, GROUP[random__below(6)], a);
        put(random__below(256));
        break;
    case 1:
        put_registers(wide, 0x81, GROUP[random__below(6)], a);
        put_32((uint32_t)seed);
        break;
    case 2:
        put_registers(wide, 0xc1, SHIFT[random__below(5)], a);
        put(random__below(70));
        break;
    case 3:
        put_registers(wide, 0xd1, SHIFT[random__below(5)], a);
        break;
    case 4:
        put_registers(wide, 0x6b, a, b);
        put(random__below(256));
        break;
    case 5:
        put_registers(wide, 0x69, a, b);
        put_32((uint32_t)seed);
        break;
    case 6:
        put_registers(wide, 0xf7, 2 + random__below(2), a);
        break;
    case 7:
        put_registers(wide, 0xff, random__below(2), a);
        break;
    case 8:
        put_memory(wide, 0x8d, a, random_operand());
        break;
    case 9:
        put_registers(wide, 0xc7, 0, a);
        put_32((uint32_t)seed);
        break;
    case 10: /* without REX: MOVZX, MOVSX of AH..DH and others; CDQE; ADD to RAX */
        switch (random__below(3)) {
        case 0:
            put(0x0f);
            put(random__below(2) ? 0xb6 : 0xbe);
            put(0xc0u | random__below(4) << 3 | random__below(4) | random__below(2) << 2);
            break;
        case 1:
            put(wide ? 0x48 : 0x40);
            put(0x98);
            break;
        default:
            put(0x48);
            put(0x05u | random__below(2) << 5);
            put_32((uint32_t)seed);
            break;
        }
        break;
    default:
        put_registers(wide, TWO[random__below(sizeof TWO / sizeof TWO[0])], a, b);
        break;
    }
}

/* Effects that cannot: flags, byte and word writes, two results. */
static void put_other(void)
{
    static const uint16_t TWO[] = {0x11, 0x19, 0x87, 0x88, 0x8a, 0x00, 0x142, 0x145, 0x1a3, 0x1c1};
    unsigned a = any_register(), b = any_register();
    int wide = (int)random__below(2);

    switch (random__below(6)) {
    case 0:
        put_registers(wide, 0xf7, 4 + random__below(2), a); /* MUL, IMUL */
        break;
    case 1:
        put_registers(wide, 0xd3, 4 + random__below(2), a); /* by CL */
        break;
    case 2:
        put_registers(0, 0x192, 0, a); /* SETB */
        break;
    case 3: /* BSWAP */
        put(0x48u | a >> 3);
        put(0x0f);
        put(0xc8u | (a & 7));
        break;
    case 4: /* MOV, 16 bits */
        put(0x66);
        put_registers(0, 0x89, a, b);
        break;
    default:
        put_registers(wide, TWO[random__below(sizeof TWO / sizeof TWO[0])], a, b);
        break;
    }
}

static void put_access(void)
{
    static const uint16_t OPCODE[] = {0x8b, 0x8b, 0x89, 0x03, 0x01, 0x63, 0x1b6, 0x3b, 0x1c1, 0x87};
    struct operand data = {.base = RSI, .index = RSP, .mod = 2};
    unsigned a = any_register();

    data.disp = (int32_t)random__below(DATA_BYTES - 8);
    switch (random__below(5)) {
    case 0:
        put(0x40u | a >> 3);
        put(0x50u | (a & 7));
        a = any_register();
        put(0x40u | a >> 3);
        put(0x58u | (a & 7));
        break;
    case 1: /* MOV (register) into the same one: its address is a table's */
        put_registers(1, 0x89, RSI, a);
        data.base = a;
        data.mod = 0;
        if ((a & 7) != 5)
            put_memory(1, 0x8b, a, data);
        break;
    default:
        put_memory((int)random__below(2), OPCODE[random__below(sizeof OPCODE / sizeof OPCODE[0])], a, data);
        break;
    }
}

static void put_some(unsigned most)
{
    for (unsigned n = random__below(most + 1); n > 0; n--)
        switch (random__below(8)) {
        case 0:
            put_access();
            break;
        case 1:
            put_other();
            break;
        default:
            put_simple();
            break;
        }
}

static void put_check(void)
{
    static const uint8_t JUMP[] = {0xeb, 0x00};
    static const uint8_t START[] = {0x4d, 0x89, 0xfe};     /* mov %r15,%r14 */
    static const uint8_t BYTE[] = {0x45, 0x0f, 0xb6, 0xee, /* movzx %r14b,%r13d */
                                   0x42, 0x80, 0x3c, 0x2e, 0x00, 0x49, 0xc1, 0xee, 0x08}; /* shr $8,%r14 */

    put_bytes(JUMP, sizeof JUMP);
    put_bytes(START, sizeof START);
    for (unsigned i = 0; i < 6; i++)
        put_bytes(BYTE, sizeof BYTE);
}

static void put_piece(void)
{
    struct operand o = random_operand();

    put_some(12);
    if (random__below(8) == 0) { /* a flush; its address must be a mapped one */
        o = (struct operand){.base = RSI, .index = any_register(), .mod = 2, .disp = 99};
        put_registers(0, 0x1b6, o.index, any_register());
        if (random__below(2))
            put(0x66); /* CLFLUSHOPT */
        put_memory(0, 0x1ae, 7, o);
    } else {
        put_memory(0, 0x118, random__below(4), o);
    }
    put_memory(1, 0x8d, R15, o);
    put_some(8);
    put_check();
}

static void put_all(void)
{
    static const uint8_t BEGIN[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, /* push */
                                    0x48, 0x89, 0xfe, 0x80, 0x3e, 0x00}; /* mov %rdi,%rsi; cmpb $0,(%rsi) */
    static const uint8_t END[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3};

    put_bytes(BEGIN, sizeof BEGIN);
    for (unsigned i = 0; i < PIECES; i++)
        put_piece();
    put_bytes(END, sizeof END);
}

static uint8_t data[DATA_BYTES];

int main(int argc, char **argv)
{
    uint8_t *code =
        mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*run)(uint8_t *);

    if (code == MAP_FAILED)
        return 1;
    if (argc > 1 && strcmp(argv[1], "lost") == 0) {
        __asm__ volatile("jmp 1f\n1: mov (%0), %%rax\nprefetcht0 64(%%rax)\nxor %%eax, %%eax\njmp 2f\n2:"
                         :
                         : "r"(data)
                         : "rax", "cc", "memory");
        return 0;
    }
    for (unsigned i = 0; i < DATA_BYTES; i++)
        data[i] = (uint8_t)random__below(256);
    at = code;
    put_all();
    memcpy(&run, &code, sizeof run);
    for (unsigned i = 0; i < PASSES; i++)
        run(data);
    return 0;
}
