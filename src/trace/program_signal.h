/* SPDX-License-Identifier: Apache-2.0 */
/* Linux signal numbers of x86-64, for files that cannot include <signal.h>: its REG_* names for machine
 * contexts collide with those of fathom/insn.h. */
#ifndef FATHOM_TRACE_PROGRAM_SIGNAL_H
#define FATHOM_TRACE_PROGRAM_SIGNAL_H

enum { GUEST_SIGILL = 4, GUEST_SIGBUS = 7, GUEST_SIGFPE = 8, GUEST_SIGSEGV = 11, GUEST_SIGNALS = 65 };
/* No block starts there. */
#define NO_HANDLER UINT64_MAX

#endif
