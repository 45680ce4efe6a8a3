/* Who had what mapped where, and when. */
#include "unit.h"

#include "perfdata/spaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { APP = 100, CHILD = 200 };

static void map(struct csp_spaces *spaces, uint64_t time, uint32_t pid, uint64_t start,
                uint64_t length, uint64_t page_offset, const char *path)
{
    csp_spaces_map(spaces, time,
                   &(struct csp_mmap_event){.pid = pid,
                                            .tid = pid,
                                            .start = start,
                                            .length = length,
                                            .page_offset = page_offset,
                                            .path = path,
                                            .protection = PROT_EXEC},
                   pid == CSP_NO_TID);
}

/* A kernel record with this body, without sample id fields but for its time. */
static void record(struct csp_spaces *spaces, uint64_t time, uint32_t type, uint16_t misc,
                   const void *body, size_t size)
{
    csp_spaces_add(
        spaces,
        &(struct csp_record){
            .type = type, .misc = misc, .body = body, .body_size = size, .time = time, .ids = 1});
}

static void fork_process(struct csp_spaces *spaces, uint64_t time, uint32_t pid, uint32_t parent,
                         uint32_t tid)
{
    /* u32 pid, ppid, tid, ptid; u64 time */
    const uint32_t body[6] = {pid, parent, tid, parent};
    record(spaces, time, CSP_RECORD_FORK, 0, body, sizeof body);
}

static void name_process(struct csp_spaces *spaces, uint64_t time, uint32_t pid, const char *name,
                         bool exec)
{
    uint32_t body[6] = {pid, pid}; /* u32 pid, tid; the name */
    memcpy(&body[2], name, strlen(name));
    record(spaces, time, CSP_RECORD_COMM, exec ? CSP_MISC_COMM_EXEC : 0, body, sizeof body);
}

/* "path+offset" of an address, or "-". */
static const char *at(const struct csp_spaces *spaces, uint32_t pid, uint64_t time,
                      uint64_t address)
{
    static char text[64];
    const struct csp_mapping *mapping = csp_spaces_find(spaces, pid, time, address);
    if (!mapping)
        return "-";
    snprintf(text, sizeof text, "%s+%llx", csp_spaces_binary(spaces, mapping->binary)->path,
             (unsigned long long)(address - mapping->start + mapping->page_offset));
    return text;
}

static void a_mapping_covers_its_first_byte_but_not_its_end(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    assert_string_equal(at(spaces, APP, 5, 0x1000), "-"); /* nobody yet */
    map(spaces, 1, APP, 0x1000, 0x1000, 0x3000, "app");
    map(spaces, 1, APP, 0x2000, 0x1000, 0, "libc");
    assert_string_equal(at(spaces, APP, 5, 0xfff), "-");
    assert_string_equal(at(spaces, APP, 5, 0x1000), "app+3000");
    assert_string_equal(at(spaces, APP, 5, 0x1fff), "app+3fff");
    assert_string_equal(at(spaces, APP, 5, 0x2000), "libc+0");
    assert_string_equal(at(spaces, APP, 5, 0x3000), "-");
    assert_string_equal(at(spaces, CHILD, 5, 0x1000), "-");
    csp_spaces_destroy(spaces);
}

/* dlclose is not recorded: the next mapping there tells. Each moment sees its own. */
static void the_newest_mapping_wins_from_its_time_on(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 10, APP, 0x10000, 0x4000, 0, "old");
    map(spaces, 20, APP, 0x11000, 0x1000, 0, "new"); /* in the middle of it */
    assert_string_equal(at(spaces, APP, 19, 0x11800), "old+1800");
    assert_string_equal(at(spaces, APP, 20, 0x11800), "new+800");
    assert_string_equal(at(spaces, APP, 20, 0x10fff), "old+fff");
    assert_string_equal(at(spaces, APP, 20, 0x12000), "old+2000"); /* offsets go on */
    map(spaces, 30, APP, 0x10800, 0x2000, 0, "wide");              /* over ends of three */
    assert_string_equal(at(spaces, APP, 30, 0x107ff), "old+7ff");
    assert_string_equal(at(spaces, APP, 30, 0x10800), "wide+0");
    assert_string_equal(at(spaces, APP, 30, 0x127ff), "wide+1fff");
    assert_string_equal(at(spaces, APP, 30, 0x12800), "old+2800");
    assert_string_equal(at(spaces, APP, 25, 0x11800), "new+800"); /* the past stays */
    assert_int_equal(csp_spaces_stats(spaces).replaced, 2);
    csp_spaces_destroy(spaces);
}

static void times_before_the_first_record_see_the_first_mappings(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 100, APP, 0x1000, 0x1000, 0, "app");
    assert_string_equal(at(spaces, APP, 1, 0x1000), "app+0");
    csp_spaces_destroy(spaces);
}

