#include "profgen/profgen.h"

#include "base/alloc.h"
#include "profgen/folding.h"
#include "profgen/unsymbolized.h"

struct csp_profgen_options csp_profgen_defaults(void)
{
    return (struct csp_profgen_options){
        .compress_recursion = -1,
        .max_context_depth = -1,
        .max_unsymbolized_depth = -1,
        .infer_missing_frames = true,
        .max_search_depth = UINT32_MAX,
        .load_symbols = true,
        .rules = 1 << CSP_RULE_LEAF,
        .use_offset = true,
        .profile = {.format = CSP_PROFILE_EXTBINARY,
                    .nested = true,
                    .merge_cold = true,
                    .cold_context_depth = 1,
                    .density_cutoff = 990000,
                    .preinline = {.enabled = true,
                                  .by_context_cost = true,
                                  .previous_multiplier = 100,
                                  .hot_threshold = 1500,
                                  .cold_threshold = 0,
                                  .growth_limit = 12,
                                  .limit_min = 100,
                                  .limit_max = 50000}},
    };
}

struct csp_program_options csp_profgen_program_options(const struct csp_profgen_options *options)
{
    return (struct csp_program_options){
        .path = options->binary_path,
        .debug_path = options->debug_path,
        .dwp_path = options->dwp_path,
        .by_lines = options->by_lines || options->mode == CSP_PROFGEN_LINE_CONTEXTS ||
                    options->mode == CSP_PROFGEN_LINE_FLAT,
        .without_symbols = !options->load_symbols,
        .code_only = options->bolt,
        .compat = options->compat,
    };
}

int csp_profgen_open(struct csp_profgen *gen, const struct csp_profgen_options *options,
                     struct csp_diag *diag)
{
    *gen = (struct csp_profgen){.options = *options};
    gen->map.program = &gen->program;
    gen->map.single_base = options->compat;
    gen->map.kernel = options->kernel;
    gen->map.has_pid = options->has_pid;
    gen->map.pid = options->pid;
    gen->set.compat = options->compat;
    /* Until the mode is known, which may be at the end. */
    gen->set.contexts = gen->set.keep_all = true;
    if (options->mode != CSP_PROFGEN_AUTO)
        csp_profgen_decide_mode(gen, false);
    const struct csp_program_options program = csp_profgen_program_options(options);
    int error = csp_program_open(&gen->program, &program, diag);
    if (!error && !gen->program.uses_probes && !program.by_lines && !options->compat &&
        !options->bolt)
        csp_warn(diag,
                 "%s has no pseudo-probes (-fpseudo-probe-for-profiling): it is profiled by its "
                 "debug lines, which tell less after optimisation",
                 gen->program.name);
    return error;
}

/* Keeps what the mode wants of the samples that came before it was known. */
static void keep_wanted(struct csp_profgen *gen)
{
    if (gen->options.aggregate) /* all of them */
        return;
    struct csp_sample_set all = gen->set;
    gen->set = csp_sample_set_like(&all);
    gen->set.contexts = !gen->flat;
    gen->set.keep_all = false;
    csp_sample_set_merge(&gen->set, &all, 1);
    csp_sample_set_free(&all);
}

void csp_profgen_decide_mode(struct csp_profgen *gen, bool has_callchains)
{
    if (gen->is_decided)
        return;
    gen->is_decided = true;
    enum csp_profgen_mode mode = gen->options.mode;
    gen->flat = mode == CSP_PROFGEN_FLAT || mode == CSP_PROFGEN_LINE_FLAT ||
                (mode == CSP_PROFGEN_AUTO && !has_callchains);
    keep_wanted(gen);
}

void csp_profgen_found(struct csp_profgen *gen, bool has_callchains)
{
    if (has_callchains || gen->options.compat)
        csp_profgen_decide_mode(gen, has_callchains);
}

void csp_profgen_settle_mode(struct csp_profgen *gen)
{
    if (gen->folding)
        csp_folding_decide(gen->folding);
    else
        csp_profgen_decide_mode(gen, csp_sample_set_has_callchains(&gen->set));
}

int csp_profgen_note_input(struct csp_profgen *gen, const struct csp_input *input,
                           struct csp_diag *diag)
{
    struct csp_digest digest;
    if (!gen->options.digests)
        return 0;
    int error = csp_digest_input(&digest, input, diag);
    if (error)
        return error;
    csp_digests one = {.data = &digest, .len = 1};
    return csp_digests_add(&gen->inputs, &one, gen->options.duplicates, input->path, diag);
}

