/* The store: what is put is got, whatever happens to its files meanwhile. */
#include "unit.h"

#include "base/alloc.h"
#include "cache/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
