/* The store: what is put is got, whatever happens to its files meanwhile. */
#include "unit.h"

#include "base/alloc.h"
#include "cache/care.h"
#include "cache/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

static char *folder;
static unsigned warnings;
static char last[512];

static void count(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    warnings += severity == CSP_WARNING;
    snprintf(last, sizeof last, "%s", message);
}

static struct csp_diag diag = {.emit = count};

static void put(struct csp_store *store, const char *key, const char *text)
{
    csp_store_put(store, "words", key, strlen(key), text, strlen(text));
}

static bool gets(struct csp_store *store, const char *key, const char *text)
{
    struct csp_store_entry entry;
    if (!csp_store_get(store, "words", key, strlen(key), &entry))
        return false;
    bool same = entry.size == strlen(text) && !memcmp(entry.data, text, entry.size);
    csp_store_release(&entry);
    assert_true(same);
    return true;
}

/* The only file of the kind. */
static char *only_entry(void)
{
    char command[512], path[512] = "";
    snprintf(command, sizeof command, "find %s/words -type f", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(fgets(path, sizeof path, pipe));
    pclose(pipe);
    path[strcspn(path, "\n")] = '\0';
    return csp_strdup(path);
}

static void what_is_put_is_got(void **state)
{
    (void)state;
    struct csp_store *store = csp_store_open(folder, &diag);
    assert_false(gets(store, "one", ""));
    put(store, "one", "eins");
    put(store, "two", "zwei");
    put(store, "none", "");
    assert_true(gets(store, "one", "eins"));
    assert_true(gets(store, "two", "zwei"));
    assert_true(gets(store, "none", ""));
    put(store, "one", "another, longer");
    assert_true(gets(store, "one", "another, longer"));
    csp_store_close(store);
    store = csp_store_open(folder, &diag);
    assert_true(gets(store, "two", "zwei"));
    csp_store_close(store);
    assert_int_equal(warnings, 0);
}

static void nothing_is_kept_without_a_store(void **state)
{
    (void)state;
    put(NULL, "one", "eins");
    assert_false(gets(NULL, "one", ""));
    csp_store_close(NULL);
}

static void the_environment_says_where_and_whether(void **state)
{
    static const struct {
        const char *own, *caches, *home, *folder;
    } rows[] = {
        {"/c", "/x", "/h", "/c"},           {"off", "/x", "/h", NULL},
        {"", "/x", "/h", "/x/csprof"},      {"", "relative", "/h", "/h/.cache/csprof"},
        {"", "", "/h", "/h/.cache/csprof"}, {"", "", "", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("CSPROF_CACHE", rows[i].own, 1);
        setenv("XDG_CACHE_HOME", rows[i].caches, 1);
        setenv("HOME", rows[i].home, 1);
        char *got = csp_store_folder();
        assert_true(rows[i].folder ? got && !strcmp(got, rows[i].folder) : !got);
        free(got);
    }
}

/* Any byte changed, and the file cut anywhere: told once for each store, and made again. */
static void a_damaged_entry_is_told_and_made_again(void **state)
{
    (void)state;
    struct csp_store *store = csp_store_open(folder, &diag);
    put(store, "key", "contents");
    char *path = only_entry();
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    for (off_t i = 0; i < 2 * status.st_size; i++) {
        put(store, "key", "contents");
        if (i < status.st_size) {
            FILE *file = fopen(path, "r+");
            fseek(file, i, SEEK_SET);
            int byte = fgetc(file);
            fseek(file, i, SEEK_SET);
            fputc(byte ^ 0x10, file);
            fclose(file);
        } else if (i > status.st_size) {
            assert_int_equal(truncate(path, i - status.st_size), 0);
        } else {
            continue;
        }
        assert_false(gets(store, "key", "contents"));
    }
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last, "made again"));
    put(store, "key", "contents");
    assert_true(gets(store, "key", "contents"));
    csp_store_close(store);
    free(path);
}

