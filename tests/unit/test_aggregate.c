/* Aggregates: whatever the order, the grouping and the memory, merging gives the same bytes. */
#include "unit.h"

#include "base/alloc.h"
#include "profgen/aggregate.h"
#include "profgen/aggregate_reader.h"
#include "profgen/runs.h"

#include <stdlib.h>
#include <string.h>

enum { LEAVES = 12, TREES = 1000 };

static char last[512];
static unsigned warnings;

static void note(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    warnings += severity == CSP_WARNING;
    snprintf(last, sizeof last, "%s", message);
}

static struct csp_diag diag = {.emit = note};

static uint64_t below(uint64_t limit)
{
    return (uint64_t)random() % limit;
}

static uint32_t random_branch(struct csp_sample_set *set)
{
    uint64_t from = below(8) ? 0x1000 + 4 * below(40) : CSP_EXTERNAL;
    uint32_t number = csp_pairs_at(&set->branches, from, 0x2000 + 4 * below(5));
    if (number == set->branch_infos.len)
        csp_vec_push(&set->branch_infos, (struct csp_set_branch){0});
    return number;
}

static uint32_t random_callers(struct csp_sample_set *set)
{
    uint64_t calls[3], len = below(4);
    for (uint64_t i = 0; i < len; i++)
        calls[i] = 0x3000 + 4 * below(3);
    return csp_intern(&set->callers, calls, len * sizeof *calls);
}

/* Of few branches and callers, so that aggregates have samples in common. */
static struct csp_buf random_aggregate(int number)
{
    struct csp_aggregate aggregate = csp_aggregate_empty();
    struct csp_sample_set *set = &aggregate.set;
    struct csp_digest digest = {{0}};
    struct csp_buf out = {0};
    digest.bytes[below(16)] = 1;
    digest.bytes[15] = (uint8_t)number;
    csp_vec_push(&aggregate.inputs, digest);
    aggregate.code = 7;
    aggregate.name = csp_strdup(below(2) ? "program" : "renamed");
    aggregate.build_id.size = 3;
    aggregate.callchains = below(2);
    for (uint64_t i = 0; i < 60; i++) {
        uint32_t branches[4], len = (uint32_t)below(4);
        for (uint32_t b = 0; b < len; b++)
            branches[b] = random_branch(set);
        uint32_t callers = random_callers(set);
        struct csp_flat_sample *sample = csp_sample_set_scratch(set, branches, len);
        sample->callers = callers;
        sample->start = 0x4000;
        sample->end = 0x4000 + 4 * below(3) + 4;
        sample->leaf = (uint16_t)below(3);
        csp_sample_set_count(set, sample, below(10) ? 1 + below(9) : UINT64_MAX / 5);
    }
    set->stats.samples = 70;
    set->stats.used = 60;
    set->stats.rejected[CSP_REJECT_UNSTITCHED] = 10;
    csp_aggregate_write(&aggregate, NULL, &out);
    csp_aggregate_free(&aggregate);
    return out;
}

static void assert_same_bytes(const struct csp_buf *got, const struct csp_buf *wanted)
{
    assert_int_equal(got->len, wanted->len);
    assert_memory_equal(got->data, wanted->data, wanted->len);
}

static struct csp_buf bytes_of(struct csp_aggregate *aggregate, struct csp_runs *runs)
{
    struct csp_aggregate_written written;
    struct csp_buf out = {0};
    FILE *file = tmpfile();
    assert_int_equal(csp_aggregate_write_runs(aggregate, runs, file, &written, &diag), 0);
    assert_int_equal(ftell(file), written.bytes);
    rewind(file);
    out.len = fread(csp_buf_reserve(&out, written.bytes), 1, written.bytes, file);
    assert_int_equal(out.len, written.bytes);
    fclose(file);
    return out;
}

/* In the order given, at times with no memory for the samples. */
static struct csp_buf merge(struct csp_buf *const *inputs, size_t count)
{
    struct csp_aggregate all = csp_aggregate_empty();
    struct csp_runs runs = {.memory = below(3) ? SIZE_MAX : below(20000)};
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(csp_aggregate_parse(&all, inputs[i]->data, inputs[i]->len, "input",
                                             &(struct csp_aggregate_how){0}, &diag),
                         0);
        assert_int_equal(csp_runs_relieve(&runs, &all.set, csp_aggregate_beside(&all), &diag), 0);
    }
    struct csp_buf out = bytes_of(&all, &runs);
    csp_runs_free(&runs);
    csp_aggregate_free(&all);
    return out;
}

