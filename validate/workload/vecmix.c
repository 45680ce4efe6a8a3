/* vecmix: a loop that a compiler can make vector instructions of, if it is let (CMakeLists.txt). */
#include <stddef.h>

double VECMIX(const float *a, const float *b, size_t count);

__attribute__((noinline)) double VECMIX(const float *a, const float *b, size_t count)
{
    float sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
        squares += a[i] * a[i] - 0.5F * b[i];
    }
    return (double)sum + (double)squares;
}
