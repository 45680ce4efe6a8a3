#include "cli/gen_options.h"

#include "base/parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How the value of an option is read, and where it goes. */
enum option_kind { SWITCH, SIGNED, COUNT32, POSITIVE, COUNT64, DECIMAL, TEXT, FILES, WORD, RULES };

struct option {
    const char *name;
    enum option_kind kind;
    size_t offset; /* in struct gen */
    size_t also;   /* the bool that tells it was given, where that matters; else 0 */
    const char
        *words; /* WORD: those accepted, separated by blanks; stored as an int. RULES: a text */
};

#define IN(member) offsetof(struct gen, member)

static const char rule_words[] =
    "leaf, stack, fall-through, branch, return, external, prologue, all or none, or several of "
    "them with commas between";

static const struct option options[] = {
    {"-i", FILES, IN(inputs), 0, NULL},
    {"--perfscript", FILES, IN(scripts), 0, NULL},
    {"--ps", FILES, IN(scripts), 0, NULL},
    {"--perfdata", FILES, IN(inputs), 0, NULL},
    {"--pd", FILES, IN(inputs), 0, NULL},
    {"--aggregate", FILES, IN(aggregates), 0, NULL},
    {"--allow-duplicates", SWITCH, IN(options.duplicates), 0, NULL},
    {"--unsymbolized-profile", FILES, IN(unsymbolized), 0, NULL},
    {"--up", FILES, IN(unsymbolized), 0, NULL},
    {"--branch-list", FILES, IN(branch_lists), 0, NULL},
    {"--llvm-sample-profile", TEXT, IN(profile_path), 0, NULL},
    {"--data-access-perftrace", TEXT, IN(data_access_path), 0, NULL},
    {"--pid", COUNT64, IN(options.pid), IN(options.has_pid), NULL},
    {"--kernel", SWITCH, IN(options.kernel), 0, NULL},
    {"-b", FILES, IN(binaries), 0, NULL},
    {"--binary", FILES, IN(binaries), 0, NULL},
    {"--debug-binary", TEXT, IN(options.debug_path), 0, NULL},
    {"--dwp", TEXT, IN(options.dwp_path), 0, NULL},
    {"--use-dwarf-correlation", SWITCH, IN(options.by_lines), 0, NULL},
    {"--load-function-from-symbol", SWITCH, IN(options.load_symbols), 0, NULL},
    {"-o", TEXT, IN(output_path), 0, NULL},
    {"--output", TEXT, IN(output_path), 0, NULL},
    {"--symfs", TEXT, IN(symfs), 0, NULL},
    {"--format", WORD, IN(options.profile.format), 0,
     "text extbinary binary aggregate preagg fdata"},
    {"--mode", WORD, IN(options.mode), 0, "auto cs flat dwarf-cs dwarf-flat"},
    {"--csspgo-preinliner", SWITCH, IN(options.profile.preinline.enabled), 0, NULL},
    {"--preinline-across-units", SWITCH, IN(options.profile.preinline.across_units), 0, NULL},
    {"--csspgo-replay-preinline", SWITCH, IN(options.profile.preinline.replay), 0, NULL},
    {"--use-context-cost-for-preinliner", SWITCH, IN(options.profile.preinline.by_context_cost), 0,
     NULL},
    {"--csspgo-preinliner-multiplier-for-previous-inlining", SIGNED,
     IN(options.profile.preinline.previous_multiplier), 0, NULL},
    {"--sample-profile-hot-inline-threshold", SIGNED, IN(options.profile.preinline.hot_threshold),
     0, NULL},
    {"--sample-profile-cold-inline-threshold", SIGNED, IN(options.profile.preinline.cold_threshold),
     0, NULL},
    {"--sample-profile-inline-growth-limit", SIGNED, IN(options.profile.preinline.growth_limit), 0,
     NULL},
    {"--sample-profile-inline-limit-min", SIGNED, IN(options.profile.preinline.limit_min), 0, NULL},
    {"--sample-profile-inline-limit-max", SIGNED, IN(options.profile.preinline.limit_max), 0, NULL},
    {"--gen-cs-nested-profile", SWITCH, IN(options.profile.nested), 0, NULL},
    {"--compress-recursion", SIGNED, IN(options.compress_recursion), 0, NULL},
    {"--csprof-max-context-depth", SIGNED, IN(options.max_context_depth), 0, NULL},
    {"--csprof-max-unsymbolized-context-depth", SIGNED, IN(options.max_unsymbolized_depth), 0,
     NULL},
    {"--infer-missing-frames", SWITCH, IN(options.infer_missing_frames), 0, NULL},
    {"--max-search-depth", COUNT32, IN(options.max_search_depth), 0, NULL},
    {"--csprof-merge-cold-context", SWITCH, IN(options.profile.merge_cold),
     IN(options.profile.merge_cold_given), NULL},
    {"--csprof-max-cold-context-depth", POSITIVE, IN(options.profile.cold_context_depth), 0, NULL},
    {"--trim-cold-profile", SWITCH, IN(options.profile.trim_cold), 0, NULL},
    {"--profile-summary-hot-count", COUNT64, IN(options.profile.hot_count),
     IN(options.profile.has_hot_count), NULL},
    {"--profile-summary-cold-count", COUNT64, IN(options.profile.cold_count),
     IN(options.profile.has_cold_count), NULL},
    {"--mark-all-context-preinlined", SWITCH, IN(options.profile.mark_preinlined), 0, NULL},
    {"--update-total-samples", SWITCH, IN(options.profile.update_totals), 0, NULL},
    {"--fill-zero-for-all-funcs", SWITCH, IN(options.all_functions), 0, NULL},
    {"--populate-profile-symbol-list", SWITCH, IN(options.symbol_list), 0, NULL},
    {"--resume", SWITCH, IN(resume), 0, NULL},
    {"--show-density", SWITCH, IN(show_density), 0, NULL},
    {"--profile-density-threshold", DECIMAL, IN(density_threshold), 0, NULL},
    {"--profile-density-cutoff-hot", SIGNED, IN(options.profile.density_cutoff), 0, NULL},
    {"--validate", RULES, IN(options.rules), 0, rule_words},
    {"--max-bogus", DECIMAL, IN(max_bogus), IN(has_max_bogus), NULL},
    {"--show-detailed-warning", SWITCH, IN(detailed_warnings), 0, NULL},
    {"--use-md5", SWITCH, IN(options.profile.use_md5), 0, NULL},
    {"--compress", SWITCH, IN(options.profile.compress), 0, NULL},
    {"--skip-symbolization", SWITCH, IN(options.skip_symbolization), 0, NULL},
    {"--use-offset", SWITCH, IN(options.use_offset), 0, NULL},
    {"--use-first-loadable-segment-as-base", SWITCH, IN(options.first_segment_base), 0, NULL},
};

