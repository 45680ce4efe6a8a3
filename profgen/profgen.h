/* Profile generation: samples of a binary in, a profile for the compiler out.
 *
 *     csp_profgen_open(&gen, &options, diag);          the binary
 *     csp_profgen_perf_script(&gen, path, diag);       any number of inputs, or …
 *     csp_profgen_recording(&gen, recording, …);       (profgen/recording_input.h) or …
 *     csp_profgen_unsymbolized(&gen, path, diag);      … counters, or …
 *     csp_profgen_profile(&gen, path, diag);           … a profile to finish differently
 *     csp_profgen_finish(&gen, &out, diag);            the profile
 *     csp_profgen_close(&gen);
 */
#ifndef CSP_PROFGEN_PROFGEN_H
#define CSP_PROFGEN_PROFGEN_H

#include "base/buf.h"
#include "base/diag.h"
#include "base/json.h"
#include "profgen/across_builds.h"
#include "profgen/address_map.h"
#include "profgen/aggregate.h"
#include "profgen/bolt.h"
#include "profgen/branch_list.h"
#include "profgen/counters.h"
#include "profgen/data_access.h"
#include "profgen/generate.h"
#include "profgen/llvm/profile.h"
#include "profgen/perf_script.h"
#include "profgen/program.h"
#include "profgen/sample_checks.h"
#include "profgen/sample_set.h"
#include "profgen/unwind.h"

enum csp_profgen_mode {
    CSP_PROFGEN_AUTO, /* contexts when any samples have callchains */
    CSP_PROFGEN_CONTEXTS,
    CSP_PROFGEN_FLAT,
    CSP_PROFGEN_LINE_CONTEXTS, /* by debug lines, though there may be probes */
    CSP_PROFGEN_LINE_FLAT,
};

struct csp_profgen_options {
    const char *binary_path;
    const char *debug_path, *dwp_path; /* see struct csp_program_options */
    enum csp_profgen_mode mode;
    bool has_pid, kernel; /* of texts: only mappings of that process; those of the kernel */
    uint64_t pid;
    bool by_lines;      /* whatever the mode */
    bool load_symbols;  /* functions that only the symbol table has count too */
    bool all_functions; /* flat profiles hold those that did not run */
    bool symbol_list;   /* extbinary holds the names of all functions */
    bool compat;        /* llvm-profgen 22's choices throughout */
    unsigned rules;     /* samples that break one of these are rejected: 1 << csp_sample_rule */
    enum csp_bolt_format bolt; /* write for BOLT instead of a profile */
    bool tell_distinct;        /* how many distinct samples there were, where none are kept */
    bool only_texts;           /* samples come from perf script's texts, and nothing else does */
    bool aggregate;            /* write an aggregate (profgen/aggregate.h) instead of a profile */
    bool digests;              /* tell inputs by their digests, and do not count one twice … */
    bool duplicates;           /* … unless that is meant */
    struct csp_store *store;   /* where results are kept and looked for; may be null */
    unsigned threads;          /* 0 is one; the result does not depend on it */
    int compress_recursion, max_context_depth, max_unsymbolized_depth;
    bool infer_missing_frames;
    uint32_t max_search_depth;
    /* Write the counters instead of a profile (profgen/unsymbolized.h). */
    bool skip_symbolization;
    bool use_offset;         /* with addresses relative to the first executable segment … */
    bool first_segment_base; /* … or to the first loadable one */
    struct csp_profile_options profile; /* sizes and symbols are set from the binary */
};

/* What options are when nothing was said: llvm-profgen's values, extbinary. */
struct csp_profgen_options csp_profgen_defaults(void);

struct csp_profgen_stats {
    struct csp_sample_set_stats samples;
    struct csp_sample_check_stats checks;
    uint64_t distinct_samples;
    bool distinct_samples_is_estimate;
    struct csp_perf_script_stats text;
    struct csp_unwind_stats unwind;
    struct csp_generate_stats generate;
    uint64_t unwound_contexts, range_counters, branch_counters;
    uint64_t call_probes_rebuilt, calls_without_probe, unplaced_probes, missing_guids;
    struct csp_profile_result profile;
    struct csp_branch_list_stats branch_list;
    uint64_t bolt_lines;
    uint64_t profile_bytes;
};

struct csp_folding;

