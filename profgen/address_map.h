/* From the addresses of processes to those of the binary that they ran. */
#ifndef CSP_PROFGEN_ADDRESS_MAP_H
#define CSP_PROFGEN_ADDRESS_MAP_H

#include "profgen/program.h"

/* A part of the binary mapped at [start, end); its own addresses are `bias` lower. */
struct csp_loaded_part {
    uint64_t start, end, bias;
};

struct csp_address_map {
    const struct csp_program *program;
    CSP_VEC(struct csp_loaded_part) mappings; /* a newer one hides the older ones below it */
    uint64_t base_bias; /* with `single_base`: of the newest mapping, for all addresses */
    bool single_base;   /* llvm-profgen's way */
    bool kernel;        /* the binary is a kernel, mapped under one of the names perf has for it */
    bool has_pid;       /* mappings of other processes do not count */
    uint64_t pid;
};

/* Notes that the file's bytes from `file_offset` on were mapped at [start, start + size). Returns
 * false when that is no executable part of the binary. */
bool csp_address_map_add(struct csp_address_map *map, uint64_t start, uint64_t size,
                         uint64_t file_offset);
/* Notes that the kernel's code was at [start, start + size), whatever the file has before it. */
bool csp_address_map_add_kernel(struct csp_address_map *map, uint64_t start, uint64_t size);
/* The binary's address, or CSP_EXTERNAL. While nothing was added, addresses are the binary's own.
 */
uint64_t csp_address_map_find(const struct csp_address_map *map, uint64_t address);
/* Makes `copy` the same map; what it held is not freed. */
void csp_address_map_copy(struct csp_address_map *copy, const struct csp_address_map *map);
bool csp_address_map_equal(const struct csp_address_map *a, const struct csp_address_map *b);
/* Forgets the mappings. */
void csp_address_map_free(struct csp_address_map *map);

#endif
