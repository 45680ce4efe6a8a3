#include "decode/recording_key.h"

#include "base/alloc.h"
#include "decode/recording_private.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { PIECE = 1 << 20 }; /* of a recording, whose pages are given back when it is hashed */

static void to_canonical(XXH128_hash_t hash, uint8_t digest[16])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    memcpy(digest, canonical.digest, 16);
}

static void digest_bytes(const void *data, size_t size, uint8_t digest[16])
{
    to_canonical(XXH3_128bits(data, size), digest);
}

static void add_digest(struct csp_buf *key, const uint8_t digest[16])
{
    for (int i = 0; i < 16; i++)
        csp_buf_printf(key, "%02x", digest[i]);
}

void csp_recording_digest(const struct csp_recording *recording, uint8_t digest[16])
{
    const struct csp_file *file = &recording->file;
    XXH3_state_t *state = XXH3_createState();
    XXH3_128bits_reset(state);
    for (size_t at = 0; at < file->size; at += PIECE) {
        size_t left = file->size - at, size = left < PIECE ? left : PIECE;
        csp_file_expect(file, at, size);
        XXH3_128bits_update(state, file->data + at, size);
        csp_file_done(file, at, size);
    }
    to_canonical(XXH3_128bits_digest(state), digest);
    XXH3_freeState(state);
}

void csp_recording_outline(const struct csp_recording *recording,
                           struct csp_recording_outline *outline)
{
    const struct csp_thread_owners *owners = &recording->contents.owners;
    struct csp_map seen = {0};
    *outline = (struct csp_recording_outline){0};
    csp_recording_digest(recording, outline->digest);
    for (uint32_t i = 0; i < csp_spaces_binary_count(recording->spaces); i++)
        csp_vec_push(&outline->files, *csp_spaces_binary(recording->spaces, i));
    for (size_t i = 0; i < owners->owners.len; i++) {
        uint32_t pid = owners->owners.data[i].pid;
        uint64_t *is_there = csp_map_at(&seen, pid);
        if (!*is_there)
            csp_vec_push(&outline->processes, pid);
        *is_there = 1;
    }
    csp_map_free(&seen);
}

void csp_recording_outline_free(struct csp_recording_outline *outline)
{
    csp_vec_free(&outline->files);
    csp_vec_free(&outline->processes);
}

/* Whether a process of the recording still runs, in whose root folder the file is. */
static bool is_in_a_process(const struct csp_recording_outline *outline, const char *path)
{
    bool found = false;
    for (size_t i = 0; i < outline->processes.len && !found && path[0] == '/'; i++) {
        char *there = csp_asprintf("/proc/%" PRIu32 "/root%s", outline->processes.data[i], path);
        found = access(there, R_OK) == 0;
        free(there);
    }
    return found;
}

bool csp_recording_outline_key(const struct csp_recording_outline *outline,
                               struct csp_images *images, struct csp_buf *key)
{
    uint8_t digest[16];
    bool known = true;
    csp_buf_add_string(key, "recording ");
    add_digest(key, outline->digest);
    csp_buf_add_char(key, '\n');
    for (size_t i = 0; i < outline->files.len; i++) {
        const struct csp_binary *binary = &outline->files.data[i];
        char build_id[41];
        const char *why = NULL;
        const struct csp_image *image =
            csp_images_find_file(images, binary->path, &binary->build_id, &why);
        csp_build_id_text(&binary->build_id, build_id);
        csp_buf_printf(key, "mapped %s (%s) ", binary->path, build_id);
        if (image) {
            digest_bytes(image->data, image->size, digest);
            add_digest(key, digest);
            csp_buf_add_char(key, '\n');
        } else {
            csp_buf_printf(key, "%s\n", why);
            known &= !is_in_a_process(outline, binary->path);
        }
    }
    return known;
}

bool csp_recording_key(struct csp_recording *recording, struct csp_buf *key)
{
    struct csp_recording_outline outline;
    csp_recording_outline(recording, &outline);
    bool known = csp_recording_outline_key(&outline, recording->images, key);
    csp_recording_outline_free(&outline);
    return known;
}
