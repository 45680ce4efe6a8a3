#include "profgen/program.h"

#include "base/file.h"
#include "profgen/llvm/debug_info.h"
#include "profgen/llvm/machine.h"
#include "profgen/llvm/names.h"
#include "profgen/program_elf.h"

#include <string.h>

/* Mapping symbols of the AArch64 ELF ABI tell code ($x) from data in text ($d). */
static bool is_mapping_symbol(const char *name, char kind)
{
    return name[0] == '$' && name[1] == kind && (name[2] == '\0' || name[2] == '.');
}

/* From symbol to symbol, because padding and data need not end where an instruction would. */
static void disassemble(struct csp_program *program)
{
    const struct csp_code_section *section = NULL;
    bool data = false;
    for (size_t i = 0; !program->symbols.len && i < program->code.sections.len; i++)
        csp_code_disassemble(&program->code, program->machine, program->code.sections.data[i].start,
                             program->code.sections.data[i].end);
    for (size_t i = 0; i < program->symbols.len; i++) {
        const struct csp_symbol *symbol = &program->symbols.data[i];
        const struct csp_code_section *at = csp_code_section(&program->code, symbol->address);
        if (at != section)
            data = false;
        section = at;
        if (is_mapping_symbol(symbol->name, 'd'))
            data = true;
        else if (is_mapping_symbol(symbol->name, 'x'))
            data = false;
        uint64_t end = section->end;
        if (i + 1 < program->symbols.len && program->symbols.data[i + 1].address < end)
            end = program->symbols.data[i + 1].address;
        if (!data && end > symbol->address)
            csp_code_disassemble(&program->code, program->machine, symbol->address, end);
    }
}

/* llvm-profgen takes the first two instructions of a function for its prologue, and a return with
 * the instruction before it for an epilogue. */
static void mark_edges(struct csp_program *program)
{
    struct csp_code *code = &program->code;
    for (size_t i = 0; i < program->functions.ranges.len; i++) {
        uint64_t start = program->functions.ranges.data[i].start;
        uint64_t first = csp_code_from(code, start);
        csp_code_mark(code, start, CSP_CODE_EDGE);
        if (first)
            csp_code_mark(code, csp_code_from(code, first + 1), CSP_CODE_EDGE);
    }
    for (size_t i = 0; i < code->sections.len; i++) {
        const struct csp_code_section *section = &code->sections.data[i];
        uint64_t slots = (section->end - section->start) >> section->shift;
        for (uint64_t slot = 0; slot < slots; slot++) {
            if (!(section->flags[slot] & CSP_CODE_RETURN))
                continue;
            uint64_t address = section->start + (slot << section->shift);
            section->flags[slot] |= CSP_CODE_EDGE;
            csp_code_mark(code, csp_code_before(code, address), CSP_CODE_EDGE);
        }
    }
}

/* The length of a name without the suffix of functions that control-flow integrity renamed: what
 * has their own names is a table of jumps then. 0: it has none. */
static size_t length_before_cfi(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && !strcmp(name + length - 4, ".cfi") ? length - 4 : 0;
}

/* The addresses of symbols, by the GUIDs of the names that probes may call them by. */
static void collect_symbols(const struct csp_program *program, bool compat,
                            struct csp_probe_symbols *symbols)
{
    struct csp_map renamed = {0};
    for (size_t i = 0; !compat && i < program->symbols.len; i++) {
        const struct csp_symbol *symbol = &program->symbols.data[i];
        size_t length = length_before_cfi(symbol->name);
        if (!length)
            continue;
        uint64_t guid = csp_name_guid(symbol->name, length);
        csp_vec_push(&symbols->list, (struct csp_probe_symbol){guid, symbol->address});
        *csp_map_at(&renamed, guid) = 1;
    }
    for (size_t i = 0; i < program->symbols.len; i++) {
        const struct csp_symbol *symbol = &program->symbols.data[i];
        /* llvm-profgen has no probes of functions that it does not know otherwise. */
        if (compat && !csp_functions_find_start(&program->functions, symbol->address))
            continue;
        uint64_t guid = csp_name_guid(symbol->name, strlen(symbol->name));
        if (!csp_map_find(&renamed, guid))
            csp_vec_push(&symbols->list, (struct csp_probe_symbol){guid, symbol->address});
    }
    csp_map_free(&renamed);
}