static void the_entry_of_another_key_is_not_taken(void **state)
{
    (void)state;
    struct csp_store *store = csp_store_open(folder, &diag);
    put(store, "key", "contents");
    char *path = only_entry(), *kept = csp_asprintf("%s/kept", folder);
    assert_int_equal(rename(path, kept), 0);
    free(path);
    put(store, "yek", "other");
    path = only_entry();
    assert_int_equal(rename(kept, path), 0);
    assert_false(gets(store, "yek", "contents"));
    assert_non_null(strstr(last, "belongs to something else"));
    csp_store_close(store);
    free(path);
    free(kept);
}

static void a_folder_that_cannot_be_made_is_told_once(void **state)
{
    (void)state;
    char *file = csp_asprintf("%s/file", folder);
    fclose(fopen(file, "w"));
    char *below = csp_asprintf("%s/below", file);
    struct csp_store *store = csp_store_open(below, &diag);
    put(store, "one", "eins");
    put(store, "two", "zwei");
    assert_false(gets(store, "one", ""));
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last, "going on without it"));
    csp_store_close(store);
    free(below);
    free(file);
}

/* As a full disk does: the write fails, and no piece of a file is left. */
static void what_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    struct csp_store *store = csp_store_open(folder, &diag);
    struct rlimit before, small = {16, 16};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    put(store, "key", "contents");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(warnings, 1);
    assert_false(gets(store, "key", "contents"));
    char *command = csp_asprintf("test -z \"$(find %s -type f)\"", folder);
    assert_int_equal(system(command), 0);
    free(command);
    csp_store_close(store);
}

/* Each reader finds what one of the writers wrote, whole. */
static void processes_may_race(void **state)
{
    enum { PROCESSES = 4, ROUNDS = 200, SIZE = 20000 };
    (void)state;
    pid_t children[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p])
            continue;
        struct csp_store *store = csp_store_open(folder, &diag);
        char *data = csp_malloc(SIZE + (size_t)p);
        memset(data, 'a' + p, SIZE + (size_t)p);
        bool is_right = true;
        for (int i = 0; i < ROUNDS && is_right; i++) {
            struct csp_store_entry entry;
            csp_store_put(store, "words", "key", 3, data, SIZE + (size_t)p);
            is_right = csp_store_get(store, "words", "key", 3, &entry);
            const char *bytes = entry.data;
            for (size_t k = 0; k < entry.size && is_right; k++)
                is_right = bytes[k] == bytes[0] && entry.size == SIZE + (size_t)(bytes[0] - 'a');
            csp_store_release(&entry);
        }
        _exit(is_right && !warnings ? 0 : 1);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        waitpid(children[p], &status, 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* Contents that compress and that do not, of sizes around where it is tried. */
static void compressed_entries_are_what_was_put(void **state)
{
    enum { LARGEST = 3 << 20 };
    static const size_t sizes[] = {4095, 4096, 4097, 70000, LARGEST};
    (void)state;
    char *zeroes = csp_calloc(1, LARGEST), *text = csp_malloc(LARGEST),
         *noise = csp_malloc(LARGEST);
    const char *all[] = {zeroes, text, noise};
    for (size_t i = 0; i < LARGEST; i++) {
        text[i] = "abcdefgh"[i * i / 7 % 8];
        noise[i] = (char)random();
    }
    struct csp_store *store = csp_store_open(folder, &diag);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 3; kind++) {
            struct csp_store_entry entry;
            csp_store_put(store, "words", "key", 3, all[kind], sizes[i]);
            assert_true(csp_store_get(store, "words", "key", 3, &entry));
            assert_int_equal(entry.size, sizes[i]);
            assert_int_equal((uintptr_t)entry.data % 16, 0);
            assert_memory_equal(entry.data, all[kind], sizes[i]);
            csp_store_release(&entry);
        }
    csp_store_close(store);
    assert_int_equal(warnings, 0);
    free(zeroes);
    free(text);
    free(noise);
}

static void sum(void *user, const struct csp_cache_file *file)
{
    *(uint64_t *)user += file->size;
}

