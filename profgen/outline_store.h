/* What opening recordings told, kept from one run to the next (cache/store.h, kind "recordings"),
 * so that a result that was kept is found without opening its recordings: reading all records of
 * one takes many times longer than its digest. An entry holds
 *
 *     u32 the number of the main program, CSP_NO_PROGRAM when that was not asked
 *     u32 how many processes, u32 of each its number
 *     u32 how many files, of each: u8 the size of its build-id, 20 bytes, its path, NUL
 *     the messages of opening it (base/messages.h)
 */
#ifndef CSP_PROFGEN_OUTLINE_STORE_H
#define CSP_PROFGEN_OUTLINE_STORE_H

#include "cache/store.h"
#include "decode/recording_key.h"

#define CSP_NO_PROGRAM UINT32_MAX

struct csp_known_recording {
    struct csp_recording_outline outline;
    uint32_t program;     /* csp_recording_main_binary */
    const char *messages; /* of opening it and choosing the program, for csp_messages_again */
    size_t messages_size;
    struct csp_store_entry entry;
};

/* Finds what is known of a file's contents. Of messages its path is a part; `program`: whether the
 * main program is asked for. Only regular files are looked at: reading others may use them up. Free
 * after true. */
bool csp_outline_store_get(struct csp_store *store, const char *path, bool program,
                           struct csp_known_recording *known);
void csp_known_recording_free(struct csp_known_recording *known);
/* Keeps it of a recording that is open. `program` may be CSP_NO_PROGRAM. */
void csp_outline_store_put(struct csp_store *store, const struct csp_recording *recording,
                           uint32_t program, const struct csp_buf *messages);

#endif
