#include "profgen/text_samples.h"

#include "profgen/perf_script_text.h"

#include <string.h>
#include <xxhash.h>

enum { MOST_SAMPLES = 1 << 20 }; /* 40 MB */

/* Finds what comes after the sample's own address: on a line of its own, or before branches. */
static void find_rest(struct csp_sample_text *text)
{
    const char *line = text->at;
    while (*line == '\n')
        line++;
    const char *number = csp_text_blanks_end(line);
    if (csp_text_0x(number)) {
        text->rest = number;
        return;
    }
    unsigned digits = csp_text_hex(number, &text->leaf);
    if (digits - 1 > 15)
        return;
    text->has_leaf = number > line && number[digits] == '\n';
    if (text->has_leaf || number[digits] == ' ')
        text->rest = number + digits + 1;
}

bool csp_sample_text_next(const char *at, const char *end, struct csp_sample_text *text)
{
    /* Frames have no 'x', branches begin with "0x". */
    const char *branches = memchr(at, 'x', (size_t)(end - at));
    const char *newline = branches ? memchr(branches, '\n', (size_t)(end - branches)) : NULL;
    if (!newline)
        return false;
    *text = (struct csp_sample_text){.at = at, .end = newline + 1};
    find_rest(text);
    return true;
}

void csp_text_samples_key(const struct csp_text_samples *samples, struct csp_sample_text *text,
                          uint32_t leaf)
{
    XXH128_hash_t hash = XXH3_128bits(text->rest, (size_t)(text->end - text->rest));
    text->key = (struct csp_pair){hash.low64, hash.high64 ^ leaf * UINT64_C(0x9e3779b97f4a7c15)};
    csp_pairs_fetch(&samples->keys, text->key.first, text->key.second);
}

void csp_text_samples_fetch(const struct csp_text_samples *samples,
                            const struct csp_sample_text *text)
{
    uint32_t likely = csp_pairs_fetch_pair(&samples->keys, text->key.first, text->key.second);
    if (likely != CSP_NO_PAIR)
        __builtin_prefetch(&samples->list.data[likely]);
}

bool csp_text_samples_find(const struct csp_text_samples *samples,
                           const struct csp_sample_text *text, struct csp_text_sample *sample)
{
    uint32_t number = csp_pairs_find(&samples->keys, text->key.first, text->key.second);
    if (number == CSP_NO_PAIR)
        return false;
    const struct csp_kept_sample *kept = &samples->list.data[number];
    *sample = (struct csp_text_sample){{kept->number, kept->reason, kept->truncated},
                                       {kept->inside, kept->impossible, kept->external}};
    return true;
}

void csp_text_samples_keep(struct csp_text_samples *samples, const struct csp_sample_text *text,
                           const struct csp_text_sample *sample)
{
    const struct csp_sample_outcome *outcome = &sample->outcome;
    const struct csp_branch_tally *tally = &sample->tally;
    if (samples->list.len == MOST_SAMPLES ||
        (tally->inside | tally->impossible | tally->external) > UINT16_MAX)
        return;
    csp_pairs_add(&samples->keys, text->key.first, text->key.second);
    csp_vec_push(&samples->list,
                 (struct csp_kept_sample){outcome->number, outcome->reason, outcome->truncated,
                                          (uint16_t)tally->inside, (uint16_t)tally->impossible,
                                          (uint16_t)tally->external});
}

void csp_text_samples_free(struct csp_text_samples *samples)
{
    csp_pairs_free(&samples->keys);
    csp_vec_free(&samples->list);
    *samples = (struct csp_text_samples){0};
}
