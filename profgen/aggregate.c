#include "profgen/aggregate.h"

#include "base/alloc.h"
#include "profgen/aggregate_format.h"

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

int csp_digests_add(csp_digests *digests, const csp_digests *more, bool allowed, const char *path,
                    struct csp_diag *diag)
{
    csp_digests all = {0};
    size_t again = 0, a = 0, b = 0;
    csp_vec_reserve(&all, digests->len + more->len);
    while (a < digests->len || b < more->len) {
        int order = a == digests->len ? 1
                    : b == more->len  ? -1
                                      : by_digest(&digests->data[a], &more->data[b]);
        again += !order;
        csp_vec_push(&all, order <= 0 ? digests->data[a] : more->data[b]);
        a += order <= 0;
        b += order >= 0;
    }
    csp_vec_free(digests);
    *digests = all;
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
    *aggregate = (struct csp_aggregate){0};
}
