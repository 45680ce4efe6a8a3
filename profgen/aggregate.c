#include "profgen/aggregate.h"

#include "base/alloc.h"
#include "profgen/aggregate_format.h"
#include "profgen/aggregate_reader.h"

#include <string.h>
#include <xxhash.h>

int csp_digest_input(struct csp_digest *digest, const struct csp_input *input,
                     struct csp_diag *diag)
{
    enum { PIECE = 256 * 1024 };
    int error = 0;
    XXH3_state_t *state = XXH3_createState();
    XXH3_128bits_reset(state);
    char *piece = csp_malloc(PIECE);
    for (uint64_t at = 0; !error && at < input->size;) {
        size_t size = input->size - at < PIECE ? (size_t)(input->size - at) : PIECE;
        error = csp_input_read(input, at, piece, size, diag);
        if (!error)
            XXH3_128bits_update(state, piece, size);
        at += size;
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    memcpy(digest->bytes, canonical.digest, sizeof digest->bytes);
    free(piece);
    XXH3_freeState(state);
    return error;
}

static int by_digest(const struct csp_digest *a, const struct csp_digest *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

/* Where a digest is in the list from `at` on, or would go. */
static size_t place_of(const csp_digests *digests, size_t at, const struct csp_digest *digest)
{
    size_t end = digests->len;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (by_digest(&digests->data[middle], digest) < 0)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* Each of `more` goes to its place, what is behind it moving once: the last first. */
static void insert(csp_digests *digests, const csp_digests *more, const size_t *places)
{
    size_t end = digests->len;
    csp_vec_reserve(digests, more->len);
    for (size_t i = more->len; i-- > 0;) {
        struct csp_digest *at = digests->data + places[i];
        memmove(at + i + 1, at, (end - places[i]) * sizeof *at);
        at[i] = more->data[i];
        end = places[i];
    }
    digests->len += more->len;
}

int csp_digests_add(csp_digests *digests, const csp_digests *more, bool allowed, const char *path,
                    struct csp_diag *diag)
{
    size_t again = 0, at = 0;
    size_t *places = csp_malloc((more->len + 1) * sizeof *places);
    csp_digests fresh = {0};
    for (size_t i = 0; i < more->len; i++) {
        at = place_of(digests, at, &more->data[i]);
        if (at < digests->len && !by_digest(&digests->data[at], &more->data[i])) {
            again++;
            continue;
        }
        places[fresh.len] = at;
        csp_vec_push(&fresh, more->data[i]);
    }
    insert(digests, &fresh, places);
    csp_vec_free(&fresh);
    free(places);
    if (!again || allowed)
        return 0;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s: %zu of its %zu inputs were counted already, and would count twice "
                    "(--allow-duplicates)",
                    path, again, more->len);
}

/* Of two files with the same code, the lesser name and build-id: whichever comes first. */
static void take_identity(struct csp_aggregate *aggregate, const struct csp_aggregate *other)
{
    bool is_new = !aggregate->name;
    if (is_new || strcmp(other->name, aggregate->name) < 0) {
        free(aggregate->name);
        aggregate->name = csp_strdup(other->name);
    }
    if (is_new || memcmp(&other->build_id, &aggregate->build_id, sizeof other->build_id) < 0)
        aggregate->build_id = other->build_id;
    aggregate->code = other->code;
}

int csp_aggregate_begin_merge(struct csp_aggregate *aggregate, const struct csp_aggregate *other,
                              const char *path, bool duplicates, struct csp_diag *diag)
{
    char ours[41], theirs[41];
    if (aggregate->name && aggregate->code != other->code) {
        csp_build_id_text(&aggregate->build_id, ours);
        csp_build_id_text(&other->build_id, theirs);
        return csp_fail(diag, CSP_ERR_INPUT, "%s is of %s with build-id %s, and not of %s with %s",
                        path, other->name, theirs[0] ? theirs : "none", aggregate->name,
                        ours[0] ? ours : "none");
    }
    take_identity(aggregate, other);
    aggregate->callchains |= other->callchains;
    return csp_digests_add(&aggregate->inputs, &other->inputs, duplicates, path, diag);
}

bool csp_aggregate_fits(const struct csp_aggregate *aggregate, const struct csp_aggregate *other,
                        const struct csp_aggregate_how *how)
{
    const csp_digests *ours = &aggregate->inputs, *theirs = &other->inputs;
    size_t at = 0;
    if (aggregate->name && aggregate->code != other->code)
        return false;
    for (size_t i = 0; i < theirs->len && !how->duplicates; i++) {
        at = place_of(ours, at, &theirs->data[i]);
        if (at < ours->len && !by_digest(&ours->data[at], &theirs->data[i]))
            return false;
    }
    return true;
}

int csp_aggregate_merge(struct csp_aggregate *aggregate, const struct csp_aggregate *other,
                        const char *path, const struct csp_aggregate_how *how,
                        struct csp_diag *diag)
{
    int error = csp_aggregate_begin_merge(aggregate, other, path, how->duplicates, diag);
    if (!error)
        csp_sample_set_merge(&aggregate->set, &other->set, how->weight ? how->weight : 1);
    return error;
}

void csp_aggregate_free(struct csp_aggregate *aggregate)
{
    free(aggregate->name);
    csp_vec_free(&aggregate->inputs);
    csp_sample_set_free(&aggregate->set);
    if (aggregate->reader)
        csp_aggregate_reader_free(aggregate->reader);
    free(aggregate->reader);
    *aggregate = (struct csp_aggregate){0};
}
