#include "decode/stitch_batch.h"

struct csp_stitch_batch_done csp_stitch_cut_batch(const struct csp_stitch_pair *pairs,
                                                  size_t pauses, size_t windows, size_t kept)
{
    struct csp_stitch_batch_done done = {.windows =
                                             windows - (windows / 2 < kept ? windows / 2 : kept)};
    for (size_t j = 0; j < pauses; j++) {
        if (pairs[j].window == CSP_STITCH_NONE)
            continue;
        if (pairs[j].window >= done.windows) {
            if (!done.used)
                done.pauses = j;
            return done;
        }
        done.used++;
        done.pauses = j + 1;
    }
    if (!done.used)
        done.pauses = pauses;
    return done;
}

struct csp_stitch_batch_done csp_stitch_cut_last_batch(const struct csp_stitch_pair *pairs,
                                                       size_t pauses, size_t windows)
{
    struct csp_stitch_batch_done done = {.windows = windows, .pauses = pauses};
    for (size_t j = 0; j < pauses; j++)
        done.used += pairs[j].window != CSP_STITCH_NONE;
    return done;
}
