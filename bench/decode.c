/* How fast trace decodes: the native engine beside OpenCSD, on the same snapshot, in the same run.
 *
 * Time is that of decoding alone, the fastest of several passes: files are mapped and touched,
 * engines made, before the clock starts. Every range reaches a callback that hashes its start, end
 * and kind; the hashes must be equal. Each measurement runs in a process of its own, whose peak of
 * anonymous memory is told with it.
 *
 *   cold            block tables are empty
 *   warm            block tables are those of the pass before; nothing else survives, neither
 *                   engine nor anything that was learnt from the trace
 *   two threads     two engines at once, each on the whole trace, sharing the block tables: the
 *                   time is half of what both took
 *   OpenCSD full    OpenCSD's full decoder
 *   OpenCSD packets OpenCSD's packet reader alone: no code, no ranges
 */
#include "base/alloc.h"
#include "decode/snapshot.h"

#include <opencsd/c_api/opencsd_c_api.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum method { COLD, WARM, TWO_THREADS, OPENCSD, PACKETS, METHODS };

static const char *const method_names[METHODS] = {"native, cold", "native, warm",
                                                  "native, warm, two threads", "OpenCSD full",
                                                  "OpenCSD packets only"};

struct result {
    double seconds; /* of the fastest pass */
    uint64_t ranges, instructions, hash, bytes;
    long anonymous_kib; /* at its peak, above what was there before */
};

/* Fletcher's sum over all that is said of each range, in order, in four lanes of 64 bits: start,
 * end, instructions, and the word with kind, taken and source. Cheap, so that what is measured is
 * the decoder; and still no range can be another, nor elsewhere in the order. */
typedef uint64_t words __attribute__((vector_size(32), aligned(8)));
_Static_assert(sizeof(struct csp_element) == sizeof(words), "four words");
struct sum {
    uint64_t ranges;
    words first, second;
};

/* Processor time, where asked for: the same as wall time on a machine that does nothing else. */
static clockid_t clock_used = CLOCK_MONOTONIC;

static double time_by(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double now(void)
{
    return time_by(clock_used);
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "bench_decode: %s failed\n", what);
    exit(1);
}

#ifdef __x86_64__
__attribute__((target_clones("avx2", "default")))
#endif
static int hash_ranges(void *user, const struct csp_element *elements, size_t count)
{
    struct sum *sum = user;
    words first = sum->first, second = sum->second;
    uint64_t others = 0;
    for (size_t i = 0; i < count; i++) {
        if (__builtin_expect(elements[i].type != CSP_ELEMENT_RANGE, 0)) {
            others++;
            continue;
        }
        first += *(const words *)&elements[i];
        second += first;
    }
    sum->first = first;
    sum->second = second;
    sum->ranges += count - others;
    return 0;
}

static uint64_t finish(const struct sum *sum)
{
    uint64_t hash = sum->ranges;
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ sum->first[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 32 ^ sum->second[i]) * UINT64_C(0xc2b2ae3d27d4eb4f);
    }
    return hash ^ hash >> 32;
}

/* Decodes every stream once; returns the seconds within feed and flush. */
static double decode(const struct csp_trace_input *input, csp_engine_create_fn *create,
                     struct sum *sum, uint64_t *bytes)
{
    double seconds = 0;
    for (uint32_t s = 0; s < input->streams.len; s++) {
        const struct csp_stream *stream = &input->streams.data[s];
        CSP_VEC(struct csp_trace_config) configs = {0};
        for (uint32_t i = 0; i < stream->source_count; i++)
            csp_vec_push(&configs, input->sources.data[stream->source_first + i].config);
        struct csp_code_view *code = input->open_code(input->owner, s);
        struct csp_engine *engine = NULL;
        if (create(&engine, configs.data, configs.len, stream->formatted, &code->memory,
                   hash_ranges, sum, NULL) < 0)
            give_up("making an engine");
        double began = now();
        for (size_t c = 0; c < stream->chunks.len; c++) {
            const struct csp_chunk *chunk = &stream->chunks.data[c];
            for (size_t p = 0; p < chunk->piece_count; p++) {
                csp_engine_feed(engine, chunk->pieces[p].data, chunk->pieces[p].size);
                *bytes += chunk->pieces[p].size;
            }
            csp_engine_flush(engine);
        }
        seconds += now() - began;
        csp_engine_destroy(engine);
        code->close(code);
        csp_vec_free(&configs);
    }
    return seconds;
}

