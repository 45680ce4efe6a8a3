#include "emulate/launch.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/vec.h"
#include "emulate/binary.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the launcher and QEMU share. */
struct launch {
    const struct csp_emulate_options *options;
    char *program, *plugin, *qemu;
    int journal, truth, settings, cover_at;
};

/* `name` itself when it has a slash, else the first executable file of that name in PATH. */
static char *find_program(const char *name)
{
    if (strchr(name, '/'))
        return csp_strdup(name);
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        char *file = csp_asprintf("%.*s/%s", (int)length, path, name);
        struct stat status;
        if (length && stat(file, &status) == 0 && S_ISREG(status.st_mode) &&
            access(file, X_OK) == 0)
            return file;
        free(file);
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* Beside the program in the build tree, or where both are installed. */
static char *find_plugin(void)
{
    static const char *const places[] = {"csprof-emulate.so",
                                         CSPROF_PLUGIN_FROM_BIN "/csprof-emulate.so"};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return NULL;
    self[length] = '\0';
    *(strrchr(self, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *file = csp_asprintf("%s%s", self, places[i]);
        if (access(file, R_OK) == 0)
            return file;
        free(file);
    }
    return NULL;
}

/* QEMU's major version, or 0. Its plugin interface changed in 9.0. */
static unsigned qemu_major(const char *qemu)
{
    unsigned major = 0;
    char *command = csp_asprintf("'%s' --version 2>/dev/null", qemu);
    FILE *pipe = popen(command, "re");
    if (pipe && fscanf(pipe, "qemu-aarch64 version %u", &major) != 1)
        major = 0;
    if (pipe)
        pclose(pipe);
    free(command);
    return major;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int find_everything(struct launch *launch, struct csp_diag *diag)
{
    const struct csp_emulate_options *options = launch->options;
    const char *name = options->command[0];
    launch->program = find_program(name);
    if (!launch->program || access(launch->program, R_OK) != 0)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: no such program%s", name,
                        !strchr(name, '/') && access(name, X_OK) == 0
                            ? " in $PATH; put ./ before it for the one in this folder"
                            : "");
    if (csp_binary_machine(launch->program) != EM_AARCH64)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: not an AArch64 program (a 64-bit ELF file for AArch64 was expected; "
                        "scripts cannot be recorded)",
                        launch->program);
    if (options->sysroot && !is_folder(options->sysroot))
        return csp_fail(diag, CSP_ERR_INPUT, "--sysroot %s is not a folder", options->sysroot);
    if (is_folder(options->output))
        return csp_fail(diag, CSP_ERR_IO, "%s: is a folder, the name of a file was expected",
                        options->output);
    launch->qemu = find_program(options->qemu);
    if (!launch->qemu || access(launch->qemu, X_OK) != 0)
        return csp_fail(diag, CSP_ERR_ENV, "%s not found: install it (Debian: qemu-user)",
                        options->qemu);
    launch->plugin = find_plugin();
    if (!launch->plugin)
        return csp_fail(diag, CSP_ERR_ENV,
                        "csprof-emulate.so was found neither beside csprof nor in %s: this build "
                        "has no emulator (-DCSPROF_EMULATE=ON)",
                        CSPROF_PLUGIN_FROM_BIN);
    return 0;
}

/* An append-only file for the journal: without a name in the directory of the output, unless it is
 * kept. */
static int open_journal(const char *output, const char *kept)
{
    if (kept)
        return open(kept, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    const char *slash = strrchr(output, '/');
    char *directory = slash ? csp_strndup(output, (size_t)(slash - output) + 1) : csp_strdup(".");
    int fd = open(directory, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
        char *name = csp_asprintf("%s/.csprof-journal-XXXXXX", directory);
        fd = mkostemp(name, O_APPEND | O_CLOEXEC);
        if (fd >= 0)
            unlink(name);
        free(name);
    }
    free(directory);
    return fd;
}

static int open_files(struct launch *launch, struct csp_diag *diag)
{
    const struct csp_emulate_options *options = launch->options;
    launch->journal = open_journal(options->output, options->journal);
    struct csp_journal_record settings = {.type = CSP_JOURNAL_SETTINGS};
    if (launch->journal < 0)
        return csp_fail(diag, CSP_ERR_IO, "%s: cannot create files there: %s",
                        options->journal ? options->journal : options->output, strerror(errno));
    if (!csp_journal_append(launch->journal, &settings, &options->settings,
                            sizeof options->settings))
        return csp_fail(diag, CSP_ERR_IO, "cannot write the journal: %s", strerror(errno));
    launch->settings = memfd_create("csprof-settings", MFD_CLOEXEC);
    if (launch->settings < 0)
        return csp_fail(diag, CSP_ERR_IO, "memfd_create: %s", strerror(errno));
    if (options->cover_at) {
        launch->cover_at = open(options->cover_at, O_RDONLY | O_CLOEXEC);
        if (launch->cover_at < 0)
            return csp_fail(diag, CSP_ERR_INPUT, "%s: %s", options->cover_at, strerror(errno));
    }
    if (!options->truth)
        return 0;
    launch->truth = open(options->truth, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (launch->truth < 0 || dprintf(launch->truth, "csprof-truth 1\n") < 0)
        return csp_fail(diag, CSP_ERR_IO, "%s: %s", options->truth, strerror(errno));
    return 0;
}

/* A copy that QEMU inherits, with a high number, so that the program's own files get the numbers
 * that they would have had. */
static int inherit(int fd)
{
    enum { HIGH = 1000, LOWER = 200 };
    int copy = fcntl(fd, F_DUPFD, HIGH);
    return copy >= 0 ? copy : fcntl(fd, F_DUPFD, LOWER);
}

/* Commas separate a plugin's arguments; a doubled one is itself. */
static char *double_commas(const char *text)
{
    struct csp_buf out = {0};
    csp_buf_add_string(&out, "");
    for (; *text; text++) {
        csp_buf_add_char(&out, *text);
        if (*text == ',')
            csp_buf_add_char(&out, ',');
    }
    return out.data;
}

/* In the child: becomes QEMU; returns only when that fails. */
static void become_qemu(const struct launch *launch, unsigned major)
{
    const struct csp_emulate_options *options = launch->options;
    struct csp_emulate_settings settings = options->settings;
    int settings_fd = inherit(launch->settings);
    settings.size = sizeof settings;
    settings.journal = inherit(launch->journal);
    settings.truth = launch->truth >= 0 ? inherit(launch->truth) : -1;
    settings.cover_at = launch->cover_at >= 0 ? inherit(launch->cover_at) : -1;
    if (launch->cover_at >= 0 && !settings.cover)
        settings.cover = 1;
    if (settings_fd < 0 || pwrite(settings_fd, &settings, sizeof settings, 0) != sizeof settings)
        return;
    CSP_VEC(char *) arguments = {0};
    csp_vec_push(&arguments, launch->qemu);
    csp_vec_push(&arguments, (char *)(uintptr_t)"-seed"); /* or runs differ in stack and PAC keys */
    csp_vec_push(&arguments, csp_asprintf("%llu", (unsigned long long)settings.seed & UINT32_MAX));
    if (!settings.whole_blocks)
        csp_vec_push(&arguments,
                     (char *)(uintptr_t)(major >= 8 ? "-one-insn-per-tb" : "-singlestep"));
    if (options->sysroot) {
        csp_vec_push(&arguments, (char *)(uintptr_t)"-L");
        csp_vec_push(&arguments, (char *)(uintptr_t)options->sysroot);
    }
    csp_vec_push(&arguments, (char *)(uintptr_t)"-plugin");
    char *plugin = double_commas(launch->plugin);
    csp_vec_push(&arguments, csp_asprintf("%s,settings=%d", plugin, settings_fd));
    csp_vec_push(&arguments, (char *)(uintptr_t)"-0");
    csp_vec_push(&arguments, options->command[0]);
    csp_vec_push(&arguments, launch->program);
    for (char **argument = options->command + 1; *argument; argument++)
        csp_vec_push(&arguments, *argument);
    csp_vec_push(&arguments, NULL);
    if (options->output_to_stderr)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    execv(launch->qemu, arguments.data);
}

/* ---- signals while QEMU runs ----
 *
 * An interrupt from the terminal reaches both processes; it ends the program, not us. What is sent
 * to us alone to end the run is passed on: the recording of what ran until then is still written.
 */

static volatile sig_atomic_t child_to_end;

static void pass_on(int number)
{
    if (child_to_end)
        kill((pid_t)child_to_end, number);
}

static const int ending_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

static void take_signals(pid_t child, struct sigaction before[ENDING_SIGNALS])
{
    child_to_end = child;
    for (int i = 0; i < ENDING_SIGNALS; i++) {
        bool both = ending_signals[i] == SIGINT || ending_signals[i] == SIGQUIT;
        const struct sigaction action = {.sa_handler = both ? SIG_IGN : pass_on};
        sigaction(ending_signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) /* as with nohup */
            sigaction(ending_signals[i], &action, NULL);
    }
}

static int wait_for(pid_t child, int *status)
{
    pid_t ended;
    do
        ended = waitpid(child, status, 0);
    while (ended < 0 && errno == EINTR);
    int error = ended < 0 ? -errno : 0;
    child_to_end = 0;
    return error;
}

static void give_back_signals(const struct sigaction before[ENDING_SIGNALS])
{
    for (int i = 0; i < ENDING_SIGNALS; i++)
        sigaction(ending_signals[i], &before[i], NULL);
}

/* Starts QEMU. None of the signals gets lost or ends us before QEMU is there to take it. */
static pid_t start_qemu(const struct launch *launch, unsigned major, struct sigaction *before)
{
    enum { NOT_STARTED = 127 };
    sigset_t ending, mask;
    sigemptyset(&ending);
    for (int i = 0; i < ENDING_SIGNALS; i++)
        sigaddset(&ending, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &ending, &mask);
    pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
        become_qemu(launch, major);
        _exit(NOT_STARTED);
    }
    if (child > 0)
        take_signals(child, before);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return child;
}

static int run_qemu(const struct launch *launch, struct csp_emulate_result *result,
                    struct csp_diag *diag)
{
    int status, error;
    struct sigaction before[ENDING_SIGNALS];
    unsigned major = qemu_major(launch->qemu);
    if (major < 7 || major > 8)
        return csp_fail(diag, CSP_ERR_ENV,
                        "%s: version %u; the plugin is for QEMU 7.2 to 8.2 (Debian 12's qemu-user)",
                        launch->qemu, major);
    pid_t child = start_qemu(launch, major, before);
    if (child < 0)
        return csp_fail(diag, CSP_ERR_IO, "cannot run %s: %s", launch->qemu, strerror(errno));
    error = wait_for(child, &status);
    give_back_signals(before);
    if (error)
        return csp_fail(diag, CSP_ERR_IO, "cannot run %s: %s", launch->qemu, strerror(-error));
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->exit_code = result->signal ? 128 + result->signal : WEXITSTATUS(status);
    return 0;
}

static int write_recording(const struct launch *launch, struct csp_emulate_result *result,
                           struct csp_diag *diag)
{
    struct csp_emulated_recording *recording = &result->recording;
    struct stat status;
    if (fstat(launch->journal, &status) != 0)
        return csp_fail(diag, CSP_ERR_IO, "cannot read the recording back: %s", strerror(errno));
    if ((size_t)status.st_size <=
        sizeof(struct csp_journal_record) + sizeof(struct csp_emulate_settings))
        return csp_fail(diag, CSP_ERR_ENV,
                        "QEMU ended before the program began (exit code %d): nothing was recorded",
                        result->exit_code);
    recording->journal_size = (size_t)status.st_size;
    recording->journal =
        mmap(NULL, recording->journal_size, PROT_READ, MAP_PRIVATE, launch->journal, 0);
    if (recording->journal == MAP_FAILED)
        return csp_fail(diag, CSP_ERR_IO, "cannot read the recording back: %s", strerror(errno));
    recording->faults = launch->options->faults;
    recording->faults.seed = launch->options->settings.seed;
    recording->ledger = launch->options->ledger;
    recording->command = launch->options->recorder_command;
    int error = csp_emulated_recording_write(recording, launch->options->output, diag);
    munmap((void *)(uintptr_t)recording->journal, recording->journal_size);
    recording->journal = NULL;
    return error;
}

int csp_emulate_run(const struct csp_emulate_options *options, struct csp_emulate_result *result,
                    struct csp_diag *diag)
{
    struct launch launch = {
        .options = options, .journal = -1, .truth = -1, .settings = -1, .cover_at = -1};
    *result = (struct csp_emulate_result){0};
    int error = find_everything(&launch, diag);
    if (error == 0)
        error = open_files(&launch, diag);
    if (error == 0)
        error = run_qemu(&launch, result, diag);
    if (error == 0)
        error = write_recording(&launch, result, diag);
    int files[] = {launch.journal, launch.truth, launch.settings, launch.cover_at};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0)
            close(files[i]);
    free(launch.program);
    free(launch.plugin);
    free(launch.qemu);
    return error;
}