/* Long names may begin with one dash or two. */
static bool named(const char *text, size_t length, const char *name)
{
    if (length > 2 && text[0] == '-' && text[1] != '-')
        name++;
    return strlen(name) == length && !strncmp(name, text, length);
}

static const struct option *find_option(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (named(name, length, options[i].name))
            return &options[i];
    return NULL;
}

static bool parse_switch(const char *value, bool *on)
{
    *on = !value || !strcmp(value, "1") || !strcmp(value, "true");
    return *on || !strcmp(value, "0") || !strcmp(value, "false");
}

static bool parse_word(const char *words, const char *value, int *number)
{
    size_t length = strlen(value);
    for (*number = 0; *words; ++*number) {
        size_t size = strcspn(words, " ");
        if (size == length && !strncmp(words, value, size))
            return true;
        words += size + (words[size] == ' ');
    }
    return false;
}

static bool parse_decimal(const char *value, double *number)
{
    char *end;
    *number = strtod(value, &end);
    return end != value && !*end && *number >= 0;
}

static bool set_option(struct gen *gen, const struct option *option, const char *value)
{
    void *at = (char *)gen + option->offset;
    uint64_t count = 0;
    if (option->also)
        *(bool *)((char *)gen + option->also) = true;
    switch (option->kind) {
    case SWITCH:
        return parse_switch(value, at);
    case SIGNED:
        *(int *)at = -1;
        if (!strcmp(value, "-1"))
            return true;
        if (!csp_parse_count(value, &count) || count > INT32_MAX)
            return false;
        *(int *)at = (int)count;
        return true;
    case COUNT32:
    case POSITIVE:
        if (!csp_parse_count(value, &count) || count > UINT32_MAX ||
            (!count && option->kind == POSITIVE))
            return false;
        *(uint32_t *)at = (uint32_t)count;
        return true;
    case COUNT64:
        return csp_parse_count(value, at);
    case DECIMAL:
        return parse_decimal(value, at);
    case TEXT:
        *(const char **)at = value;
        return true;
    case FILES:
        if (option->offset == IN(inputs))
            csp_vec_push(&gen->inputs, value);
        else if (option->offset == IN(unsymbolized))
            csp_vec_push(&gen->unsymbolized, value);
        else if (option->offset == IN(branch_lists))
            csp_vec_push(&gen->branch_lists, value);
        else if (option->offset == IN(aggregates))
            csp_vec_push(&gen->aggregates, value);
        else if (option->offset == IN(binaries))
            csp_vec_push(&gen->binaries, gen->options.binary_path = value);
        else
            csp_vec_push(&gen->scripts, value);
        return true;
    case WORD:
        return parse_word(option->words, value, at);
    case RULES:
        return csp_sample_rules_parse(value, at);
    }
    return false;
}

