/* How fast trace decodes: the native engine beside OpenCSD, on the same snapshot, in turns.
 *
 * Time is that of decoding alone: files are mapped and touched, engines made, before the clock
 * starts. Every range reaches a callback that hashes its start, end and kind; the hashes must be
 * equal. Each method lives in a process of its own, whose peak of anonymous memory is told with it.
 * The processes take turns, so that what else the machine does slows all of them alike, and the
 * fastest pass of each counts, by the clock on the wall and by the processor's.
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

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum method { COLD, WARM, TWO_THREADS, OPENCSD, PACKETS, METHODS };

static const char *const method_names[METHODS] = {"native, cold", "native, warm",
                                                  "native, warm, two threads", "OpenCSD full",
                                                  "OpenCSD packets only"};

struct seconds {
    double wall, processor;
};

struct result {
    struct seconds best; /* of the fastest pass by either clock */
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

static double time_by(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static struct seconds now(void)
{
    return (struct seconds){time_by(CLOCK_MONOTONIC), time_by(CLOCK_PROCESS_CPUTIME_ID)};
}

static void add_since(struct seconds *sum, struct seconds began)
{
    struct seconds ended = now();
    sum->wall += ended.wall - began.wall;
    sum->processor += ended.processor - began.processor;
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
#pragma GCC unroll 4
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
static struct seconds decode(const struct csp_trace_input *input, csp_engine_create_fn *create,
                             struct sum *sum, uint64_t *bytes)
{
    struct seconds seconds = {0};
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
        struct seconds began = now();
        for (size_t c = 0; c < stream->chunks.len; c++) {
            const struct csp_chunk *chunk = &stream->chunks.data[c];
            for (size_t p = 0; p < csp_chunk_piece_count(chunk); p++) {
                const struct csp_trace_piece piece = csp_chunk_piece(chunk, p);
                csp_engine_feed(engine, piece.data, piece.size);
            }
            *bytes += chunk->size;
            csp_engine_flush(engine);
        }
        add_since(&seconds, began);
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

static struct seconds read_packets(const struct csp_trace_input *input, uint64_t *packets,
                                   uint64_t *bytes)
{
    struct seconds seconds = {0};
    for (uint32_t s = 0; s < input->streams.len; s++) {
        const struct csp_stream *stream = &input->streams.data[s];
        dcd_tree_handle_t tree = ocsd_create_dcd_tree(
            stream->formatted ? OCSD_TRC_SRC_FRAME_FORMATTED : OCSD_TRC_SRC_SINGLE,
            stream->formatted ? OCSD_DFRMTR_FRAME_MEM_ALIGN : 0);
        for (uint32_t i = 0; i < stream->source_count; i++)
            if (!add_packet_reader(tree, &input->sources.data[stream->source_first + i].config,
                                   packets)) {
                ocsd_destroy_dcd_tree(tree);
                return (struct seconds){0};
            }
        struct seconds began = now();
        for (size_t c = 0; c < stream->chunks.len; c++) {
            const struct csp_chunk *chunk = &stream->chunks.data[c];
            for (size_t p = 0; p < csp_chunk_piece_count(chunk); p++) {
                const struct csp_trace_piece piece = csp_chunk_piece(chunk, p);
                uint32_t used = 0;
                size_t size = stream->formatted ? piece.size / 16 * 16 : piece.size;
                ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, (uint32_t)size, piece.data, &used);
            }
            *bytes += chunk->size;
        }
        uint32_t used = 0;
        ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, &used);
        add_since(&seconds, began);
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
};

static void *work(void *user)
{
    struct worker *worker = user;
    pthread_barrier_wait(worker->start);
    decode(worker->input, csp_engine_create_native, &worker->sum, &worker->bytes);
    return NULL;
}

static struct seconds decode_twice(const struct csp_trace_input *input, struct sum *sum,
                                   uint64_t *bytes)
{
    pthread_barrier_t start;
    struct worker workers[2];
    struct seconds seconds = {0};
    pthread_barrier_init(&start, NULL, 3);
    for (int i = 0; i < 2; i++) {
        workers[i] = (struct worker){.start = &start, .input = input};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    struct seconds began = now();
    pthread_barrier_wait(&start);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i].thread, NULL);
    add_since(&seconds, began);
    pthread_barrier_destroy(&start);
    *sum = workers[0].sum;
    *bytes = workers[0].bytes;
    return (struct seconds){seconds.wall / 2, seconds.processor / 2};
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

/* ---- the process of one method ---- */

struct bench {
    enum method method;
    const char *path;
    struct csp_snapshot *snapshot;
    long anonymous_before;
    struct result result;
};

static void start(struct bench *bench)
{
    bench->snapshot = open_snapshot(bench->path);
    touch(csp_snapshot_trace(bench->snapshot));
    if (bench->method == WARM || bench->method == TWO_THREADS)
        return;
    csp_snapshot_close(bench->snapshot); /* the pass has filled its tables */
    bench->snapshot = open_snapshot(bench->path);
}

static struct seconds pass(struct bench *bench)
{
    struct result *result = &bench->result;
    struct sum sum = {0};
    struct seconds seconds;
    const struct csp_trace_input *input = csp_snapshot_trace(bench->snapshot);
    result->bytes = 0;
    if (bench->method == PACKETS)
        seconds = read_packets(input, &sum.ranges, &result->bytes);
    else if (bench->method == TWO_THREADS)
        seconds = decode_twice(input, &sum, &result->bytes);
    else if (bench->method == OPENCSD)
        seconds = decode(input, csp_engine_create_opencsd, &sum, &result->bytes);
    else
        seconds = decode(input, csp_engine_create_native, &sum, &result->bytes);
    result->hash = finish(&sum);
    result->ranges = sum.ranges;
    result->instructions = sum.first[1];
    return seconds;
}

static void keep_best(struct seconds *best, struct seconds seconds)
{
    if (!best->wall || seconds.wall < best->wall)
        best->wall = seconds.wall;
    if (!best->processor || seconds.processor < best->processor)
        best->processor = seconds.processor;
}

/* One turn: as many passes as take some time, so that short ones find the caches their own. */
static void take_turn(struct bench *bench)
{
    const double turn = 0.05;
    double taken = 0;
    do {
        struct seconds seconds = pass(bench);
        if (!seconds.wall)
            return;
        keep_best(&bench->result.best, seconds);
        taken += seconds.wall;
        bench->result.anonymous_kib = anonymous_kib() - bench->anonymous_before;
        if (bench->method == COLD) {
            csp_snapshot_close(bench->snapshot);
            bench->snapshot = open_snapshot(bench->path);
        }
    } while (taken < turn);
}

/* Takes a turn for each byte that it is sent, and answers with the best so far. */
static _Noreturn void serve(struct bench *bench, int orders, int answers)
{
    char order;
    start(bench);
    bench->anonymous_before = anonymous_kib();
    while (read(orders, &order, 1) == 1) {
        take_turn(bench);
        if (write(answers, &bench->result, sizeof bench->result) != sizeof bench->result)
            break;
    }
    _exit(0);
}

/* ---- all of them ---- */

struct channel {
    int orders, answers;
};

static struct channel start_process(enum method method, const char *path)
{
    int orders[2], answers[2];
    if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
        give_up("pipe");
    pid_t child = fork();
    if (child < 0)
        give_up("fork");
    if (child == 0) {
        struct bench bench = {.method = method, .path = path};
        close(orders[1]);
        close(answers[0]);
        serve(&bench, orders[0], answers[1]);
    }
    close(orders[0]);
    close(answers[1]);
    return (struct channel){orders[1], answers[0]};
}

static void print_row(enum method method, const struct result *results)
{
    const struct result *r = &results[method], *full = &results[OPENCSD],
                        *packets = &results[PACKETS];
    char ranges[32] = "";
    if (r->best.wall == 0) {
        printf("| %s | not possible | | | | | | | |\n", method_names[method]);
        return;
    }
    if (method != PACKETS)
        snprintf(ranges, sizeof ranges, "%.1f", (double)r->ranges / r->best.wall / 1e6);
    printf("| %s | %.2f | %.2f | %s | %.1f | %.1f | %.2f | %.2f | %ld |\n", method_names[method],
           r->best.wall * 1e3, r->best.processor * 1e3, ranges, full->best.wall / r->best.wall,
           full->best.processor / r->best.processor, packets->best.wall / r->best.wall,
           packets->best.processor / r->best.processor, r->anonymous_kib);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s SNAPSHOT [TURNS]\n", argv[0]);
        return 2;
    }
    int turns = argc > 2 ? atoi(argv[2]) : 15;
    struct channel channels[METHODS];
    struct result results[METHODS];
    for (int m = 0; m < METHODS; m++)
        channels[m] = start_process((enum method)m, argv[1]);
    for (int i = 0; i < turns; i++)
        for (int m = 0; m < METHODS; m++)
            if (write(channels[m].orders, "", 1) != 1 ||
                read(channels[m].answers, &results[m], sizeof results[m]) != sizeof results[m])
                give_up(method_names[m]);
    printf(
        "| decoder | ms | ms of processor | M ranges/s | times OpenCSD full | by processor | times "
        "its packets only | by processor | KiB |\n|---|---|---|---|---|---|---|---|---|\n");
    for (int m = 0; m < METHODS; m++)
        print_row((enum method)m, results);
    printf(
        "\n%" PRIu64 " bytes, %" PRIu64 " ranges, %" PRIu64 " instructions, hash %016" PRIx64 "\n",
        results[COLD].bytes, results[COLD].ranges, results[COLD].instructions, results[COLD].hash);
    bool equal =
        results[COLD].hash == results[OPENCSD].hash && results[WARM].hash == results[OPENCSD].hash;
    if (!equal)
        printf("\nThe hashes differ.\n");
    return !equal;
}