static void a_child_starts_with_its_parents_mappings(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 1, APP, 0x1000, 0x1000, 0, "app");
    name_process(spaces, 1, APP, "app", true);
    map(spaces, 2, APP, 0x1000, 0x1000, 0, "app");
    fork_process(spaces, 10, CHILD, APP, CHILD);
    map(spaces, 20, APP, 0x1000, 0x1000, 0, "parent");
    map(spaces, 21, CHILD, 0x2000, 0x1000, 0, "child");
    assert_string_equal(at(spaces, CHILD, 30, 0x1000), "app+0");
    assert_string_equal(at(spaces, CHILD, 30, 0x2000), "child+0");
    assert_string_equal(at(spaces, APP, 30, 0x1000), "parent+0");
    assert_string_equal(at(spaces, APP, 30, 0x2000), "-");
    assert_string_equal(csp_spaces_comm(spaces, CHILD), "app");
    csp_spaces_destroy(spaces);
}

static void a_thread_shares_the_mappings_of_its_process(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 1, APP, 0x1000, 0x1000, 0, "app");
    fork_process(spaces, 10, APP, APP, APP + 1); /* pthread_create */
    assert_string_equal(at(spaces, APP, 20, 0x1000), "app+0");
    assert_int_equal(csp_spaces_stats(spaces).forks, 0);
    csp_spaces_destroy(spaces);
}

static void execve_starts_anew(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 1, APP, 0x1000, 0x1000, 0, "shell");
    name_process(spaces, 5, APP, "renamed", false); /* prctl(PR_SET_NAME) */
    assert_string_equal(at(spaces, APP, 6, 0x1000), "shell+0");
    name_process(spaces, 10, APP, "app", true);
    map(spaces, 11, APP, 0x8000, 0x1000, 0, "app");
    assert_string_equal(at(spaces, APP, 12, 0x1000), "-");
    assert_string_equal(at(spaces, APP, 12, 0x8000), "app+0");
    assert_string_equal(at(spaces, APP, 9, 0x1000), "shell+0");
    assert_string_equal(csp_spaces_comm(spaces, APP), "app");
    csp_spaces_destroy(spaces);
}

/* The trace of a process's last moments may be stamped after its end. */
static void mappings_outlive_the_process_until_its_pid_returns(void **state)
{
    (void)state;
    static const uint32_t exit_body[6] = {CHILD, APP, CHILD, APP};
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 1, APP, 0x9000, 0x1000, 0, "app");
    map(spaces, 1, CHILD, 0x1000, 0x1000, 0, "first");
    record(spaces, 10, CSP_RECORD_EXIT, 0, exit_body, sizeof exit_body);
    assert_string_equal(at(spaces, CHILD, 11, 0x1000), "first+0");
    fork_process(spaces, 20, CHILD, APP, CHILD); /* the number is used again */
    assert_string_equal(at(spaces, CHILD, 21, 0x1000), "-");
    assert_string_equal(at(spaces, CHILD, 21, 0x9000), "app+0");
    csp_spaces_destroy(spaces);
}

static void the_kernel_is_mapped_in_every_process(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 0, CSP_NO_TID, 0xffff800008000000, 0x10000, 0, "[kernel.kallsyms]_text");
    map(spaces, 1, APP, 0x1000, 0x1000, 0, "app");
    assert_string_equal(at(spaces, APP, 5, 0xffff800008000010), "[kernel.kallsyms]_text+10");
    assert_string_equal(at(spaces, 999, 5, 0xffff800008000010), "[kernel.kallsyms]_text+10");
    assert_true(csp_spaces_find(spaces, APP, 5, 0xffff800008000010)->kernel);
    assert_false(csp_spaces_find(spaces, APP, 5, 0x1000)->kernel);
    csp_spaces_destroy(spaces);
}

static void build_ids_come_with_the_mapping_or_by_path(void **state)
{
    (void)state;
    const struct csp_build_id_entry entries[] = {
        {.build_id = {20, {1}}, .path = "app"},
        {.build_id = {20, {2}}, .path = "libc"},
    };
    const struct csp_perfdata_info info = {.build_ids = entries, .build_id_count = 2};
    struct csp_mmap_event event = {.pid = APP,
                                   .start = 0x5000,
                                   .length = 0x1000,
                                   .path = "libc",
                                   .has_build_id = true,
                                   .build_id = {20, {3}}};
    struct csp_spaces *spaces = csp_spaces_create();
    csp_spaces_build_ids(spaces, &info);
    map(spaces, 1, APP, 0x1000, 0x1000, 0, "app");
    map(spaces, 1, APP, 0x2000, 0x1000, 0x1000, "app"); /* the same file once more */
    map(spaces, 1, APP, 0x3000, 0x1000, 0, "libc");
    map(spaces, 1, APP, 0x4000, 0x1000, 0, "unknown");
    csp_spaces_map(spaces, 2, &event, false); /* replaced on disk since: another file */
    assert_int_equal(csp_spaces_binary_count(spaces), 4);
    assert_int_equal(csp_spaces_binary(spaces, 0)->build_id.bytes[0], 1);
    assert_int_equal(csp_spaces_binary(spaces, 1)->build_id.bytes[0], 2);
    assert_int_equal(csp_spaces_binary(spaces, 2)->build_id.size, 0);
    assert_int_equal(csp_spaces_binary(spaces, 3)->build_id.bytes[0], 3);
    assert_string_equal(csp_spaces_binary(spaces, 3)->path, "libc");
    csp_spaces_destroy(spaces);
}

