/* The code of a recording by thread, time and address, as one stream's decoder asks for it. */
#include "decode/recording_private.h"

enum { CACHED = 256, PAGE_BITS = 12 };

/* What a thread has mapped at an address. `bytes` are the file's from `region.start` on; null when
 * the code is missing. */
struct known {
    uint64_t context_id, page;
    struct csp_code_region region;
    const uint8_t *bytes;
    bool valid;
};

struct recording_code {
    struct csp_code_view view;
    struct csp_recording *recording;
    uint32_t pid;                             /* of the current chunk */
    uint64_t time;                            /* likewise: of its end */
    uint64_t since;                           /* the end of the chunk before, 0: of none */
    uint64_t unchanged_from, unchanged_to;    /* `known` holds at these times */
    CSP_VEC(struct csp_missing_code) missing; /* by binary number; merged at the end */
    struct csp_missing_code unmapped;
    struct known known[CACHED];
};

static void count(struct csp_missing_code *missing, uint64_t address, const char *why)
{
    if (!missing->count++ || address < missing->first) {
        missing->first = address;
        missing->why = why;
    }
}

static void count_missing(struct recording_code *code, uint32_t binary, uint64_t address,
                          const char *why)
{
    struct csp_missing_code none = {0};
    while (code->missing.len <= binary)
        csp_vec_push(&code->missing, none);
    count(&code->missing.data[binary], address, why);
}

static uint32_t process_of(const struct recording_code *code, uint64_t context_id)
{
    if (context_id && context_id < CSP_NO_TID)
        return csp_recording_pid(code->recording, (uint32_t)context_id);
    return code->pid;
}

/* Looks a page up; what is missing is counted and not remembered. */
static bool look_up(struct recording_code *code, uint64_t context_id, uint64_t address,
                    struct known *known)
{
    struct csp_recording *recording = code->recording;
    uint32_t pid = process_of(code, context_id);
    const struct csp_mapping *mapping =
        csp_spaces_find_since(recording->spaces, pid, code->since, code->time, address);
    const char *why;
    known->valid = false;
    if (!mapping) {
        count(&code->unmapped, address, "is in no mapping that was recorded");
        return false;
    }
    const struct csp_binary *binary = csp_spaces_binary(recording->spaces, mapping->binary);
    const struct csp_image *image =
        csp_images_find(recording->images, binary->path, &binary->build_id, pid, &why);
    uint64_t offset = mapping->page_offset + (address - mapping->start);
    if (!image || offset >= image->size) {
        count_missing(code, mapping->binary, address,
                      image ? "is shorter than what was mapped of it" : why);
        return false;
    }
    uint64_t size = image->size - mapping->page_offset;
    uint64_t end = mapping->end - mapping->start < size ? mapping->end : mapping->start + size;
    *known = (struct known){
        .context_id = context_id,
        .page = address >> PAGE_BITS,
        .region = {mapping->start, end, mapping->start - mapping->page_offset, image->blocks},
        .bytes = image->data + mapping->page_offset,
        .valid = true,
    };
    return true;
}

static const struct known *find_known(struct recording_code *code, uint64_t context_id,
                                      uint64_t address)
{
    uint64_t page = address >> PAGE_BITS;
    struct known *known = &code->known[(page ^ context_id * 31) % CACHED];
    if (known->valid && known->page == page && known->context_id == context_id &&
        address - known->region.start < known->region.end - known->region.start)
        return known;
    return look_up(code, context_id, address, known) ? known : NULL;
}

static size_t fetch(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                    const uint8_t **bytes)
{
    const struct known *known = find_known(user, context_id, address);
    (void)source;
    if (!known)
        return 0;
    *bytes = known->bytes + (address - known->region.start);
    return known->region.end - address;
}

static bool find(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                 struct csp_code_region *region)
{
    const struct known *known = find_known(user, context_id, address);
    (void)source;
    if (!known || !known->region.blocks || known->region.base % 4)
        return false;
    *region = known->region;
    return true;
}

/* What was mapped may have changed since the last chunk. What is known is kept where nothing did,
 * not even since the chunk before this one. */
static void enter(struct csp_code_view *view, const struct csp_chunk *chunk)
{
    struct recording_code *code = (struct recording_code *)view;
    uint64_t since = chunk->since;
    code->time = chunk->time ? chunk->time : UINT64_MAX;
    code->since = since;
    if (code->pid == chunk->pid && since >= code->unchanged_from &&
        code->time <= code->unchanged_to)
        return;
    code->pid = chunk->pid;
    view->epoch++;
    csp_spaces_unchanged(code->recording->spaces, code->time, &code->unchanged_from,
                         &code->unchanged_to);
    if (since < code->unchanged_from)
        code->unchanged_to = 0;
    for (int i = 0; i < CACHED; i++)
        code->known[i].valid = false;
}

/* In any order: the reason told is that of the lowest address. */
static void merge(struct csp_missing_code *into, const struct csp_missing_code *from)
{
    if (from->count && (!into->count || from->first < into->first)) {
        into->first = from->first;
        into->why = from->why;
    }
    into->count += from->count;
}

static void close_code(struct csp_code_view *view)
{
    struct recording_code *code = (struct recording_code *)view;
    struct csp_recording *recording = code->recording;
    pthread_mutex_lock(&recording->lock);
    for (size_t i = 0; i < code->missing.len; i++)
        merge(&recording->missing.data[i], &code->missing.data[i]);
    merge(&recording->unmapped, &code->unmapped);
    pthread_mutex_unlock(&recording->lock);
    csp_vec_free(&code->missing);
    free(code);
}

struct csp_code_view *csp_recording_open_code(void *recording, uint32_t stream)
{
    struct recording_code *code = csp_calloc(1, sizeof *code);
    (void)stream;
    code->recording = recording;
    code->pid = CSP_NO_TID;
    code->unchanged_from = 1; /* none */
    code->view = (struct csp_code_view){
        .memory = {fetch, find, code, &code->view.epoch}, .enter = enter, .close = close_code};
    return &code->view;
}
