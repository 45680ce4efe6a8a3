#include "cli/gen_recordings.h"

static struct csp_image_options image_options(const struct gen *gen)
{
    return (struct csp_image_options){.symfs = gen->symfs,
                                      .program = gen->options.binary_path,
                                      .store = gen->options.store,
                                      .store_given = true};
}

/* The first recording tells what the program is, unless that was said. */
static bool tells_program(const struct gen *gen, size_t input)
{
    return input == 0 && !gen->options.binary_path;
}

static int open_recording(struct gen *gen, size_t input, const struct csp_image_options *images)
{
    struct csp_messages *messages = &gen->opening[input];
    struct csp_recording *recording = NULL;
    uint32_t program = CSP_NO_PROGRAM;
    int error = csp_recording_open(&recording, gen->inputs.data[input], images, gen->cli->threads,
                                   &messages->diag);
    if (error)
        return error;
    csp_vec_push(&gen->recordings, recording);
    if (tells_program(gen, input))
        error = csp_recording_main_binary(recording, &program, &gen->options.binary_path,
                                          &messages->diag);
    if (!error)
        csp_outline_store_put(gen->options.store, recording, program, &messages->kept);
    return error;
}

int csp_gen_open_recordings(struct gen *gen)
{
    const struct csp_image_options images = image_options(gen);
    int error = 0;
    gen->opening = csp_calloc(gen->inputs.len + 1, sizeof *gen->opening);
    for (size_t i = 0; i < gen->inputs.len; i++)
        csp_messages_begin(&gen->opening[i], &gen->cli->diag);
    for (size_t i = 0; i < gen->inputs.len && !error; i++)
        error = open_recording(gen, i, &images);
    return error;
}

void csp_gen_close_recordings(struct gen *gen)
{
    for (size_t i = 0; i < gen->recordings.len; i++)
        csp_recording_close(gen->recordings.data[i]);
    for (size_t i = 0; gen->opening && i < gen->inputs.len; i++)
        csp_messages_free(&gen->opening[i]);
    free(gen->opening);
    gen->opening = NULL;
    csp_vec_free(&gen->recordings);
}

/* A file that only a process has that runs now is left to who opens the recording. */
static bool find_program(struct gen *gen, const struct csp_gen_known *known)
{
    const struct csp_known_recording *first = &known->recordings.data[0];
    const struct csp_binary *program = &first->outline.files.data[first->program];
    const char *why;
    const struct csp_image *image =
        csp_images_find_file(known->images, program->path, &program->build_id, &why);
    if (image)
        gen->options.binary_path = image->path;
    return image != NULL;
}

bool csp_gen_know(struct gen *gen, struct csp_gen_known *known)
{
    const struct csp_image_options images = image_options(gen);
    *known = (struct csp_gen_known){.given = gen->options.binary_path};
    if (!gen->options.store || !gen->inputs.len ||
        csp_images_create(&known->images, &images, NULL) != 0)
        return false;
    for (size_t i = 0; i < gen->inputs.len; i++) {
        struct csp_known_recording recording;
        if (!csp_outline_store_get(gen->options.store, gen->inputs.data[i], tells_program(gen, i),
                                   &recording))
            return false;
        csp_vec_push(&known->recordings, recording);
    }
    return !tells_program(gen, 0) || find_program(gen, known);
}

void csp_gen_known_key(const struct csp_gen_known *known, struct csp_run_key *key)
{
    for (size_t i = 0; i < known->recordings.len; i++)
        csp_run_key_outline(key, &known->recordings.data[i].outline, known->images);
}

void csp_gen_known_tell(const struct gen *gen, const struct csp_gen_known *known)
{
    struct csp_diag *diag = &gen->cli->diag;
    for (size_t i = 0; i < known->recordings.len; i++) {
        const struct csp_known_recording *recording = &known->recordings.data[i];
        csp_messages_again(recording->messages, recording->messages_size, diag);
        csp_debug(diag, "%s: not opened, because the result is in the cache", gen->inputs.data[i]);
    }
}

void csp_gen_known_free(struct gen *gen, struct csp_gen_known *known)
{
    gen->options.binary_path = known->given;
    for (size_t i = 0; i < known->recordings.len; i++)
        csp_known_recording_free(&known->recordings.data[i]);
    csp_vec_free(&known->recordings);
    csp_images_destroy(known->images);
}
