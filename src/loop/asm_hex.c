/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "loop/asm.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

int hex__parse(const char *text, uint8_t *bytes, size_t cap, size_t *size, struct status *st)
{
    size_t n = 0;
    for (const char *p = text; *p;) {
        if (is_separator(*p)) {
            p++;
            continue;
        }
        if ((p[0] == '0' || p[0] == '\\') && (p[1] | 0x20) == 'x') {
            p += 2;
            if (digit(*p) < 0)
                return status__fail_with(st, EXIT_CODE_USAGE, "hex: digits are missing after character %zu",
                                         (size_t)(p - text));
        }
        int high = digit(p[0]), low = high < 0 ? -1 : digit(p[1]);
        if (high < 0)
            return status__fail_with(st, EXIT_CODE_USAGE, "hex: character %zu is no hexadecimal digit",
                                     (size_t)(p - text) + 1);
        if (low < 0)
            return status__fail_with(
                st, EXIT_CODE_USAGE,
                "hex: the byte that starts at character %zu has one digit instead of two",
                (size_t)(p - text) + 1);
        if (n == cap)
            return status__fail_with(st, EXIT_CODE_USAGE, "hex: more than %zu bytes; a loop has fewer", cap);
        bytes[n++] = (uint8_t)(high << 4 | low);
        p += 2;
    }
    *size = n;
    return 0;
}
