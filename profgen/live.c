#include "profgen/live.h"

#include "base/counted.h"
#include "base/file.h"
#include "profgen/live_stable.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct csp_live {
    struct csp_live_options options;
    struct csp_diag *diag;
    pthread_t thread;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct csp_live_slice next;
    bool has_next, ending, enough, measured;
    /* Of processor time and of time, when opening the program was done; and used since then. */
    double cpu_begun, begun, cpu_used;

    /* The thread's own until it has ended. */
    struct csp_profgen gen;
    bool opened;
    char *program;
    pid_t cutting;
    struct csp_live_stable stable;
    struct csp_live_stats stats;
    int error;
};

/* What one slice complains of, each would: the first time is enough. */
static struct csp_diag *diag_of(struct csp_live *live)
{
    return live->stats.slices ? NULL : live->diag;
}

static int open_program(struct csp_live *live, struct csp_recording *recording)
{
    struct csp_profgen_options options = csp_profgen_defaults();
    int error = 0;
    options.binary_path = live->options.binary_path;
    if (!options.binary_path)
        error = csp_recording_main_program(recording, &options.binary_path, live->diag);
    if (error)
        return error;
    live->program = csp_strdup(options.binary_path); /* outlives the recording */
    options.binary_path = live->program;
    live->opened = true;
    return csp_profgen_open(&live->gen, &options, live->diag);
}

struct watcher { /* of one slice */
    struct csp_live *live;
    const struct csp_live_slice *slice;
};

static bool watcher_counts(void *user, const struct csp_sample *sample)
{
    const struct watcher *watcher = user;
    struct csp_live_stats *stats = &watcher->live->stats;
    if (!watcher->slice->counts(watcher->slice->slice, sample->cpu, sample->time))
        return false;
    stats->stitched += sample->verdict != CSP_VERDICT_NONE;
    if (sample->verdict == CSP_VERDICT_NONE && sample->unstitched < CSP_UNSTITCHED_COUNT)
        stats->unstitched[sample->unstitched]++;
    return true;
}

static int add_slice(struct csp_live *live, const struct csp_live_slice *slice)
{
    struct csp_recording *recording = NULL;
    struct watcher watcher = {live, slice};
    const struct csp_recording_watch watch = {.counts = watcher_counts, .user = &watcher};
    const struct csp_recording_how how = {
        .engine = csp_engine_create_native, .threads = 1, .watch = &watch};
    int error =
        csp_recording_open(&recording, slice->path, &live->options.images, 1, diag_of(live));
    bool samples = !error && csp_recording_has_samples(recording);
    if (samples && !live->opened)
        error = open_program(live, recording);
    if (!error && samples)
        error = csp_profgen_recording(&live->gen, recording, &how, live->diag);
    if (recording)
        csp_recording_close(recording);
    csp_profgen_fold(&live->gen);
    live->stats.slices += samples;
    return error;
}

static int write_profile(struct csp_live *live)
{
    struct csp_buf out = {0};
    int error = csp_profgen_finish(&live->gen, &out, live->diag);
    if (!error)
        error = csp_output_write(live->options.output, out.data, out.len, live->diag);
    csp_buf_free(&out);
    return error;
}

/* The process that writes what was known when the user asked. */
static void wait_for_cut(struct csp_live *live)
{
    if (live->cutting > 0)
        waitpid(live->cutting, NULL, 0);
    live->cutting = 0;
}

/* A profile is finished in place, and counting goes on: so a copy of this process finishes it. */
static void cut(struct csp_live *live)
{
    uint64_t used = live->gen.set.stats.used;
    if (!live->opened || !used) {
        csp_warn(live->diag, "no sample of the program yet: no profile was written");
        return;
    }
    wait_for_cut(live);
    live->cutting = fork();
    if (live->cutting == 0) {
        int error = write_profile(live);
        if (!error)
            csp_note(live->diag, "%s: what %s %s so far", live->options.output,
                     CSP_COUNTED(used, "sample"), csp_by_count(used, "tells", "tell"));
        _exit(error ? 1 : 0);
    }
    if (live->cutting < 0)
        csp_warn(live->diag, "cannot start a process to write the profile: %s", strerror(errno));
}

