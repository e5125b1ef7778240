/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/find_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profile/demangle.h"

static bool equals(const char *text, size_t n, const char *wanted)
{
    return strlen(wanted) == n && memcmp(text, wanted, n) == 0;
}

/* Start of the bracketed part that ends at text[end - 1]; `end` if there is none. */
static size_t opening(const char *text, size_t end, char open, char close)
{
    size_t depth = 0;
    if (end == 0 || text[end - 1] != close)
        return end;
    for (size_t i = end; i-- > 0;) {
        if (text[i] == close)
            depth++;
        else if (text[i] == open && --depth == 0)
            return i;
    }
    return end;
}

/* Where the name proper starts: after a return type, which only instances of templates have. */
static size_t name_start(const char *text, size_t end)
{
    size_t depth = 0, start = 0;
    for (size_t i = 0; i < end; i++) {
        if (strncmp(text + i, "operator", 8) == 0)
            break;
        if (text[i] == '<' || text[i] == '(')
            depth++;
        else if ((text[i] == '>' || text[i] == ')') && depth > 0)
            depth--;
        else if (text[i] == ' ' && depth == 0)
            start = i + 1;
    }
    return start;
}

static bool readable_is(const char *name, const char *wanted)
{
    size_t end = strlen(name), start;

    if (equals(name, end, wanted))
        return true;
    /* "f(int) const [clone .cold]": qualifiers follow the argument list */
    const char *clone = strstr(name, " [clone");
    if (clone)
        end = (size_t)(clone - name);
    while (end > 6 && memcmp(name + end - 6, " const", 6) == 0)
        end -= 6;
    end = opening(name, end, '(', ')');
    if (equals(name, end, wanted))
        return true;
    start = name_start(name, end);
    if (equals(name + start, end - start, wanted))
        return true;
    end = opening(name, end, '<', '>');
    return end > start && equals(name + start, end - start, wanted);
}

bool name__is_function(const char *symbol, const char *wanted)
{
    size_t plain = strcspn(symbol, "@");
    if (strcmp(symbol, wanted) == 0 || equals(symbol, plain, wanted))
        return true;
    const char *dot = symbol[0] ? strchr(symbol + 1, '.') : NULL;
    if (dot && equals(symbol, (size_t)(dot - symbol), wanted))
        return true;
    char *readable = demangle(symbol);
    bool is = readable_is(readable ? readable : symbol, wanted);
    free(readable);
    return is;
}

bool name__is_file(const char *path, const char *wanted)
{
    while (text__starts_with(wanted, "./"))
        wanted += 2;
    size_t n_path = strlen(path), n = strlen(wanted);
    if (n == 0 || n > n_path || strcmp(path + n_path - n, wanted) != 0)
        return false;
    return n == n_path || path[n_path - n - 1] == '/' || wanted[0] == '/';
}