/* Whether the samples of texts become counters in the sets that they are read into, instead of
 * being put together first, by which all distinct ones are known. Where there are no contexts, more
 * are alike when they are read for that. Contexts by lines are one thread's, as lines are looked up
 * one at a time. */
static bool may_fold_texts(const struct csp_profgen *gen)
{
    const struct csp_profgen_options *options = &gen->options;
    return options->only_texts && !options->tell_distinct && !options->compat &&
           !options->aggregate && !gen->flat && (gen->program.uses_probes || options->threads <= 1);
}

static int read_text(struct csp_profgen *gen, const struct csp_input *source, struct csp_diag *diag)
{
    unsigned threads = gen->options.threads ? gen->options.threads : 1;
    bool folds = may_fold_texts(gen);
    struct csp_sample_set **list = csp_calloc(threads, sizeof *list);
    const struct csp_script_sets sets = {list, folds ? threads : 1};
    if (folds && !gen->folding)
        gen->folding = csp_folding_begin(gen, threads);
    for (unsigned i = 0; i < sets.count; i++)
        list[i] = folds ? csp_folding_set(gen->folding, i) : &gen->set;
    int error = csp_perf_script_read(source, &gen->map, sets, threads, &gen->stats.text, diag);
    free(list);
    return error;
}

int csp_profgen_perf_script(struct csp_profgen *gen, const char *path, struct csp_diag *diag)
{
    struct csp_input source;
    int error = csp_input_open(&source, path, diag);
    bool has_callchains = false;
    if (!error)
        error = csp_perf_script_has_callchains(&source, &has_callchains, diag);
    if (!error)
        error = csp_profgen_note_input(gen, &source, diag);
    if (!error) {
        uint64_t used_before = gen->stats.text.mappings_used;
        csp_profgen_found(gen, has_callchains);
        /* The mappings of one text tell nothing of another one. */
        csp_address_map_free(&gen->map);
        error = read_text(gen, &source, diag);
        if (!error && gen->stats.text.mappings_used == used_before)
            csp_warn(diag,
                     "%s tells of no mapping of %s: its addresses are taken for the binary's own "
                     "(perf script --show-mmap-events prints mappings)",
                     path, gen->program.name);
    }
    csp_input_close(&source);
    return error;
}

int csp_profgen_unsymbolized(struct csp_profgen *gen, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    bool contexts = false;
    error = csp_unsymbolized_read(&file, &gen->program, csp_profgen_base(gen), &gen->counters,
                                  &contexts, diag);
    csp_file_unmap(&file);
    if (!error)
        csp_profgen_decide_mode(gen, contexts);
    gen->counters_given = true;
    return error;
}

int csp_profgen_branch_list(struct csp_profgen *gen, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    csp_profgen_decide_mode(gen, false);
    error =
        csp_branch_list_read(&file, &gen->program, &gen->counters, &gen->stats.branch_list, diag);
    csp_file_unmap(&file);
    gen->counters_given = true;
    return error;
}

int csp_profgen_profile(struct csp_profgen *gen, const char *path, struct csp_diag *diag)
{
    int error = csp_profile_read(&gen->profile, path, diag);
    if (!error)
        csp_profgen_decide_mode(gen, csp_profile_has_contexts(gen->profile));
    return error;
}

int csp_profgen_data_access(struct csp_profgen *gen, const char *path, struct csp_diag *diag)
{
    csp_profgen_settle_mode(gen);
    if (!gen->flat || gen->program.uses_probes)
        return csp_fail(diag, CSP_ERR_USAGE,
                        "only flat profiles by lines hold types: ask for --mode dwarf-flat");
    return csp_data_access_read(&gen->accesses, &gen->program, &gen->map, path, diag);
}

/* The lowest address of the executable, or of all, segments, rounded down to a page. */
uint64_t csp_profgen_base(const struct csp_profgen *gen)
{
    if (!gen->options.use_offset)
        return 0;
    for (size_t i = 0; i < gen->program.segments.len; i++)
        if (gen->program.segments.data[i].executable || gen->options.first_segment_base)
            return gen->program.segments.data[i].address & ~UINT64_C(0xfff);
    return 0;
}

void csp_profgen_close(struct csp_profgen *gen)
{
    csp_folding_free(gen->folding);
    csp_profile_free(gen->profile);
    csp_counters_free(&gen->counters);
    csp_data_access_free(&gen->accesses);
    csp_sample_set_free(&gen->set);
    csp_vec_free(&gen->inputs);
    csp_vec_free(&gen->others);
    csp_address_map_free(&gen->map);
    csp_program_close(&gen->program);
}
