#include "profgen/resume.h"

#include "decode/code/image.h"

#include <string.h>

static int add_inputs(csp_digests *digests, const char *path)
{
    struct csp_aggregate head = {0};
    int error = 0;
    if (csp_aggregate_is(path)) {
        error = csp_aggregate_read_head(&head, path, NULL);
    } else {
        struct csp_input input;
        struct csp_digest digest = {{0}};
        error = csp_input_open(&input, path, NULL);
        if (!error)
            error = csp_digest_input(&digest, &input, NULL);
        csp_input_close(&input);
        csp_vec_push(&head.inputs, digest);
    }
    if (!error)
        error = csp_digests_add(digests, &head.inputs, false, path, NULL);
    csp_aggregate_free(&head);
    return error;
}

static bool is_of(const struct csp_aggregate *aggregate, const char *binary)
{
    struct csp_file file;
    struct csp_build_id id = {0};
    if (csp_file_map(&file, binary, NULL))
        return false;
    bool same = csp_elf_build_id(file.data, file.size, &id) && id.size &&
                csp_build_id_equal(&id, &aggregate->build_id);
    csp_file_unmap(&file);
    return same;
}

bool csp_aggregate_is_done(const char *output, const char *const *inputs, size_t count,
                           const char *binary)
{
    struct csp_aggregate done = csp_aggregate_empty();
    csp_digests digests = {0};
    bool is_done = csp_aggregate_is(output) && !csp_aggregate_read(&done, output, NULL, NULL) &&
                   (!binary || is_of(&done, binary));
    for (size_t i = 0; i < count && is_done; i++)
        is_done = !add_inputs(&digests, inputs[i]);
    is_done = is_done && digests.len == done.inputs.len &&
              (!digests.len ||
               !memcmp(digests.data, done.inputs.data, digests.len * sizeof *digests.data));
    csp_vec_free(&digests);
    csp_aggregate_free(&done);
    return is_done;
}
