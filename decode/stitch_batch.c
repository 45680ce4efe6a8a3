#include "decode/stitch_batch.h"

struct csp_stitch_batch_done csp_stitch_cut_batch(const struct csp_stitch_pair *pairs,
                                                  size_t pauses, size_t windows, size_t kept)
{
    bool few = windows / 2 < kept;
    struct csp_stitch_batch_done done = {.windows = windows - (few ? windows / 2 : kept)};
    size_t last = 0; /* pause with a window that is done */
    for (size_t j = 0; j < pauses; j++) {
        if (pairs[j].window == CSP_STITCH_NONE)
            continue;
        if (pairs[j].window >= done.windows) {
            done.pauses = j;
            return done;
        }
        done.used++;
        last = j;
    }
    done.pauses = pauses;
    if (few && done.used) {
        done.windows = pairs[last].window + 1;
        done.pauses = last + 1;
    }
    return done;
}
