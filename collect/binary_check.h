/* Whether a program was built so that a profile of it can be made. */
#ifndef CSP_COLLECT_BINARY_CHECK_H
#define CSP_COLLECT_BINARY_CHECK_H

#include "base/buf.h"
#include "base/build_id.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/vec.h"

struct csp_frame_use { /* of one file, by its symbols */
    uint32_t functions;
    uint32_t callers;     /* functions that call others */
    uint32_t with_frames; /* callers that set up a frame pointer */
};

struct csp_library_check {
    char *name, *path; /* path null: not found */
    struct csp_frame_use frames;
};

struct csp_binary_check {
    char *path;
    struct csp_build_id build_id;
    bool probes, probe_names; /* .pseudo_probe, .pseudo_probe_desc */
    bool lines, discriminators;
    struct csp_frame_use frames;
    CSP_VEC(struct csp_library_check) libraries; /* in the order of loading */
    bool complete;                               /* nothing that a profile needs is missing */
};

/* Reads the program and the libraries that it names. Errors: CSP_ERR_INPUT. */
int csp_binary_check(struct csp_binary_check *check, const char *path, struct csp_diag *diag);
void csp_binary_check_free(struct csp_binary_check *check);
void csp_binary_check_text(const struct csp_binary_check *check, struct csp_buf *out);
/* A member "binary" of an object that the caller opened. */
void csp_binary_check_json(const struct csp_binary_check *check, struct csp_json *json);

/* Reads a file for this alone. Errors: CSP_ERR_INPUT. */
int csp_frame_use_of(struct csp_frame_use *use, const char *path, struct csp_diag *diag);
/* Whether callers with frame pointers are so many that callchains can be trusted: startup code and
 * assembly never have them. */
bool csp_frame_use_good(const struct csp_frame_use *frames);
/* Whether a .debug_line section (DWARF 4 or 5) has an operation that sets a discriminator. */
bool csp_lines_have_discriminators(const uint8_t *data, size_t size);

#endif
