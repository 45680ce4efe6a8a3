/* libFuzzer on SPE data: whatever the bytes are, reading ends, and all of them are accounted for.
 */
#include "validate/spe_record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct csp_spe_reader reader = {.data = data + 1, .size = size - 1, .position = data[0]};
    struct csp_spe_record record;
    while (csp_spe_next(&reader, &record))
        ;
    const struct csp_spe_stats *stats = &reader.stats;
    if (stats->record_bytes + stats->padding + stats->dropped + stats->left != reader.size)
        abort();
    return 0;
}