static int read_probes(struct csp_program *program, const struct csp_program_sections *found,
                       bool compat, struct csp_diag *diag)
{
    struct csp_probe_symbols symbols = {.last_only = compat};
    collect_symbols(program, compat, &symbols);
    int error = csp_probes_read_names(&program->probes, &program->names, found->names,
                                      found->names_size, diag);
    if (!error)
        error = csp_probes_read(&program->probes, &program->names, found->probes,
                                found->probes_size, &symbols, diag);
    csp_vec_free(&symbols.list);
    csp_probes_seal(&program->probes);
    return error;
}

/* The first probe in a function's code, or CSP_NO_PROBE. */
static uint32_t first_probe(const struct csp_probes *probes, const struct csp_function_range *range)
{
    size_t at = csp_probes_from(probes, range->start);
    bool inside = at < probes->by_address.len && probes->by_address.data[at].address < range->end;
    return inside ? probes->by_address.data[at].probe : CSP_NO_PROBE;
}

/* Where DWARF and the symbol table disagree on a name, the probes decide. */
static void name_by_probes(struct csp_program *program)
{
    const struct csp_probes *probes = &program->probes;
    for (size_t i = 0; i < program->functions.ranges.len; i++) {
        const struct csp_function_range *range = &program->functions.ranges.data[i];
        struct csp_function *function = &program->functions.functions.data[range->function];
        if (function->name_source != CSP_NAME_MISMATCH || !range->entry ||
            function->probe_name != CSP_INTERN_NONE)
            continue;
        uint32_t probe = first_probe(probes, range);
        if (probe == CSP_NO_PROBE)
            continue;
        uint32_t node = probes->probes.data[probe].node;
        while (probes->nodes.data[node].parent != CSP_NO_NODE)
            node = probes->nodes.data[node].parent;
        function->probe_name = probes->functions.data[probes->nodes.data[node].function].name;
    }
}

/* What the profile is made by: probes where there are any, or else lines. */
static int choose_probes_or_lines(struct csp_program *program,
                                  const struct csp_program_sections *found,
                                  const struct csp_program_options *options, struct csp_diag *diag)
{
    program->has_lines = csp_debug_info_units(program->debug) != 0;
    program->uses_probes = found->names && found->probes && !options->by_lines;
    if (program->uses_probes || program->has_lines || options->compat || options->code_only)
        return 0;
    if (options->by_lines && found->probes)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s has no debug information, so it cannot be profiled by lines; it has "
                        "pseudo-probes: profile it by those",
                        program->path);
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s has neither pseudo-probes nor debug information: compile it with "
                    "-fpseudo-probe-for-profiling -gmlt -fdebug-info-for-profiling, or name the "
                    "file that its debug information is in with --debug-binary",
                    program->path);
}

/* libLLVM goes on without what it does not find. */
static int open_debug_info(struct csp_program *program, const struct csp_program_options *options,
                           struct csp_diag *diag)
{
    const struct csp_file *file = options->debug_path ? &program->debug_file : &program->file;
    const char *dwo = NULL;
    struct csp_file dwp = {0};
    int error = 0;
    if (options->dwp_path) {
        error = csp_file_map(&dwp, options->dwp_path, diag);
        csp_file_unmap(&dwp);
    }
    if (!error && !file->data) /* the program has all but the debug information */
        error = csp_file_map(&program->debug_file, options->debug_path, diag);
    if (!error)
        error = csp_debug_info_open(&program->debug, file, options->dwp_path, diag);
    if (error || options->code_only)
        return error;
    size_t missing = csp_debug_info_missing(program->debug, &dwo);
    if (missing)
        csp_warn(diag,
                 "%s: debug information of %zu of %zu compile units is missing (%s): inlined calls "
                 "in them are not known; put the .dwo files back, or name their .dwp with --dwp",
                 file->path, missing, csp_debug_info_units(program->debug), dwo);
    return 0;
}

