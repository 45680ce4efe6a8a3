/* What csp_writer writes, csp_perfdata reads: each kind of record, and what is left after a crash.
 */
#include "written_recording.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void attributes_keep_their_fields_ids_and_names(void **state)
{
    (void)state;
    struct recording recording;
    begin(&recording);
    csp_write_finished_round(recording.writer);
    complete(&recording);
    assert_int_equal(csp_perfdata_attr_count(recording.reader), 2);
    const struct csp_attr *pause = csp_perfdata_attr(recording.reader, 1);
    assert_int_equal(pause->type, 4);
    assert_int_equal(pause->config, 0x11);
    assert_int_equal(pause->sample_period, 1000);
    assert_int_equal(pause->sample_regs_user, attrs[1].sample_regs_user);
    assert_int_equal(pause->aux_action, CSP_AUX_PAUSE);
    assert_true(csp_attr_has(pause, CSP_ATTR_SAMPLE_ID_ALL)); /* always on */
    assert_int_equal(pause->id_count, 2);
    assert_int_equal(pause->ids[1], 22);
    assert_string_equal(pause->name, "cpu_cycles/period=1000/u");
    assert_int_equal(csp_perfdata_attr_of_id(recording.reader, 12), 0);
    assert_int_equal(csp_perfdata_attr_of_id(recording.reader, 21), 1);
    assert_int_equal(csp_perfdata_attr_of_id(recording.reader, 99), -1);
    next(&recording, CSP_RECORD_FINISHED_ROUND);
    end_cleanly(&recording);
}

static void features_say_who_recorded_what_where(void **state)
{
    (void)state;
    static const char *const command[] = {"csprof", "collect", "--", "./app with space", NULL};
    static const char *const pmus[] = {"cs_etm"};
    static const uint32_t types[] = {10};
    const struct csp_build_id md5 = {16, {0xab, 0xcd, 1}}, sha1 = {20, {0x12, 0x34}};
    struct recording recording;
    begin(&recording);
    csp_writer_info(recording.writer, &(struct csp_writer_info){
                                          .hostname = "n2",
                                          .os_release = "6.16.0",
                                          .arch = "aarch64",
                                          .perf_version = "csprof 0.1",
                                          .command = command,
                                          .cpus_available = 8,
                                          .cpus_online = 4,
                                          .pmu_names = pmus,
                                          .pmu_types = types,
                                          .pmu_count = 1,
                                      });
    csp_writer_build_id(recording.writer, CSP_MISC_CPUMODE_USER, 100, &sha1, "/bin/app");
    csp_writer_build_id(recording.writer, CSP_MISC_CPUMODE_KERNEL, CSP_NO_TID, &md5,
                        "[kernel.kallsyms]");
    complete(&recording); /* without a single record: still a complete file */
    const struct csp_perfdata_info *info = csp_perfdata_info(recording.reader);
    assert_false(info->unfinished);
    assert_string_equal(info->hostname, "n2");
    assert_string_equal(info->os_release, "6.16.0");
    assert_string_equal(info->arch, "aarch64");
    assert_string_equal(info->perf_version, "csprof 0.1");
    assert_null(info->cpu_id);
    assert_string_equal(info->command_line, "csprof collect -- ./app with space");
    assert_int_equal(info->cpus_available, 8);
    assert_int_equal(info->cpus_online, 4);
    assert_int_equal(info->build_id_count, 2);
    assert_string_equal(info->build_ids[0].path, "/bin/app");
    assert_int_equal(info->build_ids[0].pid, 100);
    assert_true(csp_build_id_equal(&info->build_ids[0].build_id, &sha1));
    assert_true(csp_build_id_equal(&info->build_ids[1].build_id, &md5));
    assert_int_equal(info->build_ids[1].pid, CSP_NO_TID);
    end_cleanly(&recording);
}