static void any_tree_of_merges_gives_the_same_bytes(void **state)
{
    struct csp_buf leaves[LEAVES], *inputs[LEAVES];
    (void)state;
    srandom(1);
    for (int i = 0; i < LEAVES; i++) {
        leaves[i] = random_aggregate(i);
        inputs[i] = &leaves[i];
    }
    struct csp_buf wanted = merge(inputs, LEAVES);
    assert_true(wanted.len > leaves[0].len);
    for (int tree = 0; tree < TREES; tree++) {
        struct csp_buf nodes[2 * LEAVES], *open[LEAVES];
        size_t made = 0, left = LEAVES;
        for (int i = 0; i < LEAVES; i++)
            open[i] = &leaves[i];
        while (left > 1) { /* some that are left, in any order, become one */
            size_t count = 2 + below(left - 1 < 4 ? left - 1 : 4);
            for (size_t i = 0; i < count; i++) {
                size_t with = i + below(left - i);
                struct csp_buf *node = open[i];
                open[i] = open[with];
                open[with] = node;
            }
            nodes[made] = merge(open, count);
            open[count - 1] = &nodes[made++];
            memmove(open, open + count - 1, (left - count + 1) * sizeof(*open));
            left -= count - 1;
        }
        assert_same_bytes(open[0], &wanted);
        for (size_t i = 0; i < made; i++)
            csp_buf_free(&nodes[i]);
    }
    for (int i = 0; i < LEAVES; i++)
        csp_buf_free(&leaves[i]);
    csp_buf_free(&wanted);
}

/* A file, then samples that were put aside, others in memory, and the file again: what was known of
 * the first ones is of no use, as other samples have their numbers. */
static void what_was_put_aside_is_not_guessed(void **state)
{
    (void)state;
    srandom(5);
    struct csp_buf first = random_aggregate(1), second = random_aggregate(2), wanted, got;
    struct csp_buf *const inputs[] = {&first, &second, &first};
    struct csp_aggregate all = csp_aggregate_empty(), other = csp_aggregate_empty();
    struct csp_runs runs = {.memory = SIZE_MAX}, none = {.memory = SIZE_MAX};
    const struct csp_aggregate_how how = {.duplicates = true};
    assert_int_equal(csp_aggregate_parse(&other, second.data, second.len, "b", &how, &diag), 0);
    for (int again = 0; again < 2; again++)
        assert_int_equal(csp_aggregate_parse(&all, first.data, first.len, "a", &how, &diag), 0);
    assert_true(csp_aggregate_beside(&all));
    assert_int_equal(csp_runs_put(&runs, &all.set, &diag), 0);
    assert_int_equal(csp_aggregate_merge(&all, &other, "b", &how, &diag), 0);
    assert_int_equal(csp_aggregate_parse(&all, first.data, first.len, "a", &how, &diag), 0);
    got = bytes_of(&all, &runs);
    csp_aggregate_free(&all);
    all = csp_aggregate_empty();
    for (int i = 0; i < 4; i++) {
        const struct csp_buf *input = inputs[i % 3];
        assert_int_equal(csp_aggregate_parse(&all, input->data, input->len, "x", &how, &diag), 0);
        csp_guesses_free(&all.reader->guesses);
    }
    wanted = bytes_of(&all, &none);
    assert_same_bytes(&got, &wanted);
    csp_runs_free(&runs);
    csp_aggregate_free(&all);
    csp_aggregate_free(&other);
    csp_buf_free(&first);
    csp_buf_free(&second);
    csp_buf_free(&wanted);
    csp_buf_free(&got);
}

