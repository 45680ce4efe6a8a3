/* Are samples recognised that do not belong to the trace window beside them?
 *
 *     bench_bogus RECORDING BINARY [EVERY]
 *
 * Takes a recording whose samples all belong to their windows, spoils one pause sample in EVERY
 * (10), reads the result as `csprof gen` does, and counts which are found: by stitching, or by the
 * rules that no honest sample breaks. One row for each way of spoiling:
 *
 *   skid      the sample shows an instruction up to eight further on in the same function
 *   sibling   its address and call stack are those of another sample in the same function, which
 * another caller has called other     … of a sample in another function
 *
 * Where it was taken, by address, differs from the true one in all of them: a sample that says the
 * same is the same. recall: found of those spoiled. precision: spoiled of those found. The
 * recording may be damaged: samples without a window before any was spoiled are counted apart. */
#include "profgen/recording_input.h"
#include "profgen/sample_mapper.h"
#include "validate/recording_trust.h"

#include "base/alloc.h"
#include "base/file.h"
#include "decode/pause_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { CLEAN, SKID, SIBLING, OTHER, KINDS };
static const char *const kind_names[KINDS] = {"none", "skid", "sibling", "other"};

/* A pause sample in the file: what of it can be replaced, and by whose. */
struct pause {
    size_t ip, chain, frame; /* offsets in the file: of the address, of the call stack, of its first
                                user frame */
    size_t chain_size;       /* bytes from there to the sample's end: registers come behind it */
    uint64_t time, frames;
    uint64_t pc, caller; /* in the process; caller: a return address, 0 when there is none */
    uint64_t address;    /* of pc in the program; 0: not in it */
    uint32_t function;
    bool spoiled;
};

struct bench {
    struct csp_diag diag;
    const char *path, *binary;
    struct csp_program program;
    CSP_VEC(struct pause) pauses;
    struct csp_map spoiled; /* times of spoiled samples */
    struct csp_map alone;   /* … and of those that have no window, whatever they say */
    enum kind kind;
    struct csp_sample_set one;
    struct csp_sample_mapper mapper; /* to it */
    uint64_t random;
    /* Of one run. */
    uint64_t seen, lost, spoiled_seen, by_stitching, by_rules, false_alarms;
};

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    if (severity >= CSP_WARNING)
        fprintf(stderr, "bench_bogus: %s\n", message);
}

static void stop(int error)
{
    if (error)
        exit((int)csp_error_exit(error));
}

static uint64_t next_random(struct bench *bench)
{
    bench->random ^= bench->random << 13;
    bench->random ^= bench->random >> 7;
    bench->random ^= bench->random << 17;
    return bench->random;
}

/* The program is not position-independent: the process's addresses are its own. */
static void find_pauses(struct bench *bench)
{
    struct csp_recording *recording;
    struct csp_records *records;
    struct csp_record record;
    struct csp_file file;
    stop(csp_recording_open(&recording, bench->path, &(struct csp_image_options){0}, 1,
                            &bench->diag));
    stop(csp_file_map(&file, bench->path, &bench->diag));
    struct csp_perfdata *reader;
    stop(csp_perfdata_open(&reader, &file, &bench->diag));
    stop(csp_records_open(&records, reader, CSP_ORDER_TIME, &bench->diag));
    while (csp_records_next(records, &record)) {
        struct csp_sample_record sample;
        const struct csp_attr *attr = csp_perfdata_attr(reader, record.attr);
        if (record.type != CSP_RECORD_SAMPLE || !(attr->aux_action & CSP_AUX_PAUSE) ||
            !csp_sample_parse(attr, &record, &sample))
            continue;
        struct csp_user_frames frames = csp_sample_user_frames(&sample);
        if (!frames.len)
            continue;
        struct pause pause = {
            .ip = (size_t)(record.body - file.data) + 8, /* behind the identifier */
            .chain = (size_t)(sample.callchain - file.data),
            .frame = (size_t)(sample.callchain - file.data) + 8 * frames.first,
            .chain_size = (size_t)(record.body + record.body_size - sample.callchain),
            .time = sample.time,
            .frames = sample.callchain_len,
            .pc = csp_sample_frame(&sample, frames.first),
            .caller = frames.len > 1 ? csp_sample_frame(&sample, frames.first + 1) : 0,
        };
        pause.address = csp_code_is_instruction(&bench->program.code, pause.pc) ? pause.pc : 0;
        pause.function = csp_functions_at(&bench->program.functions, pause.pc);
        csp_vec_push(&bench->pauses, pause);
    }
    csp_records_close(records);
    csp_perfdata_close(reader);
    csp_file_unmap(&file);
    csp_recording_close(recording);
}