static void mappings_carry_an_inode_or_a_build_id(void **state)
{
    (void)state;
    struct csp_mmap_event event;
    struct recording recording;
    begin(&recording);
    struct csp_mmap_event inode = {.pid = 100,
                                   .tid = 101,
                                   .start = 0x400000,
                                   .length = 0x77000,
                                   .page_offset = 0x1000,
                                   .path = "/bin/app",
                                   .major = 8,
                                   .minor = 1,
                                   .inode = 77,
                                   .inode_generation = 3,
                                   .protection = PROT_READ | PROT_EXEC,
                                   .flags = MAP_PRIVATE | MAP_DENYWRITE};
    struct csp_mmap_event build_id = inode;
    build_id.has_build_id = true;
    build_id.build_id = (struct csp_build_id){20, {0xea, 0x6c}};
    build_id.path = ""; /* a text may be empty */
    csp_write_mmap2(recording.writer, &trace_id, CSP_MISC_CPUMODE_USER, &inode);
    csp_write_mmap2(recording.writer, &trace_id, CSP_MISC_CPUMODE_USER, &build_id);
    csp_write_mmap(recording.writer, &trace_id, CSP_MISC_CPUMODE_USER, &inode);
    complete(&recording);

    struct csp_record record = next(&recording, CSP_RECORD_MMAP2);
    assert_trace_id(&record);
    assert_true(csp_record_mmap(&record, &event));
    assert_int_equal(event.pid, 100);
    assert_int_equal(event.start, 0x400000);
    assert_int_equal(event.length, 0x77000);
    assert_int_equal(event.page_offset, 0x1000);
    assert_string_equal(event.path, "/bin/app");
    assert_false(event.has_build_id);
    assert_int_equal(event.major, 8);
    assert_int_equal(event.inode, 77);
    assert_int_equal(event.inode_generation, 3);
    assert_int_equal(event.protection, PROT_READ | PROT_EXEC);
    assert_int_equal(event.flags, MAP_PRIVATE | MAP_DENYWRITE);

    record = next(&recording, CSP_RECORD_MMAP2);
    assert_true(csp_record_mmap(&record, &event));
    assert_true(event.has_build_id);
    assert_true(csp_build_id_equal(&event.build_id, &build_id.build_id));
    assert_string_equal(event.path, "");
    assert_int_equal(event.inode, 0);

    record = next(&recording, CSP_RECORD_MMAP);
    assert_trace_id(&record);
    assert_true(csp_record_mmap(&record, &event));
    assert_string_equal(event.path, "/bin/app");
    assert_int_equal(event.protection, PROT_READ | PROT_EXEC);
    end_cleanly(&recording);
}

static void tasks_come_fork_rename_and_go(void **state)
{
    (void)state;
    struct csp_comm_event comm;
    struct csp_task_event task;
    struct recording recording;
    begin(&recording);
    csp_write_comm(recording.writer, &trace_id,
                   &(struct csp_comm_event){100, 100, "exactly7", true});
    csp_write_fork(recording.writer, &trace_id, &(struct csp_task_event){200, 100, 201, 101, 44});
    csp_write_exit(recording.writer, &trace_id, &(struct csp_task_event){200, 100, 201, 101, 45});
    complete(&recording);
    struct csp_record record = next(&recording, CSP_RECORD_COMM);
    assert_true(csp_record_comm(&record, &comm));
    assert_string_equal(comm.name, "exactly7"); /* its NUL needs eight bytes more */
    assert_true(comm.exec);
    record = next(&recording, CSP_RECORD_FORK);
    assert_true(csp_record_task(&record, &task));
    assert_int_equal(task.pid, 200);
    assert_int_equal(task.parent_pid, 100);
    assert_int_equal(task.tid, 201);
    assert_int_equal(task.parent_tid, 101);
    assert_int_equal(task.time, 44);
    record = next(&recording, CSP_RECORD_EXIT);
    assert_true(csp_record_task(&record, &task));
    assert_false(csp_record_comm(&record, &comm)); /* of another type */
    end_cleanly(&recording);
}

