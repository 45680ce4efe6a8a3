#include "profgen/aggregate.h"

#include "base/alloc.h"

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

static bool has(const csp_digests *digests, const struct csp_digest *digest)
{
    for (size_t i = 0; i < digests->len; i++)
        if (!memcmp(digests->data[i].bytes, digest->bytes, sizeof digest->bytes))
            return true;
    return false;
}

int csp_digests_add(csp_digests *digests, const csp_digests *more, bool allowed, const char *path,
                    struct csp_diag *diag)
{
    size_t again = 0;
    for (size_t i = 0; i < more->len; i++) {
        if (has(digests, &more->data[i]))
            again++;
        else
            csp_vec_push(digests, more->data[i]);
    }
    if (!again || allowed)
        return 0;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s: %zu of its %zu inputs were counted already, and would count twice "
                    "(--allow-duplicates)",
                    path, again, more->len);
}

static int check_same_binary(const struct csp_aggregate *aggregate,
                             const struct csp_aggregate *other, const char *path,
                             struct csp_diag *diag)
{
    if (aggregate->code == other->code)
        return 0;
    char ours[41], theirs[41];
    csp_build_id_text(&aggregate->build_id, ours);
    csp_build_id_text(&other->build_id, theirs);
    return csp_fail(diag, CSP_ERR_INPUT, "%s is of %s with build-id %s, and not of %s with %s",
                    path, other->name, theirs[0] ? theirs : "none", aggregate->name,
                    ours[0] ? ours : "none");
}

int csp_aggregate_merge(struct csp_aggregate *aggregate, const struct csp_aggregate *other,
                        bool duplicates, const char *path, struct csp_diag *diag)
{
    if (!aggregate->name) {
        aggregate->name = csp_strdup(other->name);
        aggregate->code = other->code;
        aggregate->build_id = other->build_id;
    }
    int error = check_same_binary(aggregate, other, path, diag);
    if (!error)
        error = csp_digests_add(&aggregate->inputs, &other->inputs, duplicates, path, diag);
    if (error)
        return error;
    aggregate->callchains |= other->callchains;
    csp_sample_set_merge(&aggregate->set, &other->set);
    return 0;
}

void csp_aggregate_free(struct csp_aggregate *aggregate)
{
    free(aggregate->name);
    csp_vec_free(&aggregate->inputs);
    csp_sample_set_free(&aggregate->set);
    *aggregate = (struct csp_aggregate){0};
}