/* In LEB128 the step between them begins with eight bytes of ff. */
static void branches_far_apart_are_read_as_they_were_written(void **state)
{
    (void)state;
    struct csp_aggregate far = csp_aggregate_empty(), read = csp_aggregate_empty();
    struct csp_runs none = {.memory = SIZE_MAX};
    uint32_t branches[] = {csp_pairs_at(&far.set.branches, 0x1000, 0x2000),
                           csp_pairs_at(&far.set.branches, UINT64_C(0x1000) + INT64_MAX, 0x3000)};
    struct csp_flat_sample *sample = csp_sample_set_scratch(&far.set, branches, 2);
    sample->callers = csp_intern(&far.set.callers, NULL, 0);
    csp_sample_set_count(&far.set, sample, 1);
    far.name = csp_strdup("program");
    struct csp_buf wanted = bytes_of(&far, &none);
    assert_int_equal(csp_aggregate_parse(&read, wanted.data, wanted.len, "far", NULL, &diag), 0);
    struct csp_buf got = bytes_of(&read, &none);
    assert_same_bytes(&got, &wanted);
    csp_aggregate_free(&far);
    csp_aggregate_free(&read);
    csp_buf_free(&wanted);
    csp_buf_free(&got);
}

/* Whose branches' numbers have one, two and three bytes. */
static void samples_of_any_length_are_read_and_known_again(void **state)
{
    (void)state;
    enum { BRANCHES = 20000, LONGEST = 400 };
    struct csp_aggregate made = csp_aggregate_empty(), read = csp_aggregate_empty();
    const struct csp_aggregate_how again = {.duplicates = true};
    struct csp_runs none = {.memory = SIZE_MAX};
    for (uint32_t i = 0; i < BRANCHES; i++)
        csp_pairs_at(&made.set.branches, 0x1000 + 4 * i, 0x2000);
    for (uint32_t len = 0; len < LONGEST; len++) {
        uint32_t branches[LONGEST];
        for (uint32_t i = 0; i < len; i++)
            branches[i] = (uint32_t)below(below(2) ? BRANCHES : 200);
        struct csp_flat_sample *sample = csp_sample_set_scratch(&made.set, branches, len);
        sample->callers = csp_intern(&made.set.callers, NULL, 0);
        sample->start = 0x1000;
        sample->end = 0x1010;
        csp_sample_set_count(&made.set, sample, 1 + below(1000));
    }
    made.name = csp_strdup("program");
    struct csp_buf wanted = bytes_of(&made, &none);
    assert_int_equal(csp_aggregate_parse(&read, wanted.data, wanted.len, "", &again, &diag), 0);
    struct csp_buf got = bytes_of(&read, &none);
    assert_same_bytes(&got, &wanted);
    assert_int_equal(csp_aggregate_parse(&read, wanted.data, wanted.len, "", &again, &diag), 0);
    assert_int_equal(read.set.counts.len, LONGEST);
    for (uint32_t i = 0; i < LONGEST; i++)
        made.set.counts.data[i] *= 2;
    csp_buf_free(&wanted);
    csp_buf_free(&got);
    wanted = bytes_of(&made, &none);
    got = bytes_of(&read, &none);
    assert_same_bytes(&got, &wanted);
    csp_aggregate_free(&made);
    csp_aggregate_free(&read);
    csp_buf_free(&wanted);
    csp_buf_free(&got);
}

static uint64_t total(const struct csp_sample_set *set)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < set->counts.len; i++)
        sum += set->counts.data[i];
    return sum;
}

static void a_weight_is_as_many_merges(void **state)
{
    (void)state;
    srandom(3);
    struct csp_buf input = random_aggregate(1), thrice, weighted;
    struct csp_aggregate three = csp_aggregate_empty(), one = csp_aggregate_empty();
    struct csp_runs runs = {.memory = SIZE_MAX};
    for (int i = 0; i < 3; i++)
        assert_int_equal(csp_aggregate_parse(&three, input.data, input.len, "input",
                                             &(struct csp_aggregate_how){.duplicates = true},
                                             &diag),
                         0);
    assert_int_equal(csp_aggregate_parse(&one, input.data, input.len, "input",
                                         &(struct csp_aggregate_how){.weight = 3}, &diag),
                     0);
    assert_int_equal(total(&one.set), total(&three.set));
    thrice = bytes_of(&three, &runs);
    weighted = bytes_of(&one, &runs);
    assert_same_bytes(&thrice, &weighted);
    csp_buf_free(&thrice);
    csp_buf_free(&weighted);
    csp_buf_free(&input);
    csp_aggregate_free(&one);
    csp_aggregate_free(&three);
}