static void trace_control_records_round_trip(void **state)
{
    (void)state;
    struct csp_aux_event aux;
    struct csp_hw_id_event hw_id;
    struct csp_itrace_start_event start;
    struct csp_time_conv_event conv;
    struct csp_id_index_event entry;
    struct recording recording;
    begin(&recording);
    csp_write_itrace_start(recording.writer, &trace_id, &(struct csp_itrace_start_event){100, 101});
    csp_write_aux(recording.writer, &trace_id,
                  &(struct csp_aux_event){64, 171, CSP_AUX_TRUNCATED | CSP_AUX_FORMAT_RAW});
    csp_write_hw_id(
        recording.writer, &trace_id,
        &(struct csp_hw_id_event){.major = 0, .minor = 1, .trace_id = 0x12, .sink_id = 0x12345678});
    csp_write_time_conv(recording.writer,
                        &(struct csp_time_conv_event){.time_shift = 31,
                                                      .time_mult = 1 << 30,
                                                      .time_zero = 9,
                                                      .time_cycles = 1000,
                                                      .time_mask = 0xffffff,
                                                      .cap_user_time_zero = true,
                                                      .cap_user_time_short = true});
    static const struct csp_id_index_event entries[] = {{11, 0, 0, CSP_NO_TID},
                                                        {12, 1, 1, CSP_NO_TID}};
    csp_write_id_index(recording.writer, entries, 2);
    complete(&recording);

    struct csp_record record = next(&recording, CSP_RECORD_ITRACE_START);
    assert_true(csp_record_itrace_start(&record, &start));
    assert_int_equal(start.tid, 101);
    record = next(&recording, CSP_RECORD_AUX);
    assert_true(csp_record_aux(&record, &aux));
    assert_int_equal(aux.aux_offset, 64);
    assert_int_equal(aux.aux_size, 171);
    assert_int_equal(aux.flags, CSP_AUX_TRUNCATED | CSP_AUX_FORMAT_RAW);
    assert_trace_id(&record);
    record = next(&recording, CSP_RECORD_AUX_OUTPUT_HW_ID);
    assert_true(csp_record_hw_id(&record, &hw_id));
    assert_int_equal(hw_id.raw, 0x0100001234567812);
    assert_int_equal(hw_id.trace_id, 0x12);
    assert_int_equal(hw_id.sink_id, 0x12345678);
    record = next(&recording, CSP_RECORD_TIME_CONV);
    assert_true(csp_record_time_conv(&record, &conv));
    assert_int_equal(conv.time_mask, 0xffffff);
    /* Half a nanosecond each cycle; the 24-bit counter wrapped since cycle 1000. */
    assert_int_equal(csp_time_conv_ns(&conv, 10), 9 + (0x1000000 + 10) / 2);
    record = next(&recording, CSP_RECORD_ID_INDEX);
    assert_true(csp_record_id_index(&record, 1, &entry));
    assert_int_equal(entry.id, 12);
    assert_int_equal(entry.idx, 1);
    assert_int_equal(entry.cpu, 1);
    assert_int_equal(entry.tid, CSP_NO_TID);
    assert_false(csp_record_id_index(&record, 2, &entry));
    end_cleanly(&recording);
}

static void scheduling_and_loss_records_round_trip(void **state)
{
    (void)state;
    struct csp_switch_event change;
    struct csp_lost_event lost;
    struct csp_throttle_event throttle;
    struct recording recording;
    begin(&recording);
    csp_write_switch(
        recording.writer, &trace_id,
        &(struct csp_switch_event){.out = true, .other_pid = CSP_NO_TID, .other_tid = CSP_NO_TID});
    csp_write_switch(
        recording.writer, &trace_id,
        &(struct csp_switch_event){.out = true, .preempt = true, .other_pid = 7, .other_tid = 8});
    csp_write_lost(recording.writer, &trace_id, &(struct csp_lost_event){12, 5});
    csp_write_lost_samples(recording.writer, &trace_id, 6);
    csp_write_throttle(recording.writer, &trace_id, true,
                       &(struct csp_throttle_event){.time = 70, .id = 12, .stream_id = 1});
    csp_write_throttle(recording.writer, &trace_id, false,
                       &(struct csp_throttle_event){.time = 71, .id = 12, .stream_id = 1});
    complete(&recording);
    struct csp_record record = next(&recording, CSP_RECORD_SWITCH);
    assert_true(csp_record_switch(&record, &change));
    assert_true(change.out);
    assert_false(change.preempt);
    assert_int_equal(change.other_tid, CSP_NO_TID);
    assert_int_equal(record.tid, 101); /* who switched */
    record = next(&recording, CSP_RECORD_SWITCH_CPU_WIDE);
    assert_true(csp_record_switch(&record, &change));
    assert_true(change.preempt);
    assert_int_equal(change.other_tid, 8);
    record = next(&recording, CSP_RECORD_LOST);
    assert_true(csp_record_lost(&record, &lost));
    assert_int_equal(lost.lost, 5);
    record = next(&recording, CSP_RECORD_LOST_SAMPLES);
    assert_true(csp_record_lost(&record, &lost));
    assert_int_equal(lost.lost, 6);
    record = next(&recording, CSP_RECORD_THROTTLE);
    assert_true(csp_record_throttle(&record, &throttle));
    assert_int_equal(throttle.time, 70);
    next(&recording, CSP_RECORD_UNTHROTTLE);
    end_cleanly(&recording);
}

