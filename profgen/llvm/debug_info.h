/* What a binary's DWARF says of functions and of single instructions, read by libLLVM. */
#ifndef CSP_PROFGEN_LLVM_DEBUG_INFO_H
#define CSP_PROFGEN_LLVM_DEBUG_INFO_H

#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct csp_debug_info;

/* Opens the debug information of a file, which must stay mapped; one without any opens too, and is
 * empty. Split debug information is in `dwp_path`, or, when that is null, in PATH.dwp or the .dwo
 * files that the file names. The messages of libLLVM about malformed parts become warnings. Errors:
 * CSP_ERR_INPUT. */
int csp_debug_info_open(struct csp_debug_info **info, const struct csp_file *file,
                        const char *dwp_path, struct csp_diag *diag);
/* How many compilation units it has; 0: there is no debug information. */
size_t csp_debug_info_units(struct csp_debug_info *info);
/* Whether a part of it is in other files. */
bool csp_debug_info_is_split(struct csp_debug_info *info);
/* How many units have their part in a .dwo file that is not there; *name is the first one's. */
size_t csp_debug_info_missing(struct csp_debug_info *info, const char **name);
/* Who is told of malformed parts from now on. */
void csp_debug_info_tell(struct csp_debug_info *info, struct csp_diag *diag);
void csp_debug_info_close(struct csp_debug_info *info);

/* One contiguous part [start, end) of a subprogram of the compile unit number `unit`. `name` is the
 * linkage name, or the plain name where there is none, and lives as long as the debug information.
 */
typedef void csp_subprogram_fn(void *user, const char *name, uint32_t unit, uint64_t start,
                               uint64_t end);
void csp_debug_info_subprograms(struct csp_debug_info *info, csp_subprogram_fn *each, void *user);

/* Whether a unit has inlined a function that another unit defines (its description is found by
 * DW_FORM_ref_addr): they were compiled together, with LTO. */
bool csp_debug_info_inlines_across_units(const struct csp_debug_info *info);

/* One frame of an instruction's inline stack. `function` lives as long as the
 * debug information; "<invalid>" where it has no name. */
struct csp_inline_frame {
    const char *function;
    uint32_t discriminator; /* of the instruction in the leaf, of the callsite in the others */
    uint32_t line, start_line;
};

/* The inline stack of an address, leaf first; *frames lives until the next call. Returns how many
 * frames there are, 0 when the address has no line. Not safe for concurrent use. */
size_t csp_debug_info_frames(struct csp_debug_info *info, uint64_t address,
                             const struct csp_inline_frame **frames);
/* The same without where the instruction is in the leaf, whose line and discriminator are 0. All
 * instructions in [address, *end) have that stack; 0 where they are in no function. */
size_t csp_debug_info_inlining(struct csp_debug_info *info, uint64_t address,
                               const struct csp_inline_frame **frames, uint64_t *end);
/* Reads the inline stacks in [start, end) for who will look at them. Of malformed parts it tells
 * nobody: who looks at something in the same unit first is told then, as if it had not been read
 * yet. */
void csp_debug_info_read_ahead(struct csp_debug_info *info, uint64_t start, uint64_t end);

#ifdef __cplusplus
}
#endif

#endif