static void counts_stop_at_their_maximum_and_tell(void **state)
{
    (void)state;
    srandom(1);
    struct csp_buf input = random_aggregate(1);
    struct csp_aggregate all = csp_aggregate_empty();
    uint64_t largest = 0;
    assert_int_equal(csp_aggregate_parse(&all, input.data, input.len, "input",
                                         &(struct csp_aggregate_how){.weight = 100}, &diag),
                     0);
    for (size_t i = 0; i < all.set.counts.len; i++)
        if (all.set.counts.data[i] > largest)
            largest = all.set.counts.data[i];
    assert_true(largest == UINT64_MAX && all.set.saturated);
    warnings = 0;
    csp_sample_set_warn(&all.set, &diag);
    assert_int_equal(warnings, 1);
    csp_buf_free(&input);
    csp_aggregate_free(&all);
}

static void an_input_is_not_counted_twice(void **state)
{
    (void)state;
    srandom(1);
    struct csp_buf input = random_aggregate(1);
    struct csp_aggregate all = csp_aggregate_empty();
    const struct csp_aggregate_how how = {0};
    assert_int_equal(csp_aggregate_parse(&all, input.data, input.len, "input", &how, &diag), 0);
    assert_int_equal(csp_aggregate_parse(&all, input.data, input.len, "input", &how, &diag),
                     -CSP_ERR_INPUT);
    assert_non_null(strstr(last, "--allow-duplicates"));
    csp_buf_free(&input);
    csp_aggregate_free(&all);
}

/* Not a caller more than its samples have. */
static void merged_in_memory_it_is_the_same(void **state)
{
    struct csp_aggregate one = csp_aggregate_empty(), all = csp_aggregate_empty();
    const struct csp_aggregate_how how = {0};
    const uint64_t call = 0x3000;
    struct csp_buf wanted = {0}, got = {0};
    (void)state;
    one.name = csp_strdup("program");
    uint32_t branch = random_branch(&one.set);
    struct csp_flat_sample *sample = csp_sample_set_scratch(&one.set, &branch, 1);
    sample->callers = csp_intern(&one.set.callers, &call, sizeof call);
    csp_sample_set_count(&one.set, sample, 1);
    assert_int_equal(csp_aggregate_merge(&all, &one, "one", &how, &diag), 0);
    csp_aggregate_write(&one, NULL, &wanted);
    csp_aggregate_write(&all, NULL, &got);
    assert_same_bytes(&got, &wanted);
    csp_buf_free(&wanted);
    csp_buf_free(&got);
    csp_aggregate_free(&one);
    csp_aggregate_free(&all);
}

/* Any byte changed, and the file cut anywhere. */
static void damage_is_told(void **state)
{
    (void)state;
    srandom(1);
    struct csp_buf input = random_aggregate(1);
    char *bytes = csp_malloc(input.len);
    for (size_t i = 0; i < 2 * input.len; i++) {
        struct csp_aggregate aggregate = csp_aggregate_empty();
        size_t size = i < input.len ? input.len : i - input.len;
        memcpy(bytes, input.data, input.len);
        if (i < input.len)
            bytes[i] ^= 0x10;
        assert_int_equal(csp_aggregate_parse(&aggregate, bytes, size, "file", NULL, &diag),
                         -CSP_ERR_INPUT);
        assert_true(strstr(last, "file: offset ") || strstr(last, "file is no aggregate"));
        csp_aggregate_free(&aggregate);
    }
    free(bytes);
    csp_buf_free(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_tree_of_merges_gives_the_same_bytes),
        cmocka_unit_test(what_was_put_aside_is_not_guessed),
        cmocka_unit_test(branches_far_apart_are_read_as_they_were_written),
        cmocka_unit_test(samples_of_any_length_are_read_and_known_again),
        cmocka_unit_test(a_weight_is_as_many_merges),
        cmocka_unit_test(counts_stop_at_their_maximum_and_tell),
        cmocka_unit_test(an_input_is_not_counted_twice),
        cmocka_unit_test(merged_in_memory_it_is_the_same),
        cmocka_unit_test(damage_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