static ocsd_datapath_resp_t drop_packet(const void *context, const ocsd_datapath_op_t op,
                                        const ocsd_trc_index_t index, const void *packet)
{
    (void)op, (void)index, (void)packet;
    ++*(uint64_t *)context;
    return OCSD_RESP_CONT;
}

/* False where this OpenCSD's C API has no packet sink: ETE in 1.3. */
static bool add_packet_reader(dcd_tree_handle_t tree, const struct csp_trace_config *config,
                              uint64_t *count)
{
    uint8_t id;
    ocsd_err_t error;
    ocsd_etmv4_cfg etm = {.reg_idr0 = config->idr0,
                          .reg_idr1 = config->idr1,
                          .reg_idr2 = config->idr2,
                          .reg_idr8 = config->idr8,
                          .reg_configr = config->configr,
                          .reg_traceidr = config->traceidr,
                          .arch_ver = ARCH_AA64,
                          .core_prof = profile_CortexA};
    ocsd_ete_cfg ete = {.reg_idr0 = config->idr0,
                        .reg_idr1 = config->idr1,
                        .reg_idr2 = config->idr2,
                        .reg_idr8 = config->idr8,
                        .reg_devarch = config->devarch,
                        .reg_configr = config->configr,
                        .reg_traceidr = config->traceidr,
                        .arch_ver = ARCH_AA64,
                        .core_prof = profile_CortexA};
    if (config->protocol == CSP_PROTOCOL_ETE)
        error = ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETE, OCSD_CREATE_FLG_PACKET_PROC,
                                       &ete, &id);
    else
        error = ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_PACKET_PROC,
                                       &etm, &id);
    if (error != OCSD_OK || ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_SINK,
                                                           (void *)drop_packet, count) != OCSD_OK)
        return false;
    return true;
}

static double read_packets(const struct csp_trace_input *input, uint64_t *packets, uint64_t *bytes)
{
    double seconds = 0;
    for (uint32_t s = 0; s < input->streams.len; s++) {
        const struct csp_stream *stream = &input->streams.data[s];
        dcd_tree_handle_t tree = ocsd_create_dcd_tree(
            stream->formatted ? OCSD_TRC_SRC_FRAME_FORMATTED : OCSD_TRC_SRC_SINGLE,
            stream->formatted ? OCSD_DFRMTR_FRAME_MEM_ALIGN : 0);
        for (uint32_t i = 0; i < stream->source_count; i++)
            if (!add_packet_reader(tree, &input->sources.data[stream->source_first + i].config,
                                   packets)) {
                ocsd_destroy_dcd_tree(tree);
                return 0;
            }
        double began = now();
        for (size_t c = 0; c < stream->chunks.len; c++) {
            for (size_t p = 0; p < stream->chunks.data[c].piece_count; p++) {
                const struct csp_piece *piece = &stream->chunks.data[c].pieces[p];
                uint32_t used = 0;
                size_t size = stream->formatted ? piece->size / 16 * 16 : piece->size;
                ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, (uint32_t)size, piece->data, &used);
                *bytes += piece->size;
            }
        }
        uint32_t used = 0;
        ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, &used);
        seconds += now() - began;
        ocsd_destroy_dcd_tree(tree);
    }
    return seconds;
}

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    const struct csp_trace_input *input;
    struct sum sum;
    uint64_t bytes;
    double began, ended;
};

static void *work(void *user)
{
    struct worker *worker = user;
    pthread_barrier_wait(worker->start);
    worker->began = time_by(CLOCK_MONOTONIC);
    decode(worker->input, csp_engine_create_native, &worker->sum, &worker->bytes);
    worker->ended = time_by(CLOCK_MONOTONIC);
    return NULL;
}

/* By the clock on the wall whatever was asked for: two processors work. */
static double decode_twice(const struct csp_trace_input *input, struct sum *sum, uint64_t *bytes)
{
    pthread_barrier_t start;
    struct worker workers[2];
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
        workers[i] = (struct worker){.start = &start, .input = input};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    *sum = workers[0].sum;
    *bytes = workers[0].bytes;
    double began = workers[0].began < workers[1].began ? workers[0].began : workers[1].began;
    double ended = workers[0].ended > workers[1].ended ? workers[0].ended : workers[1].ended;
    return (ended - began) / 2;
}

static int compare_seconds(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static long anonymous_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "RssAnon: %ld", &kib);
    if (file)
        fclose(file);
    return kib;
}

