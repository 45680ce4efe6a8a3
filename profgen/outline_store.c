#include "profgen/outline_store.h"

#include "base/file.h"
#include "base/messages.h"
#include "profgen/aggregate.h"
#include "profgen/run_key.h"

#include <string.h>
#include <sys/stat.h>

static const char kind[] = "recordings";

static struct csp_run_key key_of(const uint8_t digest[16], const char *path, bool program)
{
    struct csp_run_key key;
    csp_run_key_begin(&key, "recording 1");
    csp_run_key_line(&key, "program %d", program);
    csp_run_key_line(&key, "path %s", path);
    csp_buf_add(&key.text, digest, 16);
    return key;
}

static bool digest_file(struct csp_digest *digest, const char *path)
{
    struct csp_input input;
    struct stat status;
    if (!strcmp(path, "-") || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    bool is_read =
        csp_input_open(&input, path, NULL) == 0 && csp_digest_input(digest, &input, NULL) == 0;
    csp_input_close(&input);
    return is_read;
}

/* What of an entry is still to be read. */
struct rest {
    const char *at;
    size_t size;
    bool bad; /* it ended too early */
};

static const char *take(struct rest *rest, size_t size)
{
    const char *taken = rest->at;
    rest->bad |= size > rest->size;
    if (rest->bad)
        return NULL;
    rest->at += size;
    rest->size -= size;
    return taken;
}

static uint32_t take_u32(struct rest *rest)
{
    uint32_t value = 0;
    const char *bytes = take(rest, sizeof value);
    if (bytes)
        memcpy(&value, bytes, sizeof value);
    return value;
}

static void take_file(struct rest *rest, struct csp_recording_outline *outline)
{
    struct csp_binary file = {0};
    const char *size = take(rest, 1), *bytes = take(rest, sizeof file.build_id.bytes);
    file.path = rest->at;
    const char *end = rest->bad ? NULL : memchr(rest->at, '\0', rest->size);
    rest->bad |= !end || (uint8_t)*size > sizeof file.build_id.bytes;
    if (rest->bad)
        return;
    file.build_id.size = (uint8_t)*size;
    memcpy(file.build_id.bytes, bytes, sizeof file.build_id.bytes);
    take(rest, (size_t)(end + 1 - file.path));
    csp_vec_push(&outline->files, file);
}

static bool parse(struct csp_known_recording *known, bool program)
{
    struct rest rest = {.at = known->entry.data, .size = known->entry.size};
    known->program = take_u32(&rest);
    for (uint32_t left = take_u32(&rest); left && !rest.bad; left--)
        csp_vec_push(&known->outline.processes, take_u32(&rest));
    for (uint32_t left = take_u32(&rest); left && !rest.bad; left--)
        take_file(&rest, &known->outline);
    known->messages = rest.at;
    known->messages_size = rest.size;
    return !rest.bad && csp_messages_again(rest.at, rest.size, NULL) &&
           (program ? known->program < known->outline.files.len : known->program == CSP_NO_PROGRAM);
}

bool csp_outline_store_get(struct csp_store *store, const char *path, bool program,
                           struct csp_known_recording *known)
{
    struct csp_digest digest;
    *known = (struct csp_known_recording){0};
    if (!store || !digest_file(&digest, path))
        return false;
    struct csp_run_key key = key_of(digest.bytes, path, program);
    memcpy(known->outline.digest, digest.bytes, sizeof digest.bytes);
    bool found = csp_store_get(store, kind, key.text.data, key.text.len, &known->entry);
    if (found && !parse(known, program)) {
        csp_store_reject(store, kind, key.text.data, key.text.len);
        csp_known_recording_free(known);
        found = false;
    }
    csp_run_key_free(&key);
    return found;
}

void csp_known_recording_free(struct csp_known_recording *known)
{
    csp_recording_outline_free(&known->outline);
    csp_store_release(&known->entry);
}

void csp_outline_store_put(struct csp_store *store, const struct csp_recording *recording,
                           uint32_t program, const struct csp_buf *messages)
{
    struct csp_recording_outline outline;
    struct csp_buf entry = {0};
    if (!store)
        return;
    csp_recording_outline(recording, &outline);
    csp_buf_add_u32(&entry, program);
    csp_buf_add_u32(&entry, (uint32_t)outline.processes.len);
    for (size_t i = 0; i < outline.processes.len; i++)
        csp_buf_add_u32(&entry, outline.processes.data[i]);
    csp_buf_add_u32(&entry, (uint32_t)outline.files.len);
    for (size_t i = 0; i < outline.files.len; i++) {
        const struct csp_binary *file = &outline.files.data[i];
        csp_buf_add_u8(&entry, file->build_id.size);
        csp_buf_add(&entry, file->build_id.bytes, sizeof file->build_id.bytes);
        csp_buf_add(&entry, file->path, strlen(file->path) + 1);
    }
    if (messages->len)
        csp_buf_add(&entry, messages->data, messages->len);
    struct csp_run_key key =
        key_of(outline.digest, csp_perfdata_path(csp_recording_perfdata(recording)),
               program != CSP_NO_PROGRAM);
    csp_store_put(store, kind, key.text.data, key.text.len, entry.data, entry.len);
    csp_run_key_free(&key);
    csp_buf_free(&entry);
    csp_recording_outline_free(&outline);
}
