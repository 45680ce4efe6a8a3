#include "cli/gen_program_open.h"

#include "base/parallel.h"
#include "cli/gen_recordings.h"
#include "profgen/aggregate_input.h"
#include "profgen/llvm/debug_info.h"
#include "profgen/recording_input.h"

void csp_gen_program_begin(struct csp_gen_program *program, struct gen *gen,
                           struct csp_profgen *profgen)
{
    *program = (struct csp_gen_program){.gen = gen, .profgen = profgen};
    csp_messages_begin(&program->messages, NULL);
}

static void open_program(struct csp_gen_program *program)
{
    program->was_tried = true;
    program->error =
        csp_profgen_open(program->profgen, &program->gen->options, &program->messages.diag);
}

struct opening {
    struct csp_gen_program *program;
    int error; /* of the recordings */
};

static void open_either(void *user, unsigned worker)
{
    struct opening *opening = user;
    if (worker)
        open_program(opening->program);
    else
        opening->error = csp_gen_open_recordings(opening->program->gen);
}

int csp_gen_program_and_recordings(struct csp_gen_program *program)
{
    const struct gen *gen = program->gen;
    bool both = gen->cli->threads > 1 && gen->options.binary_path && gen->inputs.len;
    struct opening opening = {.program = program};
    csp_parallel(both ? 2 : 1, open_either, &opening);
    return opening.error;
}

/* Who listens to the debug information, which may have more to tell when it is looked at. */
static void let_tell(struct csp_gen_program *program, struct csp_diag *diag)
{
    struct csp_debug_info *debug = program->profgen->program.debug;
    if (debug)
        csp_debug_info_tell(debug, diag);
}

/* Whether the inputs are of this program, which could not be opened. */
static int check_ran(const struct csp_gen_program *program, struct csp_diag *diag)
{
    const struct gen *gen = program->gen;
    int error = 0;
    for (size_t i = 0; i < gen->recordings.len && !error; i++)
        error = csp_profgen_check_ran(program->profgen, gen->recordings.data[i], diag);
    for (size_t i = 0; i < gen->aggregates.len && !error; i++)
        error = csp_profgen_check_aggregate(program->profgen, gen->aggregates.data[i], diag);
    return error;
}

int csp_gen_program_open(struct csp_gen_program *program, struct csp_diag *diag)
{
    if (!program->was_tried)
        open_program(program);
    int ran = program->error ? check_ran(program, diag) : 0;
    if (ran)
        return ran;
    csp_messages_again(program->messages.kept.data, program->messages.kept.len, diag);
    let_tell(program, diag);
    return program->error;
}

void csp_gen_program_end(struct csp_gen_program *program)
{
    let_tell(program, NULL);
    csp_messages_free(&program->messages);
}
