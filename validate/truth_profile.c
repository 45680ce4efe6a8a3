#include "validate/truth_profile.h"

#include "base/file.h"
#include "profgen/call_probes.h"
#include "profgen/generate.h"

#include <inttypes.h>
#include <string.h>

#define HEADER "csprof-truth 1\n"

enum { INSTRUCTION = 4 /* bytes; the emulator runs AArch64 alone */ };

struct reader {
    const struct csp_file *file;
    const struct csp_program *program;
    struct csp_counters counters;
    uint64_t bias; /* of the addresses in the file over the program's own */
    uint32_t context;
    size_t line; /* number of the line being read */
    bool mapped, others_mapped, in_counts, complete;
};

bool csp_truth_is(const char *path)
{
    struct csp_file file;
    if (csp_file_map(&file, path, NULL))
        return false;
    size_t size = strlen(HEADER);
    bool is = file.size >= size && !memcmp(file.data, HEADER, size);
    csp_file_unmap(&file);
    return is;
}

/* Where the program was loaded: its executable segment is what was mapped. */
static void take_map(struct reader *reader, uint64_t start, const char *path)
{
    const struct csp_program *program = reader->program;
    if (strcmp(csp_file_name(path), program->name) != 0) {
        reader->others_mapped = true;
        return;
    }
    for (size_t i = 0; i < program->segments.len && !reader->mapped; i++) {
        if (!program->segments.data[i].executable)
            continue;
        reader->bias = start - (program->segments.data[i].address & ~UINT64_C(0xfff));
        reader->mapped = true;
    }
}

static void take_code(struct reader *reader, uint64_t start, uint64_t end, uint64_t count)
{
    uint64_t first = start - reader->bias, last = end - INSTRUCTION - reader->bias;
    const struct csp_code *code = &reader->program->code;
    if (csp_code_is_instruction(code, first) && csp_code_is_instruction(code, last))
        csp_counters_add(&reader->counters.ranges, reader->context, first, last, count);
}

static void take_branch(struct reader *reader, uint64_t from, uint64_t to, uint64_t count)
{
    const struct csp_code *code = &reader->program->code;
    from -= reader->bias;
    to -= reader->bias;
    if (csp_code_is_instruction(code, from) && csp_code_is_instruction(code, to))
        csp_counters_add(&reader->counters.branches, reader->context, from, to, count);
}

/* The last section of counts is the complete one. */
static void forget_counts(struct reader *reader)
{
    csp_counters_free(&reader->counters);
    reader->counters = (struct csp_counters){0};
    reader->context = csp_counters_context(&reader->counters, NULL, 0);
    reader->in_counts = true;
}

/* False: the line is none that a truth file has. */
static bool take_line(struct reader *reader, const char *line)
{
    uint64_t a, b, count;
    int path;
    reader->complete = !strcmp(line, "done");
    if (!strcmp(line, "counts"))
        forget_counts(reader);
    else if (sscanf(line, "map %" SCNx64 " %" SCNx64 " %n", &a, &b, &path) == 2)
        take_map(reader, a, line + path);
    else if (!strncmp(line, "code ", 5) || !strncmp(line, "taken ", 6)) {
        const char *rest = strchr(line, ' ') + 1;
        if (!reader->in_counts ||
            sscanf(rest, "%" SCNx64 " %" SCNx64 " %" SCNu64, &a, &b, &count) != 3)
            return false;
        (*line == 'c' ? take_code : take_branch)(reader, a, b, count);
    }
    return true;
}

static int read_lines(struct reader *reader, struct csp_diag *diag)
{
    const char *at = (const char *)reader->file->data, *end = at + reader->file->size;
    struct csp_buf line = {0};
    int error = 0;
    while (at < end && !error) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            break; /* cut off: it does not end in `done` */
        reader->line++;
        line.len = 0;
        csp_buf_add(&line, at, (size_t)(stop - at));
        csp_buf_add_char(&line, '\0');
        if (!take_line(reader, line.data))
            error = csp_fail(diag, CSP_ERR_INPUT,
                             "%s: line %zu: expected two addresses and a count after `counts`, not "
                             "'%.60s'",
                             reader->file->path, reader->line, line.data);
        at = stop + 1;
    }
    csp_buf_free(&line);
    if (!error && !reader->complete)
        error = csp_fail(diag, CSP_ERR_INPUT,
                         "%s does not end in `done`: the emulator did not finish writing it",
                         reader->file->path);
    return error;
}

static int make_table(struct reader *reader, struct csp_program *program,
                      struct csp_profile_table *table, struct csp_diag *diag)
{
    if (!reader->counters.ranges.counts.len || (reader->others_mapped && !reader->mapped))
        return csp_fail(diag, CSP_ERR_INPUT, "%s has no counts of %s: is it the program that ran?",
                        reader->file->path, program->path);
    int error = csp_call_probes_rebuild(program, &reader->counters, 0, diag);
    if (error)
        return error;
    struct csp_context_tree tree = {0};
    csp_generate_flat(program, &reader->counters, false, &tree);
    struct csp_guids guids = {.names = &program->names};
    struct csp_profile *profile = csp_context_profile(
        &tree, &guids, &(struct csp_profile_data){.context_sensitive = false}, false, 1);
    csp_guids_free(&guids);
    csp_profile_table_add(table, profile);
    csp_profile_free(profile);
    csp_context_free(&tree);
    return 0;
}

int csp_truth_profile(struct csp_profile_table *table, const char *path, const char *binary,
                      struct csp_diag *diag)
{
    struct csp_program program;
    struct csp_file file = {0};
    int error = csp_program_open(&program, &(struct csp_program_options){.path = binary}, diag);
    if (!error && !program.uses_probes)
        error =
            csp_fail(diag, CSP_ERR_INPUT,
                     "%s has no pseudo-probes: build it with -fpseudo-probe-for-profiling", binary);
    if (!error)
        error = csp_file_map(&file, path, diag);
    if (!error) {
        struct reader reader = {.file = &file, .program = &program};
        error = read_lines(&reader, diag);
        if (!error)
            error = make_table(&reader, &program, table, diag);
        csp_counters_free(&reader.counters);
        csp_file_unmap(&file);
    }
    csp_program_close(&program);
    return error;
}
