/* csprof validate skid: runs a known-answer workload, records it, and shows where samples landed.
 */
#include "cli/validate_options.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/parse.h"
#include "validate/skid.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct skid_job {
    struct csp_cli *cli;
    const char *workload, *svg, *spe, *output;
    double seconds;
    char *folder, *recording, *answer; /* temporary: the folder and two files in it */
};

static int parse(struct skid_job *job, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        bool good = true;
        if (!strcmp(name, "--workload")) {
            good = !strcmp(value, "chase") || !strcmp(value, "seq") || !strcmp(value, "vecmix");
            job->workload = value;
        } else if (!strcmp(name, "--seconds"))
            good = csp_parse_real(value, 0.1, 3600, &job->seconds);
        else if (!strcmp(name, "--svg"))
            job->svg = value;
        else if (!strcmp(name, "--spe"))
            job->spe = value;
        else if (!strcmp(name, "-o"))
            job->output = value;
        else
            return csp_cli_unexpected(job->cli, name, NULL);
        if (i + 1 == argc)
            return csp_cli_usage(job->cli, "%s needs a value", name);
        if (!good)
            return csp_cli_usage(job->cli, "%s: '%s' is not a value for it", name, value);
    }
    return 0;
}

static int make_folder(struct skid_job *job)
{
    const char *parent = getenv("TMPDIR");
    job->folder = csp_asprintf("%s/csprof-skid-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(job->folder))
        return csp_fail(&job->cli->diag, CSP_ERR_IO, "cannot make a folder like %s", job->folder);
    job->recording =
        job->output ? csp_strdup(job->output) : csp_asprintf("%s/csprof.data", job->folder);
    job->answer = csp_asprintf("%s/answer", job->folder);
    return 0;
}

static void remove_folder(struct skid_job *job)
{
    if (job->recording && !job->output)
        unlink(job->recording);
    if (job->answer)
        unlink(job->answer);
    if (job->folder)
        rmdir(job->folder);
    free(job->recording);
    free(job->answer);
    free(job->folder);
}

static int count(const struct skid_job *job, struct csp_skid *skid)
{
    struct csp_diag *diag = &job->cli->diag;
    const struct csp_image_options images = {0};
    struct csp_recording *recording = NULL;
    struct csp_spe_table spe = {0};
    int error = csp_skid_read(skid, job->answer, diag);
    if (!error)
        error = csp_recording_open(&recording, job->recording, &images, job->cli->threads, diag);
    if (!error)
        error = csp_skid_count(skid, recording, diag);
    if (!error && job->spe)
        error = csp_spe_table_read(&spe, job->spe, NULL, diag);
    if (!error)
        csp_skid_count_spe(skid, &spe);
    csp_spe_table_free(&spe);
    csp_recording_close(recording);
    return error;
}

static int draw(const struct skid_job *job, const struct csp_skid *skid)
{
    struct csp_buf picture = {0};
    csp_skid_svg(skid, &picture);
    int error = csp_output_write(job->svg, picture.data, picture.len, &job->cli->diag);
    csp_buf_free(&picture);
    return error;
}

static void print(const struct skid_job *job, const struct csp_skid *skid)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    if (job->cli->json) {
        csp_json_object(&json, NULL);
        csp_json_string(&json, "workload", job->workload);
        csp_skid_json(skid, &json);
        csp_json_end(&json);
    } else {
        csp_skid_text(skid, &out);
    }
    csp_cli_print(&out);
}

int csp_validate_skid(struct csp_cli *cli, int argc, char **argv)
{
    struct skid_job job = {.cli = cli, .workload = "chase", .seconds = 5};
    struct csp_skid skid = {0};
    int code = parse(&job, argc, argv);
    if (code)
        return code;
    int error = make_folder(&job);
    if (!error)
        error = csp_skid_record(cli, job.workload, job.seconds, job.recording, job.answer);
    if (!error)
        error = count(&job, &skid);
    if (!error && job.svg)
        error = draw(&job, &skid);
    if (!error)
        print(&job, &skid);
    csp_skid_free(&skid);
    remove_folder(&job);
    return (int)csp_error_exit(error);
}
