#include "cli/gen_each.h"

#include "base/file.h"
#include "cli/gen_recordings.h"
#include "profgen/recording_binaries.h"

#include <string.h>

bool csp_gen_is_pattern(const char *output)
{
    return strstr(output, "%b") || strstr(output, "%i");
}

static bool read_build_id(struct csp_diag *diag, const char *binary, char text[41])
{
    struct csp_file file;
    struct csp_build_id id;
    if (csp_file_map(&file, binary, diag) != 0)
        return false;
    bool has = csp_elf_build_id(file.data, file.size, &id) && id.size;
    csp_file_unmap(&file);
    if (has)
        csp_build_id_text(&id, text);
    else
        csp_fail(diag, CSP_ERR_INPUT,
                 "%s has no build-id, which -o asks for with %%i (link with -Wl,--build-id, or use "
                 "%%b)",
                 binary);
    return has;
}

char *csp_gen_expand(const struct gen *gen, const char *binary)
{
    struct csp_buf path = {0};
    char id[41] = "";
    if (strstr(gen->output_path, "%i") && !read_build_id(&gen->cli->diag, binary, id))
        return NULL;
    csp_buf_add_string(&path, "");
    for (const char *at = gen->output_path; *at; at++) {
        if (at[0] != '%' || !at[1] || !strchr("bi%", at[1])) {
            csp_buf_add_char(&path, *at);
            continue;
        }
        at++;
        csp_buf_add_string(&path, *at == 'b' ? csp_file_name(binary) : *at == 'i' ? id : "%");
    }
    csp_buf_add_char(&path, '\0');
    return path.data;
}

static int add_target(struct gen *gen, csp_gen_targets *targets, const char *binary)
{
    for (size_t i = 0; i < targets->len; i++)
        if (!strcmp(targets->data[i].binary, binary))
            return CSP_EXIT_DONE;
    char *output = csp_gen_expand(gen, binary);
    if (!output)
        return CSP_EXIT_INPUT;
    for (size_t i = 0; i < targets->len; i++) {
        if (strcmp(targets->data[i].output, output) != 0)
            continue;
        int code = csp_cli_usage(gen->cli,
                                 "%s would be written for %s and for %s: tell them apart "
                                 "with %%i in -o",
                                 output, targets->data[i].binary, binary);
        free(output);
        return code;
    }
    csp_vec_push(targets, (struct csp_gen_target){csp_strdup(binary), output});
    return CSP_EXIT_DONE;
}

static int add_sampled(struct gen *gen, csp_gen_targets *targets, struct csp_recording *recording)
{
    csp_sampled_binaries binaries = {0};
    int code = CSP_EXIT_DONE;
    csp_recording_binaries(recording, &binaries);
    for (size_t i = 0; i < binaries.len && code == CSP_EXIT_DONE; i++)
        code = add_target(gen, targets, binaries.data[i].path);
    csp_vec_free(&binaries);
    return code;
}

int csp_gen_find_targets(struct gen *gen, csp_gen_targets *targets)
{
    int code = CSP_EXIT_DONE;
    for (size_t i = 0; i < gen->binaries.len && code == CSP_EXIT_DONE; i++)
        code = add_target(gen, targets, gen->binaries.data[i]);
    if (gen->binaries.len || code != CSP_EXIT_DONE)
        return code;
    code = (int)csp_error_exit(csp_gen_open_recordings(gen));
    for (size_t i = 0; i < gen->recordings.len && code == CSP_EXIT_DONE; i++)
        code = add_sampled(gen, targets, gen->recordings.data[i]);
    csp_gen_close_recordings(gen);
    gen->options.binary_path = NULL;
    if (code == CSP_EXIT_DONE && !targets->len)
        code = (int)csp_error_exit(
            csp_fail(&gen->cli->diag, CSP_ERR_INPUT,
                     "no sample was taken in a file that is found here: name binaries with -b, or "
                     "a directory that has them with --symfs"));
    return code;
}

void csp_gen_free_targets(csp_gen_targets *targets)
{
    for (size_t i = 0; i < targets->len; i++) {
        free(targets->data[i].binary);
        free(targets->data[i].output);
    }
    csp_vec_free(targets);
}