static void samples_carry_what_their_attribute_asks_for(void **state)
{
    (void)state;
    static const uint64_t chain[] = {CSP_CONTEXT_USER, 0x4001, 0x4002};
    static const struct csp_writer_branch branches[] = {{0x4010, 0x4000, CSP_BRANCH_FLAG_PREDICTED},
                                                        {0x4020, 0x4008, 0}};
    static const uint64_t registers[] = {0x1e1e, 0x4001};
    struct csp_sample_record sample;
    struct recording recording;
    uint64_t value;
    begin(&recording);
    assert_true(csp_write_sample(recording.writer, &pause_id,
                                 &(struct csp_writer_sample){.misc = CSP_MISC_CPUMODE_USER,
                                                             .ip = 0x4001,
                                                             .period = 1000,
                                                             .callchain = chain,
                                                             .callchain_len = 3,
                                                             .branches = branches,
                                                             .branch_len = 2,
                                                             .regs_user = registers,
                                                             .aux = "trace",
                                                             .aux_size = 5}));
    struct csp_writer_id later = pause_id;
    later.time = 9000;
    assert_true(csp_write_sample(recording.writer, &later, &(struct csp_writer_sample){.ip = 1}));
    complete(&recording);
    assert_int_equal(csp_perfdata_info(recording.reader)->first_sample_time, 6000);
    assert_int_equal(csp_perfdata_info(recording.reader)->last_sample_time, 9000);

    struct csp_record record = next(&recording, CSP_RECORD_SAMPLE);
    const struct csp_attr *attr = csp_perfdata_attr(recording.reader, record.attr);
    assert_int_equal(record.attr, 1);
    assert_int_equal(record.time, 6000);
    assert_int_equal(record.cpu, 1);
    assert_true(csp_sample_parse(attr, &record, &sample));
    assert_int_equal(sample.ip, 0x4001);
    assert_int_equal(sample.tid, 101);
    assert_int_equal(sample.id, 22);
    assert_int_equal(sample.period, 1000);
    assert_int_equal(sample.callchain_len, 3);
    assert_int_equal(csp_sample_frame(&sample, 0), CSP_CONTEXT_USER);
    assert_int_equal(csp_sample_frame(&sample, 2), 0x4002);
    assert_int_equal(sample.branch_len, 2);
    assert_int_equal(csp_sample_branch(&sample, 0).from, 0x4010);
    assert_int_equal(csp_sample_branch(&sample, 1).to, 0x4008);
    assert_true(csp_sample_user_register(attr, &sample, 30, &value));
    assert_int_equal(value, 0x1e1e);
    assert_true(csp_sample_user_register(attr, &sample, 32, &value));
    assert_int_equal(value, 0x4001);
    assert_false(csp_sample_user_register(attr, &sample, 29, &value));
    assert_int_equal(sample.aux_size, 8); /* filled up */
    assert_memory_equal(sample.aux, "trace\0\0\0", 8);

    record = next(&recording, CSP_RECORD_SAMPLE); /* of a kernel thread: nothing of user mode */
    assert_true(csp_sample_parse(attr, &record, &sample));
    assert_int_equal(sample.callchain_len, 0);
    assert_int_equal(sample.regs_user_abi, 0);
    assert_false(csp_sample_user_register(attr, &sample, 30, &value));
    end_cleanly(&recording);
}

static void a_sample_too_long_for_a_record_is_refused(void **state)
{
    (void)state;
    static const uint64_t chain[9000];
    struct recording recording;
    begin(&recording);
    assert_false(
        csp_write_sample(recording.writer, &pause_id,
                         &(struct csp_writer_sample){.callchain = chain, .callchain_len = 9000}));
    csp_write_finished_round(recording.writer);
    complete(&recording);
    next(&recording, CSP_RECORD_FINISHED_ROUND);
    end_cleanly(&recording);
}