static bool in_program(const struct pause *pause)
{
    return pause->address && pause->function != CSP_NO_FUNCTION;
}

static bool may_donate(const struct pause *to, const struct pause *from, enum kind kind)
{
    if (from->frames != to->frames || from->chain_size != to->chain_size || from->pc == to->pc ||
        !in_program(from))
        return false;
    if (kind == OTHER)
        return from->function != to->function;
    return from->function == to->function && from->caller && to->caller &&
           from->caller != to->caller;
}

static void set_pc(uint8_t *data, const struct pause *pause, uint64_t pc)
{
    uint64_t old = csp_load64(data + pause->ip);
    if (old == pause->pc) /* else it was taken in the kernel, and says so */
        memcpy(data + pause->ip, &pc, sizeof pc);
    memcpy(data + pause->frame, &pc, sizeof pc);
}

static bool spoil_by_skid(struct bench *bench, uint8_t *data, const struct pause *pause)
{
    uint64_t pc = pause->pc;
    for (uint64_t steps = 1 + next_random(bench) % 8; steps; steps--)
        pc += csp_code_size(&bench->program.code, pc);
    if (pc == pause->pc || csp_functions_at(&bench->program.functions, pc) != pause->function)
        return false;
    set_pc(data, pause, pc);
    return true;
}

static bool spoil_by_another(struct bench *bench, const uint8_t *clean, uint8_t *data,
                             const struct pause *pause, enum kind kind)
{
    size_t count = bench->pauses.len, first = next_random(bench) % count;
    for (size_t i = 0; i < 20000 && i < count; i++) {
        const struct pause *donor = &bench->pauses.data[(first + i) % count];
        if (!may_donate(pause, donor, kind))
            continue;
        set_pc(data, pause, donor->pc);
        memcpy(data + pause->chain, clean + donor->chain, pause->chain_size);
        return true;
    }
    return false;
}

/* Writes the spoiled recording to `out`; returns how many samples are spoiled. */
static uint64_t spoil(struct bench *bench, enum kind kind, unsigned every, const char *out)
{
    struct csp_file file;
    stop(csp_file_map(&file, bench->path, &bench->diag));
    uint8_t *data = csp_malloc(file.size);
    memcpy(data, file.data, file.size);
    csp_map_free(&bench->spoiled);
    bench->spoiled = (struct csp_map){0};
    for (size_t i = 0; kind != CLEAN && i < bench->pauses.len; i++) {
        const struct pause *pause = &bench->pauses.data[i];
        if (!in_program(pause) || next_random(bench) % every)
            continue;
        if (kind == SKID ? spoil_by_skid(bench, data, pause)
                         : spoil_by_another(bench, file.data, data, pause, kind))
            *csp_map_at(&bench->spoiled, pause->time) = 1;
    }
    FILE *stream = fopen(out, "wb");
    if (!stream || fwrite(data, 1, file.size, stream) != file.size || fclose(stream) != 0)
        stop(csp_fail(&bench->diag, CSP_ERR_IO, "%s: cannot write", out));
    free(data);
    csp_file_unmap(&file);
    return bench->spoiled.len;
}

static bool breaks_a_rule(struct bench *bench, const struct csp_sample *sample)
{
    struct csp_sample_check_stats stats = {0};
    bench->one = (struct csp_sample_set){.contexts = true};
    csp_sample_mapper_into(&bench->mapper, &bench->one);
    csp_sample_mapper_add(&bench->mapper, sample);
    csp_sample_set_check(&bench->one, &bench->program, CSP_TRUST_RULES, 1, &stats);
    csp_sample_set_free(&bench->one);
    return stats.rejected != 0;
}

