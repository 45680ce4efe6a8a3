/* Pseudo-probes: the sections .pseudo_probe_desc and .pseudo_probe of a binary.
 *
 * .pseudo_probe_desc: { u64 GUID, u64 control-flow checksum, uleb length, name }…
 * .pseudo_probe: one record for each function in each text section,
 *     { u64 GUID, uleb probes, uleb inlinees, probe…, { uleb callsite, record }… }
 * and a probe is { uleb index, u8 type | attributes << 4 | 0x80 when followed by a distance,
 *     sleb distance or u64 address, uleb discriminator when attribute 4 is set }.
 * Distances run from probe to probe through the inlinees; the first is from the function's symbol.
 * Where that symbol is not named by the GUID (a split function), a sentinel probe (attribute 2)
 * comes first and holds the GUID of the symbol's name. Source: LLVM's MCPseudoProbe.h.
 */
#ifndef CSP_PROFGEN_PROBES_H
#define CSP_PROFGEN_PROBES_H

#include "base/diag.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum csp_probe_type { CSP_PROBE_BLOCK, CSP_PROBE_INDIRECT_CALL, CSP_PROBE_DIRECT_CALL };

#define CSP_NO_PROBE UINT32_MAX
#define CSP_NO_NODE UINT32_MAX

/* A function as .pseudo_probe_desc has it, or made up for a GUID that is missing there. */
struct csp_probe_function {
    uint64_t guid, hash;
    uint32_t name; /* in the binary's names; the GUID in decimal where it is missing */
};

/* A function, or a function inlined at a callsite of `parent`. */
struct csp_probe_node {
    uint32_t parent;                    /* CSP_NO_NODE: a function of its own */
    uint32_t callsite;                  /* the parent's call probe; 0 when unknown */
    uint32_t function;                  /* in csp_probes.functions */
    uint32_t first_probe, last_probe;   /* chained by csp_probe.next */
    uint32_t first_child, next_sibling; /* of a function of its own: the next at its symbol */
    uint64_t start; /* of a function of its own: address of its symbol, 0 when unknown */
};

struct csp_probe {
    uint64_t address;
    uint32_t index, discriminator;
    uint32_t node, next;
    uint8_t type; /* enum csp_probe_type */
};

struct csp_probe_at {
    uint64_t address;
    uint32_t probe;
};

struct csp_probes {
    CSP_VEC(struct csp_probe_function) functions;
    struct csp_map by_guid; /* GUID to function + 1 */
    CSP_VEC(struct csp_probe_node) nodes;
    CSP_VEC(struct csp_probe) probes;
    CSP_VEC(struct csp_probe_at) by_address; /* then in the order of the section */
    struct csp_map by_start; /* symbol address to top node + 1, its own if possible */
    bool has_call_probes;
    uint64_t unplaced;      /* probes of functions whose symbol is not in the binary */
    uint64_t missing_guids; /* GUIDs without a description */
};

static inline bool csp_probe_is_call(const struct csp_probe *probe)
{
    return probe->type == CSP_PROBE_INDIRECT_CALL || probe->type == CSP_PROBE_DIRECT_CALL;
}

/* The entry probe of a function is its first block. */
static inline bool csp_probe_is_entry(const struct csp_probe *probe)
{
    return probe->type == CSP_PROBE_BLOCK && probe->index == 1;
}

/* A symbol by the GUID of its name, which several may share (static functions). */
struct csp_probe_symbol {
    uint64_t guid, address;
};

struct csp_probe_symbols {
    CSP_VEC(struct csp_probe_symbol) list;
    bool last_only; /* llvm-profgen's way: of one name, the last symbol has all the probes */
};

/* Reads the two sections. Records are in the order of the code (their sections are linked to those
 * of the code), which tells whose they are where symbols share a name. Sorts `symbols`. Malformed
 * and truncated sections: CSP_ERR_INPUT. */
int csp_probes_read_names(struct csp_probes *probes, struct csp_intern *names, const uint8_t *data,
                          size_t size, struct csp_diag *diag);
int csp_probes_read(struct csp_probes *probes, struct csp_intern *names, const uint8_t *data,
                    size_t size, struct csp_probe_symbols *symbols, struct csp_diag *diag);
/* Sorts by address; call after reading and after adding. */
void csp_probes_seal(struct csp_probes *probes);
void csp_probes_free(struct csp_probes *probes);

/* The function of a GUID; made up when it is new. */
uint32_t csp_probes_function(struct csp_probes *probes, struct csp_intern *names, uint64_t guid);
uint32_t csp_probes_add_node(struct csp_probes *probes, uint32_t parent, uint32_t callsite,
                             uint32_t function);
void csp_probes_add(struct csp_probes *probes, struct csp_probe probe);
/* Says where a function of its own starts. The code at a symbol may be of several functions: where
 * code has lost its place in the inline tree, its function is one beside the symbol's own. */
void csp_probes_place(struct csp_probes *probes, uint32_t node, uint64_t start, bool own_symbol);

/* The first entry of by_address at or above an address; may be its length. */
size_t csp_probes_from(const struct csp_probes *probes, uint64_t address);
/* The first call probe at an address, or CSP_NO_PROBE. */
uint32_t csp_probes_call_at(const struct csp_probes *probes, uint64_t address);

#endif
