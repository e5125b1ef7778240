/* SPDX-License-Identifier: Apache-2.0 */
/* fathom loop --sweep and --what-if. */
#include "cmd/loop.h"
#include "fathom/status.h"

int loop_sweep(const struct loop_request *request, const struct loop_inputs *in)
{
    struct status st = {0};
    (void)request;
    (void)in;
    status__fail(&st, "--sweep and --what-if are not part of this build");
    return options__fail(&st);
}