static int on_sample(void *user, const struct csp_sample *sample, uint64_t leaf)
{
    struct bench *bench = user;
    bool spoiled = csp_map_find(&bench->spoiled, sample->time) != NULL;
    bool stitched = sample->verdict == CSP_VERDICT_EXACT || sample->verdict == CSP_VERDICT_TIME ||
                    sample->verdict == CSP_VERDICT_ORDER;
    bool broken = stitched && breaks_a_rule(bench, sample);
    (void)leaf;
    if (bench->kind == CLEAN && !stitched)
        *csp_map_at(&bench->alone, sample->time) = 1;
    bench->seen++;
    if (csp_map_find(&bench->alone, sample->time)) {
        bench->lost++;
        return 0;
    }
    bench->spoiled_seen += spoiled;
    if (spoiled) {
        bench->by_stitching += !stitched;
        bench->by_rules += broken;
    } else {
        bench->false_alarms += !stitched || broken;
    }
    return 0;
}

static void read_spoiled(struct bench *bench, const char *path)
{
    struct csp_profgen profgen;
    struct csp_profgen_options options = csp_profgen_defaults();
    struct csp_recording *recording;
    const struct csp_build_id *another;
    const struct csp_recording_watch watch = {.sample = on_sample, .user = bench};
    const struct csp_recording_how how = {
        .engine = csp_engine_create_native, .threads = 1, .watch = &watch};
    options.binary_path = bench->binary;
    bench->seen = bench->lost = bench->spoiled_seen = 0;
    bench->by_stitching = bench->by_rules = bench->false_alarms = 0;
    stop(csp_recording_open(&recording, path, &(struct csp_image_options){0}, 1, &bench->diag));
    stop(csp_profgen_open(&profgen, &options, &bench->diag));
    csp_sample_mapper_begin(&bench->mapper, &bench->program, csp_recording_spaces(recording),
                            &another);
    stop(csp_profgen_recording(&profgen, recording, &how, &bench->diag));
    csp_sample_mapper_free(&bench->mapper);
    csp_profgen_close(&profgen);
    csp_recording_close(recording);
}

static void print_row(const struct bench *bench, enum kind kind)
{
    uint64_t found = bench->by_stitching + bench->by_rules;
    struct csp_rate recall = csp_rate_of(found, bench->spoiled_seen);
    struct csp_rate precision = csp_rate_of(found, found + bench->false_alarms);
    printf("%-8s %9llu %9llu %9llu %12llu %9llu %9llu %9.3f%% %9.3f%%\n", kind_names[kind],
           (unsigned long long)bench->seen, (unsigned long long)bench->lost,
           (unsigned long long)bench->spoiled_seen, (unsigned long long)bench->by_stitching,
           (unsigned long long)bench->by_rules, (unsigned long long)bench->false_alarms,
           100 * recall.rate, 100 * precision.rate);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fputs("usage: bench_bogus RECORDING BINARY [EVERY]\n", stderr);
        return CSP_EXIT_USAGE;
    }
    struct bench bench = {.diag = {.emit = print_message},
                          .path = argv[1],
                          .binary = argv[2],
                          .random = 88172645463325252};
    unsigned every = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 10;
    char out[] = "/tmp/bench-bogus-XXXXXX";
    int fd = mkstemp(out);
    if (fd < 0 || !every)
        return CSP_EXIT_USAGE;
    close(fd);
    stop(csp_program_open(&bench.program, &(struct csp_program_options){.path = bench.binary},
                          &bench.diag));
    find_pauses(&bench);
    printf("%-8s %9s %9s %9s %12s %9s %9s %10s %10s\n", "spoiled", "samples", "no window",
           "spoiled", "by stitching", "by rules", "false", "recall", "precision");
    for (int kind = CLEAN; kind < KINDS; kind++) {
        bench.kind = (enum kind)kind;
        spoil(&bench, (enum kind)kind, every, out);
        read_spoiled(&bench, out);
        print_row(&bench, (enum kind)kind);
    }
    unlink(out);
    csp_vec_free(&bench.pauses);
    csp_map_free(&bench.spoiled);
    csp_map_free(&bench.alone);
    csp_map_free(&bench.spoiled);
    csp_program_close(&bench.program);
    return 0;
}
