/* Files that are not to stay behind when a signal ends the program before they have their names. */
#ifndef CSP_BASE_UNFINISHED_H
#define CSP_BASE_UNFINISHED_H

/* mkstemp for a file that is removed when SIGINT, SIGTERM or SIGHUP ends the program; `path` must
 * live until it is forgotten. Signals that the program ignores or handles itself are left alone.
 * Safe from any thread; where too many files are unfinished at once, the last ones are not removed.
 */
int csp_unfinished_make(char *path);
void csp_unfinished_forget(const char *path);

#endif
