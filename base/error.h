/* Error codes shared by every folder, and the exit code each one becomes.
 *
 * Fallible functions return 0 or the negative of one of these. The message that explains the error
 * to a person goes to the caller's struct csp_diag (base/diag.h) at the place where it is known.
 *
 * Memory exhaustion is not among them: base/alloc.h ends the process, because every size that comes
 * from a file is checked against that file before it is allocated.
 */
#ifndef CSP_BASE_ERROR_H
#define CSP_BASE_ERROR_H

enum csp_error {
    CSP_OK = 0,
    CSP_ERR_FAILED = 1,      /* something failed that fits no other code */
    CSP_ERR_USAGE = 2,       /* the command line makes no sense */
    CSP_ERR_INPUT = 3,       /* unusable input: the same input will fail again */
    CSP_ERR_UNSUPPORTED = 4, /* valid input that uses something this build cannot handle */
    CSP_ERR_ENV = 5,         /* the environment lacks something: hardware, kernel feature, tool */
    CSP_ERR_QUALITY = 6,     /* done, but a threshold that was asked for was not reached */
    CSP_ERR_IO = 7,          /* reading or writing failed; may work when tried again */
};

/* Exit codes of the program: 0 done, 1 failed, 2 usage, 3 unusable input, 4 environment,
 * 5 quality not reached, 75 (EX_TEMPFAIL) try again. */
enum csp_exit {
    CSP_EXIT_DONE = 0,
    CSP_EXIT_FAILED = 1,
    CSP_EXIT_USAGE = 2,
    CSP_EXIT_INPUT = 3,
    CSP_EXIT_ENV = 4,
    CSP_EXIT_QUALITY = 5,
    CSP_EXIT_TEMPORARY = 75,
};

/* The exit code for a function's result; accepts 0, a csp_error and its negative. */
enum csp_exit csp_error_exit(int error);

#endif