/* Two CPUs in each version of AUXTRACE_INFO; version 0 has no parameter count. */
static void trace_unit_configurations_round_trip(void **state)
{
    (void)state;
    for (uint64_t version = 0; version <= 2; version++) {
        struct csp_cs_etm_cpu cpus[2] = {
            {.magic = CSP_CS_ETM_MAGIC_ETMV4,
             .cpu = 0,
             .param_count = 7,
             .params = {0x8880, 0x10, 0x28000ea1, 0x4100f421, 0x20001088, 0, 0xcc}},
            {.magic = CSP_CS_ETM_MAGIC_ETE,
             .cpu = 3,
             .param_count = 8,
             .params = {0x8880, 0x12, 0x28000ea1, 0x4100fff0, 0xc0001088, 0, 0xcc, 0x47705a13}},
        };
        struct csp_cs_etm_info info = {.version = version, .pmu_type = 10}, again;
        info.cpus.data = cpus;
        info.cpus.len = version ? 2 : 1;
        struct recording recording;
        begin(&recording);
        csp_write_auxtrace_info(recording.writer, &info);
        complete(&recording);
        struct csp_record record = next(&recording, CSP_RECORD_AUXTRACE_INFO);
        assert_int_equal(csp_cs_etm_info_parse(&again, &record, "test", NULL), 0);
        assert_int_equal(again.version, version);
        assert_int_equal(again.pmu_type, 10);
        assert_int_equal(again.cpus.len, version ? 2 : 1);
        assert_int_equal(again.cpus.data[0].unit, CSP_UNIT_ETMV4);
        assert_int_equal(again.cpus.data[0].trace_id, 0x10);
        assert_int_equal(again.cpus.data[0].params[CSP_ETM_AUTHSTATUS], 0xcc);
        if (version) {
            assert_int_equal(csp_cs_etm_info_cpu(&again, 3)->unit, CSP_UNIT_ETE);
            assert_null(csp_cs_etm_info_cpu(&again, 1));
        }
        csp_cs_etm_info_free(&again);
        end_cleanly(&recording);
    }
}

static void trace_of_odd_size_is_filled_up_and_found_again(void **state)
{
    (void)state;
    struct csp_auxtrace aux = {0};
    struct csp_record record;
    struct recording recording;
    static const struct csp_id_index_event ring = {12, 1, 1, CSP_NO_TID};
    begin(&recording);
    csp_write_id_index(recording.writer, &ring, 1);
    csp_write_aux(recording.writer, &trace_id, &(struct csp_aux_event){0, 5, CSP_AUX_FORMAT_RAW});
    csp_write_auxtrace(recording.writer,
                       &(struct csp_auxtrace_event){
                           .size = 5, .aux_offset = 0, .idx = 1, .tid = CSP_NO_TID, .cpu = 1},
                       "first");
    csp_write_aux(recording.writer, &trace_id, &(struct csp_aux_event){5, 6, CSP_AUX_FORMAT_RAW});
    csp_write_auxtrace(recording.writer,
                       &(struct csp_auxtrace_event){
                           .size = 6, .aux_offset = 5, .idx = 1, .tid = CSP_NO_TID, .cpu = 1},
                       "second");
    complete(&recording);
    while (csp_records_next(recording.records, &record))
        assert_int_equal(csp_auxtrace_add(&aux, &record, NULL), 0);
    csp_auxtrace_finish(&aux, NULL);
    assert_int_equal(aux.fragments.len, 2);
    assert_int_equal(aux.missing_bytes, 0);
    struct csp_aux_piece first = csp_aux_piece(&aux, &aux.fragments.data[0], 0);
    struct csp_aux_piece second = csp_aux_piece(&aux, &aux.fragments.data[1], 0);
    assert_memory_equal(first.data, "first", 5);
    assert_int_equal(second.size, 6);
    assert_memory_equal(second.data, "second", 6);
    assert_true(aux.fragments.data[1].raw);
    csp_auxtrace_free(&aux);
    end_cleanly(&recording);
}

static void write_trace(struct recording *recording, const uint8_t *bytes, uint64_t offset,
                        uint64_t size)
{
    csp_write_aux(recording->writer, &trace_id,
                  &(struct csp_aux_event){offset, size, CSP_AUX_FORMAT_RAW});
    csp_write_auxtrace(
        recording->writer,
        &(struct csp_auxtrace_event){
            .size = size, .aux_offset = offset, .idx = 1, .tid = CSP_NO_TID, .cpu = 1},
        bytes + offset);
}

