/* What threads give to another one. */
#include "unit.h"

#include "base/inbox.h"

enum { GIVERS = 3, NUMBERS = 5000 };

static void what_was_given_is_taken_in_order(void **state)
{
    (void)state;
    struct csp_inbox inbox;
    struct csp_buf taken = {0};
    csp_inbox_init(&inbox);
    csp_inbox_give(&inbox, "one ", 4);
    csp_inbox_give(&inbox, "two ", 4);
    assert_true(csp_inbox_take(&inbox, &taken));
    assert_string_equal(taken.data, "one two ");
    csp_inbox_give(&inbox, "three", 5);
    assert_false(csp_inbox_is_closed(&inbox));
    csp_inbox_close(&inbox);
    assert_true(csp_inbox_is_closed(&inbox));
    assert_true(csp_inbox_take(&inbox, &taken)); /* behind what was taken before */
    assert_string_equal(taken.data, "one two three");
    assert_false(csp_inbox_take(&inbox, &taken));
    assert_string_equal(taken.data, "one two three");
    csp_buf_free(&taken);
    csp_inbox_free(&inbox);
}

struct giver {
    pthread_t thread;
    struct csp_inbox *inbox;
    uint32_t number;
};

static void *give(void *user)
{
    struct giver *giver = user;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        uint32_t item[2] = {giver->number, i};
        csp_inbox_give(giver->inbox, item, sizeof item);
    }
    return NULL;
}

static void *take_all(void *user)
{
    static struct csp_buf taken;
    while (csp_inbox_take(user, &taken))
        ;
    return &taken;
}

static void nothing_is_lost_between_threads(void **state)
{
    (void)state;
    struct csp_inbox inbox;
    struct giver givers[GIVERS];
    pthread_t taker;
    void *result;
    uint32_t next[GIVERS] = {0};
    csp_inbox_init(&inbox);
    assert_int_equal(pthread_create(&taker, NULL, take_all, &inbox), 0);
    for (uint32_t i = 0; i < GIVERS; i++) {
        givers[i] = (struct giver){.inbox = &inbox, .number = i};
        assert_int_equal(pthread_create(&givers[i].thread, NULL, give, &givers[i]), 0);
    }
    for (int i = 0; i < GIVERS; i++)
        pthread_join(givers[i].thread, NULL);
    csp_inbox_close(&inbox);
    pthread_join(taker, &result);
    struct csp_buf *taken = result;
    const uint32_t *numbers = (const uint32_t *)(void *)taken->data;
    assert_int_equal(taken->len, GIVERS * NUMBERS * 2 * sizeof *numbers);
    for (size_t i = 0; i < GIVERS * NUMBERS; i++)
        assert_int_equal(numbers[2 * i + 1], next[numbers[2 * i]]++);
    csp_buf_free(taken);
    csp_inbox_free(&inbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_is_taken_in_order),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