/* Hardly any of the files is looked at again before all samples are counted. */
static void forget_pages(const struct csp_program *program)
{
    csp_file_done(&program->file, 0, program->file.size);
    csp_file_done(&program->debug_file, 0, program->debug_file.size);
}

int csp_program_open(struct csp_program *program, const struct csp_program_options *options,
                     struct csp_diag *diag)
{
    *program = (struct csp_program){.path = csp_strdup(options->path)};
    program->name = csp_file_name(program->path);
    struct csp_program_sections found = {0};
    int error = csp_program_elf_open(program, diag);
    if (!error)
        error = csp_machine_create(&program->machine, program->machine_type, diag);
    if (!error)
        error = csp_program_elf_read(program, options, &found, diag);
    if (!error)
        error = open_debug_info(program, options, diag);
    if (!error)
        error = choose_probes_or_lines(program, &found, options, diag);
    if (error)
        return error;
    disassemble(program);
    csp_functions_load(program,
                       !options->without_symbols && (program->uses_probes || !options->compat));
    mark_edges(program);
    if (!program->uses_probes)
        return 0;
    error = read_probes(program, &found, options->compat, diag);
    if (!error)
        name_by_probes(program);
    forget_pages(program);
    return error;
}

void csp_program_close(struct csp_program *program)
{
    if (program->debug)
        csp_debug_info_close(program->debug);
    if (program->machine)
        csp_machine_destroy(program->machine);
    csp_probes_free(&program->probes);
    csp_lines_free(&program->lines);
    csp_functions_free(&program->functions);
    csp_code_free(&program->code);
    csp_intern_free(&program->names);
    csp_program_elf_close(program);
    free(program->path);
    *program = (struct csp_program){0};
}

const struct csp_program_segment *csp_program_segment_at(const struct csp_program *program,
                                                         uint64_t offset)
{
    for (size_t i = 0; i < program->segments.len; i++) {
        const struct csp_program_segment *segment = &program->segments.data[i];
        if (segment->executable && offset >= segment->offset &&
            offset - segment->offset < segment->file_size)
            return segment;
    }
    return NULL;
}

uint64_t csp_program_at_offset(const struct csp_program *program, uint64_t offset)
{
    const struct csp_program_segment *segment = csp_program_segment_at(program, offset);
    return segment ? segment->address + (offset - segment->offset) : CSP_EXTERNAL;
}

uint64_t csp_program_call_before(const struct csp_program *program, uint64_t return_address)
{
    if (return_address == CSP_EXTERNAL)
        return CSP_EXTERNAL;
    uint64_t before = csp_code_before(&program->code, return_address);
    return csp_code_flags(&program->code, before) & CSP_CODE_CALL ? before : 0;
}

bool csp_program_has_probes(const struct csp_program *program, uint64_t address)
{
    const struct csp_function_range *range = csp_functions_find(&program->functions, address);
    return range && first_probe(&program->probes, range) != CSP_NO_PROBE;
}

uint32_t csp_program_callee_name(struct csp_program *program, uint64_t address)
{
    const struct csp_function_range *range = csp_functions_find_start(&program->functions, address);
    if (!range || !range->entry)
        return CSP_INTERN_NONE;
    const struct csp_function *function = &program->functions.functions.data[range->function];
    uint32_t name = function->probe_name == CSP_INTERN_NONE ? function->name : function->probe_name;
    const char *text = csp_intern_text(&program->names, name);
    size_t length = csp_name_canonical(text);
    return text[length] ? csp_intern(&program->names, text, length) : name;
}
