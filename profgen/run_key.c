#include "profgen/run_key.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/own_code.h"
#include "profgen/aggregate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void csp_run_key_begin(struct csp_run_key *key, const char *what)
{
    *key = (struct csp_run_key){0};
    csp_run_key_line(key, "%s by csprof %016" PRIx64, what, csp_own_code_digest());
}

void csp_run_key_line(struct csp_run_key *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *line = csp_vasprintf(format, args);
    va_end(args);
    csp_buf_add_string(&key->text, line);
    csp_buf_add_char(&key->text, '\n');
    free(line);
}

void csp_run_key_file(struct csp_run_key *key, const char *what, const char *path)
{
    struct csp_input input;
    struct csp_digest digest;
    struct stat status;
    if (!path)
        return;
    if (!strcmp(path, "-") || (stat(path, &status) == 0 && !S_ISREG(status.st_mode))) {
        key->unknown = true;
        return;
    }
    bool is_read =
        csp_input_open(&input, path, NULL) == 0 && csp_digest_input(&digest, &input, NULL) == 0;
    csp_input_close(&input);
    csp_buf_printf(&key->text, "%s ", what);
    for (size_t i = 0; is_read && i < sizeof digest.bytes; i++)
        csp_buf_printf(&key->text, "%02x", digest.bytes[i]);
    csp_buf_add_string(&key->text, is_read ? "\n" : "cannot be read\n");
}

void csp_run_key_program(struct csp_run_key *key, const struct csp_program_options *program)
{
    csp_run_key_line(key, "path %s", program->path);
    csp_run_key_line(key, "lines %d, symbols %d, code %d, compat %d", program->by_lines,
                     !program->without_symbols, program->code_only, program->compat);
    csp_run_key_file(key, "program", program->path);
    csp_run_key_file(key, "debug", program->debug_path);
    csp_run_key_file(key, "dwp", program->dwp_path);
    char *usual = csp_asprintf("%s.dwp", program->debug_path ? program->debug_path : program->path);
    csp_run_key_file(key, "beside", program->dwp_path ? NULL : usual);
    free(usual);
}

void csp_run_key_recording(struct csp_run_key *key, struct csp_recording *recording)
{
    key->unknown |= !csp_recording_key(recording, &key->text);
}

void csp_run_key_outline(struct csp_run_key *key, const struct csp_recording_outline *outline,
                         struct csp_images *images)
{
    key->unknown |= !csp_recording_outline_key(outline, images, &key->text);
}

void csp_run_key_free(struct csp_run_key *key)
{
    csp_buf_free(&key->text);
}
