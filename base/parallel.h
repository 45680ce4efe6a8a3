/* One function in several threads at once. */
#ifndef CSP_BASE_PARALLEL_H
#define CSP_BASE_PARALLEL_H

#include <stdint.h>

/* Calls work(user, worker) for each worker below `workers`, and returns when all have returned. The
 * calling thread is worker 0, and does the work of those for whom the system has no thread. */
void csp_parallel(unsigned workers, void (*work)(void *user, unsigned worker), void *user);
/* Calls work(user, task) for each task below `tasks`, by no more than so many threads (0 is one),
 * each of which takes the next one when it is done. */
void csp_parallel_tasks(unsigned threads, unsigned tasks, void (*work)(void *user, unsigned task),
                        void *user);
/* How many workers some work is worth: one, and one more for each `each` of it, but no more than
 * `most` (0 is one). Starting them takes time, and what each has learned is put together. */
unsigned csp_parallel_worth(unsigned most, uint64_t work, uint64_t each);

#endif