/* The clock was wrong when `late` was used: it counts as used now, and is put right when used. */
static void what_was_not_used_for_longest_is_pruned(void **state)
{
    enum { DAY = 24 * 3600 };
    static const struct {
        const char *key;
        long age; /* seconds */
    } rows[] = {{"old", 3 * DAY}, {"older", 4 * DAY}, {"late", -100 * DAY}, {"used", 5 * DAY}};
    (void)state;
    uint64_t all = 0, left = 0;
    struct csp_cache_removed removed;
    struct csp_store *store = csp_store_open(folder, &diag);
    for (size_t i = 0; i < 4; i++) {
        put(store, rows[i].key, "contents");
        char *path = only_entry(), *aside = csp_asprintf("%s/%zu", folder, i);
        struct utimbuf times = {time(NULL) - rows[i].age, time(NULL) - rows[i].age};
        assert_int_equal(utime(path, &times), 0);
        char *command =
            csp_asprintf("cp -a %s/words/. %s && rm -r %s/words", folder, aside, folder);
        char *make = csp_asprintf("mkdir %s", aside);
        assert_int_equal(system(make) | system(command), 0);
        free(path), free(aside), free(command), free(make);
    }
    char *command =
        csp_asprintf("mkdir %s/words && for i in 0 1 2 3; do cp -a %s/$i/. %s/words; done", folder,
                     folder, folder);
    assert_int_equal(system(command), 0);
    free(command);
    assert_true(gets(store, "used", "contents"));
    csp_cache_each(folder, sum, &all);
    csp_cache_prune(folder, all / 2, &removed);
    csp_cache_each(folder, sum, &left);
    assert_int_equal(removed.files, 2);
    assert_int_equal(removed.left_bytes, left);
    assert_int_equal(left, all / 2);
    assert_false(gets(store, "old", ""));
    assert_false(gets(store, "older", ""));
    assert_true(gets(store, "late", "contents"));
    assert_true(gets(store, "used", "contents"));
    csp_store_close(store);
}

/* A process killed while it wrote leaves a piece; other people's files are nobody's business. */
static void only_what_is_the_stores_is_removed(void **state)
{
    (void)state;
    struct csp_cache_removed removed;
    char *command = csp_asprintf(
        "cd %s && mkdir -p words/0a programs/lua/profiled && n=0123456789abcdef0123456789abcd && "
        "touch -d '2 hours ago' words/0a/$n.aB3dEf words/0a/other words/0a/$n.tar programs/lua/x "
        "programs/lua/profiled/$n && touch words/0a/$n.fresh1",
        folder);
    assert_int_equal(system(command), 0);
    csp_cache_prune(folder, 0, &removed);
    assert_int_equal(removed.files, 1);
    free(command);
    command = csp_asprintf("test $(find %s -type f | wc -l) = 5", folder);
    assert_int_equal(system(command), 0);
    free(command);
}

/* A process that puts much does not wait for another to prune. */
static void the_limit_is_kept(void **state)
{
    enum { SIZE = 100000 };
    (void)state;
    char *noise = csp_malloc(SIZE);
    uint64_t left = 0;
    for (size_t i = 0; i < SIZE; i++)
        noise[i] = (char)random();
    setenv("CSPROF_CACHE_SIZE", "1M", 1);
    struct csp_store *store = csp_store_open(folder, &diag);
    for (uint32_t i = 0; i < 30; i++)
        csp_store_put(store, "words", &i, sizeof i, noise, SIZE);
    csp_store_close(store);
    unsetenv("CSPROF_CACHE_SIZE");
    csp_cache_each(folder, sum, &left);
    assert_in_range(left, 9 * SIZE, 1000000);
    free(noise);
}

static int setup(void **state)
{
    (void)state;
    char pattern[] = "/tmp/csprof-store-XXXXXX";
    folder = csp_strdup(mkdtemp(pattern));
    warnings = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char *command = csp_asprintf("rm -rf %s", folder);
    int failed = system(command);
    free(command);
    free(folder);
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_put_is_got, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_kept_without_a_store, setup, teardown),
        cmocka_unit_test_setup_teardown(the_environment_says_where_and_whether, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_entry_is_told_and_made_again, setup, teardown),
        cmocka_unit_test_setup_teardown(the_entry_of_another_key_is_not_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_made_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(processes_may_race, setup, teardown),
        cmocka_unit_test_setup_teardown(compressed_entries_are_what_was_put, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_not_used_for_longest_is_pruned, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_is_the_stores_is_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(the_limit_is_kept, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