static void look_for_change(struct csp_live *live)
{
    if (live->opened && live->options.stable_percent > 0 &&
        csp_live_stable_look(&live->stable, &live->gen.counters.ranges, live->gen.set.stats.used,
                             &live->stats.alike))
        live->stats.stable = live->stats.alike >= live->options.stable_percent;
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void measure(struct csp_live *live)
{
    double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    if (!live->measured) {
        live->cpu_begun = cpu;
        live->begun = seconds_of(CLOCK_MONOTONIC);
        live->measured = true;
    }
    live->cpu_used = cpu - live->cpu_begun;
}

static bool is_within_share(const struct csp_live *live)
{
    double share = live->options.cpu_percent / 100;
    return share <= 0 || !live->measured ||
           live->cpu_used <= share * (seconds_of(CLOCK_MONOTONIC) - live->begun);
}

static void *decode_slices(void *user)
{
    struct csp_live *live = user;
    pthread_mutex_lock(&live->lock);
    for (;;) {
        while (!live->has_next && !live->ending)
            pthread_cond_wait(&live->changed, &live->lock);
        if (!live->has_next)
            break;
        struct csp_live_slice slice = live->next;
        live->has_next = false;
        pthread_cond_broadcast(&live->changed);
        pthread_mutex_unlock(&live->lock);
        if (!live->error)
            live->error = add_slice(live, &slice);
        if (!live->error && slice.cut)
            cut(live);
        slice.done(slice.slice);
        look_for_change(live);
        pthread_mutex_lock(&live->lock);
        measure(live);
        live->enough = live->error || live->stats.stable;
    }
    pthread_mutex_unlock(&live->lock);
    live->stats.seconds = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    live->stats.steady_seconds = live->cpu_used;
    return NULL;
}

/* Signals are for whoever records: one that came to this thread would end the process. */
static int create_thread(struct csp_live *live)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&live->thread, NULL, decode_slices, live);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int csp_live_start(struct csp_live **out, const struct csp_live_options *options,
                   struct csp_diag *diag)
{
    struct csp_live *live = csp_calloc(1, sizeof *live);
    live->options = *options;
    live->diag = diag;
    pthread_mutex_init(&live->lock, NULL);
    pthread_cond_init(&live->changed, NULL);
    int error = create_thread(live);
    if (!error) {
        *out = live;
        return 0;
    }
    free(live);
    return csp_fail(diag, CSP_ERR_FAILED, "cannot start a thread: %s", strerror(error));
}

bool csp_live_ready(struct csp_live *live)
{
    pthread_mutex_lock(&live->lock);
    bool ready = !live->has_next && is_within_share(live);
    pthread_mutex_unlock(&live->lock);
    return ready;
}

void csp_live_take(struct csp_live *live, const struct csp_live_slice *slice)
{
    pthread_mutex_lock(&live->lock);
    while (live->has_next)
        pthread_cond_wait(&live->changed, &live->lock);
    live->next = *slice;
    live->has_next = true;
    pthread_cond_broadcast(&live->changed);
    pthread_mutex_unlock(&live->lock);
}

bool csp_live_enough(struct csp_live *live)
{
    pthread_mutex_lock(&live->lock);
    bool enough = live->enough;
    pthread_mutex_unlock(&live->lock);
    return enough;
}

static void end_thread(struct csp_live *live)
{
    pthread_mutex_lock(&live->lock);
    bool ended = live->ending;
    live->ending = true;
    pthread_cond_broadcast(&live->changed);
    pthread_mutex_unlock(&live->lock);
    if (!ended)
        pthread_join(live->thread, NULL);
}

int csp_live_finish(struct csp_live *live, struct csp_live_stats *stats)
{
    end_thread(live);
    wait_for_cut(live); /* or it would write after us */
    const struct csp_sample_set_stats *samples = &live->gen.set.stats;
    live->stats.samples = samples->samples;
    live->stats.used = samples->used;
    live->stats.contexts = live->gen.counters.contexts.len;
    live->stats.counters =
        live->gen.counters.ranges.counts.len + live->gen.counters.branches.counts.len;
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        live->stats.rejected[i] = samples->rejected[i];
    int error = live->error;
    if (!error && !samples->used)
        error = csp_fail(live->diag, CSP_ERR_INPUT,
                         "not a single sample with a branch history of the program: record for "
                         "longer, or name the program with -b");
    if (!error)
        error = write_profile(live);
    live->stats.profile = live->gen.stats.profile;
    *stats = live->stats;
    return error;
}

void csp_live_free(struct csp_live *live)
{
    if (!live)
        return;
    end_thread(live);
    if (live->opened)
        csp_profgen_close(&live->gen);
    csp_live_stable_free(&live->stable);
    free(live->program);
    pthread_mutex_destroy(&live->lock);
    pthread_cond_destroy(&live->changed);
    free(live);
}
