/* The express lane for processors with AVX2 and BMI2, built for them. */
#define CSP_EXPRESS_TAKE csp_express_take_avx2
#include "decode/trace/native/express_take.h"
