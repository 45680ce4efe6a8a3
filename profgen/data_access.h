/* Virtual tables that instructions were seen to read: what tells the types of objects at a call.
 *
 * The input is the text of `perf report -D` of a recording of memory accesses: MMAP2 lines, and
 *     PERF_RECORD_SAMPLE(IP, 0x4002): PID/TID: 0xIP period: N addr: 0xADDRESS
 */
#ifndef CSP_PROFGEN_DATA_ACCESS_H
#define CSP_PROFGEN_DATA_ACCESS_H

#include "base/file.h"
#include "profgen/address_map.h"

struct csp_data_access {
    uint64_t address; /* of the instruction */
    uint32_t table;   /* the name of the virtual table, in the binary's names */
};

struct csp_data_accesses {
    struct csp_intern keys; /* struct csp_data_access */
    CSP_VEC(uint64_t) counts;
    uint64_t samples, others; /* others: of data that is no virtual table of the binary */
};

/* Adds the accesses of a text. `map` has the mappings of the code, and says whose samples count. */
int csp_data_access_read(struct csp_data_accesses *accesses, struct csp_program *program,
                         const struct csp_address_map *map, const char *path,
                         struct csp_diag *diag);
void csp_data_access_free(struct csp_data_accesses *accesses);

#endif