/* Reads "--name=value", "--name value" and, for switches, "--name". */
int csp_gen_parse(struct gen *gen, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *equals = argv[i][0] == '-' ? strchr(argv[i], '=') : NULL;
        size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        const char *value = equals ? equals + 1 : NULL;
        if (named(argv[i], length, "--compat")) {
            value = value ? value : i + 1 < argc ? argv[++i] : "";
            if (strcmp(value, "llvm-profgen-22") != 0)
                return csp_cli_usage(gen->cli, "--compat takes llvm-profgen-22");
            gen->options.compat = true;
            continue;
        }
        if (named(argv[i], length, "--ignore-stack-samples")) {
            bool flat;
            if (!parse_switch(value, &flat))
                return csp_cli_usage(gen->cli, "--ignore-stack-samples takes 0 or 1");
            gen->options.mode = flat ? CSP_PROFGEN_FLAT : CSP_PROFGEN_AUTO;
            continue;
        }
        const struct option *option = find_option(argv[i], length);
        if (!option)
            return csp_cli_unexpected(gen->cli, argv[i], CSP_CLI_GIVEN_BY_I);
        if (!value && option->kind != SWITCH) {
            if (i + 1 == argc)
                return csp_cli_usage(gen->cli, "%s needs a value", option->name);
            value = argv[++i];
        }
        if (!set_option(gen, option, value))
            return csp_cli_usage(gen->cli, "%s cannot be '%s'%s%s", option->name, value,
                                 option->words ? ": it is one of " : "",
                                 option->words ? option->words : "");
    }
    return CSP_EXIT_DONE;
}

static bool is_about_files(const struct option *option)
{
    return option->kind == FILES || option->offset == IN(output_path) ||
           option->offset == IN(symfs);
}

void csp_gen_options_key(const struct gen *gen, struct csp_run_key *key)
{
    csp_run_key_line(key, "compat %d", gen->options.compat);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const struct option *option = &options[i];
        const void *at = (const char *)gen + option->offset;
        if (is_about_files(option))
            continue;
        if (option->also)
            csp_run_key_line(key, "given %d", *(const bool *)((const char *)gen + option->also));
        switch (option->kind) {
        case SWITCH:
            csp_run_key_line(key, "%s %d", option->name, *(const bool *)at);
            break;
        case SIGNED:
        case WORD:
            csp_run_key_line(key, "%s %d", option->name, *(const int *)at);
            break;
        case COUNT32:
        case POSITIVE:
        case RULES:
            csp_run_key_line(key, "%s %" PRIu32, option->name, *(const uint32_t *)at);
            break;
        case COUNT64:
            csp_run_key_line(key, "%s %" PRIu64, option->name, *(const uint64_t *)at);
            break;
        case DECIMAL:
            csp_run_key_line(key, "%s %a", option->name, *(const double *)at);
            break;
        case TEXT:
            csp_run_key_line(key, "%s %s", option->name,
                             *(char *const *)at ? *(char *const *)at : "");
            break;
        case FILES:
            break;
        }
    }
}