static void trace_is_written_in_aligned_pieces_of_two_mebibytes(void **state)
{
    (void)state;
    static const struct {
        uint64_t trace, pieces; /* this much more is given, so many pieces are in the file then */
    } cases[] = {{8, 0}, {0x1ff000, 0}, {0x2000, 1}, {0x200000, 2}, {0x5f0000, 4}, {0x10000, 5}};
    enum { PIECE = 2 << 20, ALL = 0xa01008 };
    static uint8_t bytes[ALL];
    struct csp_auxtrace aux = {0};
    struct recording recording;
    struct csp_record record;
    struct stat status;
    uint64_t given = 0;
    for (size_t i = 0; i < ALL; i++)
        bytes[i] = (uint8_t)(i * 2654435761 >> 24);
    begin(&recording);
    csp_write_id_index(recording.writer, &(struct csp_id_index_event){12, 1, 1, CSP_NO_TID}, 1);
    assert_int_equal(stat(recording.path, &status), 0);
    uint64_t head = (uint64_t)status.st_size;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_trace(&recording, bytes, given, cases[i].trace);
        given += cases[i].trace;
        assert_int_equal(stat(recording.path, &status), 0);
        assert_int_equal(status.st_size, cases[i].pieces ? cases[i].pieces * PIECE : head);
    }
    complete(&recording);
    while (csp_records_next(recording.records, &record))
        assert_int_equal(csp_auxtrace_add(&aux, &record, NULL), 0);
    csp_auxtrace_finish(&aux, NULL);
    assert_int_equal(aux.fragments.len, sizeof cases / sizeof *cases);
    given = 0;
    for (size_t i = 0; i < aux.fragments.len; i++) {
        struct csp_aux_piece piece = csp_aux_piece(&aux, &aux.fragments.data[i], 0);
        assert_int_equal(piece.size, cases[i].trace);
        assert_memory_equal(piece.data, bytes + given, piece.size);
        given += piece.size;
    }
    csp_auxtrace_free(&aux);
    end_cleanly(&recording);
}

/* So many trace units that their record is larger than what else is written at the end. */
enum { UNITS = 64 };

static struct csp_cs_etm_info describe_units(struct csp_cs_etm_cpu cpus[UNITS], uint64_t traceidr)
{
    for (uint64_t i = 0; i < UNITS; i++)
        cpus[i] = (struct csp_cs_etm_cpu){
            .magic = CSP_CS_ETM_MAGIC_ETMV4,
            .cpu = i,
            .param_count = 7,
            .params = {0x8880, traceidr, 0x28000ea1, 0x4100f421, 0x20001088, 0, 0xcc},
        };
    struct csp_cs_etm_info info = {.version = 2, .pmu_type = 10};
    info.cpus.data = cpus;
    info.cpus.len = UNITS;
    return info;
}

/* Writes, changes and closes a file of which a piece ends `left` bytes behind the records. */
static void write_near_the_end_of_a_piece(uint64_t left)
{
    enum { PIECE = 2 << 20, HEAD = 8 << 10 };
    static const uint8_t trace[PIECE];
    struct csp_cs_etm_cpu cpus[UNITS];
    struct csp_cs_etm_info info = describe_units(cpus, 0x10), again;
    struct recording recording;
    begin(&recording);
    csp_write_auxtrace_info(recording.writer, &info);
    uint64_t head = csp_writer_size(recording.writer), records = 8 + 24 + 24 + 48;
    assert_true(head + records + left < HEAD);
    write_trace(&recording, trace, 0, (PIECE - left - head - records) / 8 * 8);
    info = describe_units(cpus, 0x70);
    csp_writer_update_auxtrace_info(recording.writer, &info);
    complete(&recording);
    struct csp_record record = next(&recording, CSP_RECORD_AUXTRACE_INFO);
    assert_int_equal(csp_cs_etm_info_parse(&again, &record, "test", NULL), 0);
    assert_int_equal(again.cpus.len, UNITS);
    assert_int_equal(again.cpus.data[UNITS - 1].params[CSP_ETM_TRACEIDR], 0x70);
    csp_cs_etm_info_free(&again);
    next(&recording, CSP_RECORD_AUX);
    next(&recording, CSP_RECORD_AUXTRACE);
    end_cleanly(&recording);
}

