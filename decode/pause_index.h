/* The samples of a recording that have to do with trace windows, by the CPU they were taken on.
 *
 * A pause event turned the trace unit off and took a callchain; a resume event turned it on
 * (attr.aux_action, Linux 6.13). What is kept is small; the sample itself stays where it is in the
 * recording and is parsed again when it is needed.
 */
#ifndef CSP_DECODE_PAUSE_INDEX_H
#define CSP_DECODE_PAUSE_INDEX_H

#include "base/map.h"
#include "base/vec.h"
#include "decode/stitch.h"
#include "perfdata/perfdata.h"

/* The pauses and resumes of one CPU, or of one thread when samples do not tell the CPU, in time
 * order. */
struct csp_pause_stream {
    uint32_t cpu, tid; /* CSP_NO_TID: not known */
    CSP_VEC(struct csp_stitch_pause) pauses;
    CSP_VEC(struct csp_stitch_resume) resumes;
    CSP_VEC(uint64_t) losses, switches; /* as in struct csp_stitch_stream */
    uint64_t first_time, first_ordinal; /* of its first sample */
    uint64_t last_time;                 /* of its last one; UINT64_MAX without any */
    bool is_disordered;                 /* its samples did not all come in time order */
};

/* Something that was lost, or a switch. */
struct csp_pause_incident {
    uint64_t time, ordinal;
    uint32_t cpu, tid;
    bool is_loss;
};

struct csp_pause_index {
    CSP_VEC(struct csp_pause_stream) streams; /* by the time of their first sample */
    CSP_VEC(struct csp_pause_incident) incidents;
    struct csp_map stream_of;
    uint64_t last_key;        /* in it, of the stream that was added to last, and … */
    size_t last;              /* … that stream */
    uint64_t pauses, resumes; /* samples, of pause and of resume events */
    uint64_t malformed;
};

/* Takes a sample record, or one that tells of a loss or a switch (others are ignored), in any
 * order, but those of equal time in that of their ordinals. The records must outlive the index. */
void csp_pause_index_add(struct csp_pause_index *index, const struct csp_perfdata *reader,
                         const struct csp_record *record);
/* Moves all of `more` behind what is there: `more` is empty then, and can be used again. */
void csp_pause_index_append(struct csp_pause_index *index, struct csp_pause_index *more);
/* When all were added: puts them in order, and losses and switches where they belong. */
void csp_pause_index_finish(struct csp_pause_index *index);
/* The stream of a CPU, else of a thread, else null. */
const struct csp_pause_stream *csp_pause_index_find(const struct csp_pause_index *index,
                                                    uint32_t cpu, uint32_t tid);
void csp_pause_index_free(struct csp_pause_index *index);

/* The user part of a callchain: number of its first entry and how many. The kernel writes
 * PERF_CONTEXT_USER before it. */
struct csp_user_frames {
    uint64_t first, len;
};
struct csp_user_frames csp_sample_user_frames(const struct csp_sample_record *sample);

#endif
