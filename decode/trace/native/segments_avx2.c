/* Segments for processors with AVX2 and BMI2, built for them. */
#define CSP_SEGMENTS_TAKE csp_segments_take_avx2
#include "decode/trace/native/segments_take.h"