static void versions_tell_whether_mappings_changed(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    assert_int_equal(csp_spaces_version(spaces, APP, 1), 0);
    map(spaces, 10, APP, 0x1000, 0x1000, 0, "app");
    map(spaces, 20, APP, 0x2000, 0x1000, 0, "libc");
    assert_int_equal(csp_spaces_version(spaces, APP, 10), csp_spaces_version(spaces, APP, 19));
    assert_int_not_equal(csp_spaces_version(spaces, APP, 19), csp_spaces_version(spaces, APP, 20));
    csp_spaces_destroy(spaces);
}

static void what_an_execve_took_away_is_found_for_those_who_know_since_when(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 10, APP, 0x400000, 0x1000, 0, "/bin/sh");
    name_process(spaces, 20, APP, "app", true);
    map(spaces, 21, APP, 0x500000, 0x1000, 0, "/bin/app");
    static const struct {
        uint64_t from, to, address;
        const char *path;
    } cases[] = {
        {15, 30, 0x400000, "/bin/sh"},
        {15, 30, 0x500000, "/bin/app"},
        {25, 30, 0x400000, NULL},
        {15, 18, 0x500000, NULL},
        {0, UINT64_MAX, 0x400000, "/bin/sh"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct csp_mapping *mapping =
            csp_spaces_find_since(spaces, APP, cases[i].from, cases[i].to, cases[i].address);
        assert_int_equal(!mapping, !cases[i].path);
        if (mapping)
            assert_string_equal(csp_spaces_binary(spaces, mapping->binary)->path, cases[i].path);
    }
    csp_spaces_destroy(spaces);
}

static void nonsense_is_counted(void **state)
{
    (void)state;
    struct csp_spaces *spaces = csp_spaces_create();
    map(spaces, 1, APP, 0x1000, 0, 0, "nothing");
    map(spaces, 1, APP, 0xfffffffffffff000, 0x2000, 0, "around the end");
    record(spaces, 1, CSP_RECORD_MMAP2, 0, "short", 5);
    record(spaces, 1, CSP_RECORD_COMM, 0, "short", 5);
    record(spaces, 1, CSP_RECORD_FORK, 0, "short", 5);
    assert_int_equal(csp_spaces_stats(spaces).malformed, 5);
    assert_int_equal(csp_spaces_stats(spaces).mappings, 0);
    csp_spaces_destroy(spaces);
}

/* Against the simplest model: an array with one cell for each page and moment. */
static void random_mappings_agree_with_a_page_table(void **state)
{
    (void)state;
    enum { PAGES = 64, MOMENTS = 400 };
    static int table[MOMENTS][PAGES], offset[MOMENTS][PAGES];
    struct csp_spaces *spaces = csp_spaces_create();
    uint32_t random = 12345;
    memset(table, -1, sizeof table);
    for (int now = 1; now < MOMENTS; now++) {
        memcpy(table[now], table[now - 1], sizeof table[now]);
        memcpy(offset[now], offset[now - 1], sizeof offset[now]);
        for (int i = 0; i < now % 3; i++) { /* some moments have several mappings, or none */
            random = random * 1664525 + 1013904223;
            int first = (int)(random >> 8) % PAGES;
            int count = 1 + (int)(random >> 20) % (PAGES - first);
            char path[16];
            snprintf(path, sizeof path, "%d", now);
            map(spaces, (uint64_t)now, APP, (uint64_t)first, (uint64_t)count, 7, path);
            for (int page = first; page < first + count; page++) {
                table[now][page] = now;
                offset[now][page] = 7 + page - first;
            }
        }
    }
    for (int now = 1; now < MOMENTS; now++) {
        for (int page = 0; page < PAGES; page++) {
            char expected[32] = "-";
            if (table[now][page] >= 0)
                snprintf(expected, sizeof expected, "%d+%x", table[now][page],
                         (unsigned)offset[now][page]);
            assert_string_equal(at(spaces, APP, (uint64_t)now, (uint64_t)page), expected);
        }
    }
    csp_spaces_destroy(spaces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_covers_its_first_byte_but_not_its_end),
        cmocka_unit_test(the_newest_mapping_wins_from_its_time_on),
        cmocka_unit_test(times_before_the_first_record_see_the_first_mappings),
        cmocka_unit_test(a_child_starts_with_its_parents_mappings),
        cmocka_unit_test(a_thread_shares_the_mappings_of_its_process),
        cmocka_unit_test(execve_starts_anew),
        cmocka_unit_test(mappings_outlive_the_process_until_its_pid_returns),
        cmocka_unit_test(the_kernel_is_mapped_in_every_process),
        cmocka_unit_test(build_ids_come_with_the_mapping_or_by_path),
        cmocka_unit_test(versions_tell_whether_mappings_changed),
        cmocka_unit_test(what_an_execve_took_away_is_found_for_those_who_know_since_when),
        cmocka_unit_test(nonsense_is_counted),
        cmocka_unit_test(random_mappings_agree_with_a_page_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