struct csp_profgen {
    struct csp_profgen_options options;
    struct csp_program program;
    struct csp_address_map map; /* of the text inputs */
    struct csp_sample_set set;
    csp_digests inputs; /* with options.digests */
    struct csp_counters counters;
    struct csp_data_accesses accesses;
    struct csp_profile *profile; /* read, or made by csp_profgen_finish */
    struct csp_profgen_stats stats;
    CSP_VEC(struct csp_profgen *) others; /* other builds, whose counts are added (not owned) */
    struct csp_across_stats across;
    struct csp_folding *folding; /* what is counted without having been kept, or null */
    bool flat;
    bool is_decided; /* `flat` is */
    bool counters_given;
};

/* How the binary is read. */
struct csp_program_options csp_profgen_program_options(const struct csp_profgen_options *options);
/* Reads the binary. Errors: those of csp_program_open. Close after an error too. */
int csp_profgen_open(struct csp_profgen *gen, const struct csp_profgen_options *options,
                     struct csp_diag *diag);
/* Adds the samples of a perf-script text. Errors: CSP_ERR_INPUT, CSP_ERR_IO. */
int csp_profgen_perf_script(struct csp_profgen *gen, const char *path, struct csp_diag *diag);
/* Makes counters of the samples that were added so far, and forgets the samples, whose number grows
 * with time while that of counters is the program's. The profile is the same. Not for aggregates.
 */
void csp_profgen_fold(struct csp_profgen *gen);
/* Whether call probes will be made of the debug information. */
bool csp_profgen_rebuilds_call_probes(const struct csp_profgen *gen);
/* How samples are unwound, now that the mode is known. */
struct csp_unwind_options csp_profgen_unwind_options(const struct csp_profgen *gen);
/* Adds counters that were written before, with skip_symbolization. Errors: CSP_ERR_INPUT,
 * CSP_ERR_IO. */
int csp_profgen_unsymbolized(struct csp_profgen *gen, const char *path, struct csp_diag *diag);
/* Adds the counts of a branch list (profgen/branch_list.h); the profile is flat, then. Errors:
 * CSP_ERR_INPUT, CSP_ERR_IO. */
int csp_profgen_branch_list(struct csp_profgen *gen, const char *path, struct csp_diag *diag);
/* Takes a finished profile instead of samples: contexts may be merged or pre-inlined. Errors:
 * CSP_ERR_INPUT. */
int csp_profgen_profile(struct csp_profgen *gen, const char *path, struct csp_diag *diag);
/* Adds the virtual tables that were read; after the samples, whose mappings it needs. Only flat
 * profiles by lines hold them. Errors: CSP_ERR_INPUT, CSP_ERR_USAGE for another kind of profile. */
int csp_profgen_data_access(struct csp_profgen *gen, const char *path, struct csp_diag *diag);
/* Adds what was counted in another build of the program (profgen/across_builds.h), which has all
 * its samples and lives until csp_profgen_finish. Both are profiled by probes. Errors:
 * CSP_ERR_INPUT. */
int csp_profgen_other_build(struct csp_profgen *gen, struct csp_profgen *other,
                            struct csp_diag *diag);
/* Notes a file that samples come from. Errors: CSP_ERR_INPUT: it was noted before; those of
 * csp_digest_input. */
int csp_profgen_note_input(struct csp_profgen *gen, const struct csp_input *input,
                           struct csp_diag *diag);
/* Decides what the automatic mode becomes, unless that was done. */
void csp_profgen_decide_mode(struct csp_profgen *gen, bool has_callchains);
/* Decides it by samples that are to be added: whichever input comes first, any with callchains is
 * reason for contexts. With `compat` the first input decides. */
void csp_profgen_found(struct csp_profgen *gen, bool has_callchains);
/* Decides it by the samples that were added. */
void csp_profgen_settle_mode(struct csp_profgen *gen);
/* What addresses are relative to in counters that are read or written. */
uint64_t csp_profgen_base(const struct csp_profgen *gen);
/* Makes the profile and appends it to `out`. Errors: CSP_ERR_INPUT when it would be empty: the
 * message tells why. */
int csp_profgen_finish(struct csp_profgen *gen, struct csp_buf *out, struct csp_diag *diag);
/* Adds the statistics as members to an open JSON object. */
void csp_profgen_json(const struct csp_profgen *gen, struct csp_json *json);
void csp_profgen_close(struct csp_profgen *gen);

#endif
