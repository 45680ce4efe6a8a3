/* One function in several threads at once. */
#ifndef CSP_BASE_PARALLEL_H
#define CSP_BASE_PARALLEL_H

/* Calls work(user, worker) for each worker below `workers`, and returns when all have returned. The
 * calling thread is worker 0, and does the work of those for whom the system has no thread. */
void csp_parallel(unsigned workers, void (*work)(void *user, unsigned worker), void *user);

#endif
