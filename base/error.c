#include "base/error.h"

enum csp_exit csp_error_exit(int error)
{
    switch (error < 0 ? -error : error) {
    case CSP_OK:
        return CSP_EXIT_DONE;
    case CSP_ERR_USAGE:
        return CSP_EXIT_USAGE;
    case CSP_ERR_INPUT:
    case CSP_ERR_UNSUPPORTED:
        return CSP_EXIT_INPUT;
    case CSP_ERR_ENV:
        return CSP_EXIT_ENV;
    case CSP_ERR_QUALITY:
        return CSP_EXIT_QUALITY;
    case CSP_ERR_IO:
        return CSP_EXIT_TEMPORARY;
    default:
        return CSP_EXIT_FAILED;
    }
}
