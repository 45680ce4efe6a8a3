/* What every unit test includes: cmocka wants these four headers in this order. */
#ifndef CSP_TESTS_UNIT_H
#define CSP_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