static struct csp_snapshot *open_snapshot(const char *path)
{
    struct csp_snapshot *snapshot;
    if (csp_snapshot_open(&snapshot, path, NULL)) {
        fprintf(stderr, "%s: not a snapshot\n", path);
        exit(3);
    }
    return snapshot;
}

/* One pass over everything that will be read, so that no page comes from the disk. */
static void touch(const struct csp_trace_input *input)
{
    struct sum sum = {0};
    uint64_t bytes = 0;
    decode(input, csp_engine_create_native, &sum, &bytes);
}

static struct result measure(enum method method, const char *path, unsigned repeat)
{
    double *seconds = csp_calloc(repeat, sizeof *seconds);
    struct result result = {0};
    struct csp_snapshot *snapshot = open_snapshot(path);
    touch(csp_snapshot_trace(snapshot));
    if (method != WARM && method != TWO_THREADS) { /* the pass has filled its tables */
        csp_snapshot_close(snapshot);
        snapshot = open_snapshot(path);
    }
    long before = anonymous_kib();
    for (unsigned i = 0; i < repeat; i++) {
        struct sum sum = {0};
        result.bytes = 0;
        if (method == COLD && i) {
            csp_snapshot_close(snapshot);
            snapshot = open_snapshot(path);
        }
        const struct csp_trace_input *input = csp_snapshot_trace(snapshot);
        if (method == PACKETS)
            seconds[i] = read_packets(input, &sum.ranges, &result.bytes);
        else if (method == TWO_THREADS)
            seconds[i] = decode_twice(input, &sum, &result.bytes);
        else
            seconds[i] = decode(
                input, method == OPENCSD ? csp_engine_create_opencsd : csp_engine_create_native,
                &sum, &result.bytes);
        result.hash = finish(&sum);
        result.ranges = sum.ranges;
        result.instructions = sum.first[1];
    }
    result.anonymous_kib = anonymous_kib() - before;
    csp_snapshot_close(snapshot);
    qsort(seconds, repeat, sizeof *seconds, compare_seconds);
    result.seconds = seconds[0];
    free(seconds);
    return result;
}

static struct result measure_apart(enum method method, const char *path, unsigned repeat)
{
    struct result *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        give_up("mmap");
    pid_t child = fork();
    if (child == 0) {
        *shared = measure(method, path, repeat);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        give_up(method_names[method]);
    struct result result = *shared;
    munmap(shared, sizeof *shared);
    return result;
}

int main(int argc, char **argv)
{
    const char *program = argv[0];
    if (argc > 1 && !strcmp(argv[1], "--cpu")) {
        clock_used = CLOCK_THREAD_CPUTIME_ID;
        argc--, argv++;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: %s [--cpu] SNAPSHOT [REPEATS]\n", program);
        return 2;
    }
    unsigned repeat = argc > 2 ? (unsigned)atoi(argv[2]) : 11;
    struct result results[METHODS];
    for (int m = 0; m < METHODS; m++)
        results[m] =
            measure_apart((enum method)m, argv[1], m >= OPENCSD && repeat > 3 ? 3 : repeat);
    printf(
        "| decoder | ms | MB/s | M ranges/s | times OpenCSD full | times its packets only | KiB |\n"
        "|---|---|---|---|---|---|---|\n");
    for (int m = 0; m < METHODS; m++) {
        const struct result *r = &results[m];
        char ranges[32] = "";
        if (r->seconds == 0) {
            printf("| %s | not possible | | | | | |\n", method_names[m]);
            continue;
        }
        if (m != PACKETS)
            snprintf(ranges, sizeof ranges, "%.1f", (double)r->ranges / r->seconds / 1e6);
        printf("| %s | %.2f | %.1f | %s | %.1f | %.2f | %ld |\n", method_names[m], r->seconds * 1e3,
               (double)r->bytes / r->seconds / 1e6, ranges, results[OPENCSD].seconds / r->seconds,
               results[PACKETS].seconds / r->seconds, r->anonymous_kib);
    }
    printf(
        "\n%" PRIu64 " bytes, %" PRIu64 " ranges, %" PRIu64 " instructions, hash %016" PRIx64 "\n",
        results[COLD].bytes, results[COLD].ranges, results[COLD].instructions, results[COLD].hash);
    bool equal =
        results[COLD].hash == results[OPENCSD].hash && results[WARM].hash == results[OPENCSD].hash;
    if (!equal)
        printf("\nThe hashes differ.\n");
    return !equal;
}
