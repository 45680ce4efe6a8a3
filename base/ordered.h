/* Work that several threads do and whose results are taken in order.
 *
 * Items are numbered from 0. Each is worked on in any thread; its result is then taken, one item at
 * a time and in the order of their numbers, by whichever thread made the next one ready. So what
 * `take` sees does not depend on how many threads there are, and no thread waits for another unless
 * it is `ahead` items before it: that bounds the memory of results.
 */
#ifndef CSP_BASE_ORDERED_H
#define CSP_BASE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>

struct csp_ordered_turns;

struct csp_ordered {
    size_t count;     /* of items */
    unsigned threads; /* at least 1; the calling thread is one of them */
    /* `worker` is below `threads` and nobody else's meanwhile; `slot` below csp_ordered_slots:
     * where the result goes, free since the item that was there before has been taken. */
    void (*work)(void *user, size_t item, unsigned worker, unsigned slot);
    /* A negative return stops: nothing is taken any more. */
    int (*take)(void *user, size_t item, unsigned slot);
    void *user;
    struct csp_ordered_turns **turns; /* for csp_ordered_await_turn, while it runs; may be null */
};

/* Within `work`: waits until all items before this one have been taken. Until work returns nobody
 * else takes anything, so that it can take what it has so far where all would be too much to hold.
 * False: taking has failed. Null: one thread alone, whose turn it is. */
bool csp_ordered_await_turn(struct csp_ordered_turns *turns, size_t item);

/* How many results there are at most. */
unsigned csp_ordered_slots(unsigned threads);
/* Returns what take returned last: 0, or a negative number. */
int csp_ordered_run(const struct csp_ordered *job);

#endif