static void a_file_can_be_changed_and_closed_wherever_a_piece_ends(void **state)
{
    (void)state;
    for (uint64_t left = 0; left < 1024; left += 8)
        write_near_the_end_of_a_piece(left);
}

/* The recorder is killed: csp_writer_close is never called, only what was flushed is there. */
static void a_killed_recorder_leaves_all_complete_records(void **state)
{
    (void)state;
    struct recording recording;
    begin(&recording);
    csp_write_finished_round(recording.writer);
    csp_write_lost_samples(recording.writer, &trace_id, 6);
    csp_writer_flush(recording.writer);
    struct recording crashed = recording;
    read_again(&crashed);
    assert_true(csp_perfdata_info(crashed.reader)->unfinished);
    assert_int_equal(crashed.diag.warnings, 1); /* says that the file was not completed */
    next(&crashed, CSP_RECORD_FINISHED_ROUND);
    struct csp_record record = next(&crashed, CSP_RECORD_LOST_SAMPLES);
    assert_trace_id(&record);
    assert_false(csp_records_next(crashed.records, &record));
    assert_int_equal(crashed.diag.warnings, 1); /* nothing was cut */
    assert_int_equal(csp_records_counts(crashed.records)->lost_bytes, 0);
    assert_int_equal(csp_writer_size(recording.writer), crashed.file.size);
    assert_int_equal(csp_writer_close(recording.writer, NULL), 0);
    end(&crashed);
}

static void a_full_disk_is_told_at_the_end(void **state)
{
    (void)state;
    struct csp_writer *writer;
    struct csp_diag diag = {0};
    if (access("/dev/full", W_OK) < 0)
        skip();
    assert_int_equal(csp_writer_open(&writer, "/dev/full", attrs, 2, &diag), 0);
    csp_write_finished_round(writer);
    assert_int_equal(csp_writer_close(writer, &diag), -CSP_ERR_IO);
    assert_int_equal(diag.failures, 1);
    assert_int_equal(csp_writer_open(&writer, "/nowhere/at/all", attrs, 2, &diag), -CSP_ERR_IO);
}

/* Whatever of a piece, or of a record, there is still room for. */
static void a_disk_may_be_full_in_the_middle_of_anything(void **state)
{
    (void)state;
    static const uint64_t rooms[] = {0x1000, 0x1fffff, 0x200000, 0x200001, 0x300000, 0x4fff03};
    static const uint64_t sizes[] = {8, 70000, 300000, 3000000};
    enum { ALL = 0x600000, RECORDS = 100 };
    static uint8_t bytes[ALL];
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            struct recording recording;
            begin(&recording);
            limit = (struct rlimit){rooms[i], before.rlim_max};
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
            for (uint64_t at = 0; at < ALL; at += sizes[j] + RECORDS)
                write_trace(&recording, bytes, 0, sizes[j]);
            assert_int_equal(csp_writer_close(recording.writer, &recording.diag), -CSP_ERR_IO);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
            assert_int_equal(recording.diag.failures, 1);
            read_again(&recording);
            struct csp_record record;
            while (csp_records_next(recording.records, &record))
                ;
            assert_int_equal(csp_records_counts(recording.records)->lost_bytes, 0);
            end(&recording);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_keep_their_fields_ids_and_names),
        cmocka_unit_test(features_say_who_recorded_what_where),
        cmocka_unit_test(mappings_carry_an_inode_or_a_build_id),
        cmocka_unit_test(tasks_come_fork_rename_and_go),
        cmocka_unit_test(trace_control_records_round_trip),
        cmocka_unit_test(scheduling_and_loss_records_round_trip),
        cmocka_unit_test(samples_carry_what_their_attribute_asks_for),
        cmocka_unit_test(a_sample_too_long_for_a_record_is_refused),
        cmocka_unit_test(trace_unit_configurations_round_trip),
        cmocka_unit_test(trace_of_odd_size_is_filled_up_and_found_again),
        cmocka_unit_test(trace_is_written_in_aligned_pieces_of_two_mebibytes),
        cmocka_unit_test(a_killed_recorder_leaves_all_complete_records),
        cmocka_unit_test(a_file_can_be_changed_and_closed_wherever_a_piece_ends),
        cmocka_unit_test(a_full_disk_is_told_at_the_end),
        cmocka_unit_test(a_disk_may_be_full_in_the_middle_of_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
