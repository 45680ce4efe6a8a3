/* csprof cache: what is kept from one run to the next. */
#include "base/alloc.h"
#include "base/counted.h"
#include "base/parse.h"
#include "base/vec.h"
#include "cache/care.h"
#include "cache/store.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kind {
    char *name;
    uint64_t files, bytes;
};

struct cache {
    struct csp_cli *cli;
    char *folder;
    uint64_t limit;
    CSP_VEC(struct kind) kinds;
    uint64_t files, bytes, unfinished, damaged, other;
    struct csp_buf text;
    struct csp_json json;
};

static struct kind *kind_of(struct cache *cache, const char *name)
{
    if (!cache->kinds.len || strcmp(cache->kinds.data[cache->kinds.len - 1].name, name) != 0)
        csp_vec_push(&cache->kinds, (struct kind){.name = csp_strdup(name)});
    return &cache->kinds.data[cache->kinds.len - 1];
}

static void count_file(void *user, const struct csp_cache_file *file)
{
    struct cache *cache = user;
    struct kind *kind = kind_of(cache, file->kind);
    kind->files++;
    kind->bytes += file->size;
    cache->files++;
    cache->bytes += file->size;
    cache->unfinished += file->unfinished;
}

static void end_json(struct cache *cache)
{
    csp_json_end(&cache->json);
    fwrite(cache->text.data, 1, cache->text.len, stdout);
}

static int print_stats(struct cache *cache)
{
    csp_cache_each(cache->folder, count_file, cache);
    if (!cache->cli->json) {
        printf("folder   %s\nlimit    %" PRIu64 " bytes\nentries  %" PRIu64 "\nbytes    %" PRIu64
               "\n",
               cache->folder, cache->limit, cache->files, cache->bytes);
        for (size_t i = 0; i < cache->kinds.len; i++)
            printf("  %-12s %s, %s\n", cache->kinds.data[i].name,
                   CSP_COUNTED(cache->kinds.data[i].files, "entry"),
                   CSP_COUNTED(cache->kinds.data[i].bytes, "byte"));
        return CSP_EXIT_DONE;
    }
    struct csp_json *json = &cache->json;
    csp_json_string(json, "folder", cache->folder);
    csp_json_number(json, "limit", cache->limit);
    csp_json_number(json, "entries", cache->files);
    csp_json_number(json, "bytes", cache->bytes);
    csp_json_number(json, "unfinished", cache->unfinished);
    csp_json_object(json, "kinds");
    for (size_t i = 0; i < cache->kinds.len; i++) {
        csp_json_object(json, cache->kinds.data[i].name);
        csp_json_number(json, "entries", cache->kinds.data[i].files);
        csp_json_number(json, "bytes", cache->kinds.data[i].bytes);
        csp_json_end(json);
    }
    csp_json_end(json);
    end_json(cache);
    return CSP_EXIT_DONE;
}

static void list_file(void *user, const struct csp_cache_file *file)
{
    struct cache *cache = user;
    char used[32];
    struct tm utc;
    gmtime_r(&file->used, &utc);
    strftime(used, sizeof used, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (!cache->cli->json) {
        printf("%-12s %s %10" PRIu64 " %s%s\n", file->kind, used, file->size, file->name,
               file->unfinished ? " (unfinished)" : "");
        return;
    }
    csp_json_object(&cache->json, NULL);
    csp_json_string(&cache->json, "kind", file->kind);
    csp_json_string(&cache->json, "name", file->name);
    csp_json_string(&cache->json, "used", used);
    csp_json_number(&cache->json, "bytes", file->size);
    csp_json_bool(&cache->json, "unfinished", file->unfinished);
    csp_json_end(&cache->json);
}

static int print_list(struct cache *cache)
{
    if (cache->cli->json)
        csp_json_array(&cache->json, "entries");
    csp_cache_each(cache->folder, list_file, cache);
    if (cache->cli->json) {
        csp_json_end(&cache->json);
        end_json(cache);
    }
    return CSP_EXIT_DONE;
}

static void verify_file(void *user, const struct csp_cache_file *file)
{
    struct cache *cache = user;
    const char *what = NULL;
    cache->files++;
    if (file->unfinished)
        return;
    enum csp_cache_state state = csp_cache_check(file, &what);
    cache->other += state == CSP_CACHE_OTHER;
    /* A process that uses the store may have been quicker. */
    if (state != CSP_CACHE_DAMAGED || unlink(file->path) != 0)
        return;
    cache->damaged++;
    csp_warn(&cache->cli->diag, "%s %s: removed", file->path, what);
}

static int verify(struct cache *cache)
{
    csp_cache_each(cache->folder, verify_file, cache);
    if (cache->cli->json) {
        csp_json_number(&cache->json, "entries", cache->files);
        csp_json_number(&cache->json, "damaged", cache->damaged);
        csp_json_number(&cache->json, "of_other_versions", cache->other);
        end_json(cache);
    } else {
        csp_note(&cache->cli->diag,
                 "%s, of which %" PRIu64 " %s damaged and removed, and %" PRIu64
                 " %s another version's",
                 CSP_COUNTED(cache->files, "entry"), cache->damaged,
                 csp_by_count(cache->damaged, "was", "were"), cache->other,
                 csp_by_count(cache->other, "is", "are"));
    }
    return cache->damaged ? CSP_EXIT_QUALITY : CSP_EXIT_DONE;
}

static int remove_old(struct cache *cache, uint64_t limit)
{
    struct csp_cache_removed removed;
    csp_cache_prune(cache->folder, limit, &removed);
    if (cache->cli->json) {
        csp_json_number(&cache->json, "removed", removed.files);
        csp_json_number(&cache->json, "removed_bytes", removed.bytes);
        csp_json_number(&cache->json, "entries", removed.left_files);
        csp_json_number(&cache->json, "bytes", removed.left_bytes);
        end_json(cache);
    } else {
        csp_note(&cache->cli->diag, "%s of %s removed, %s of %s left",
                 CSP_COUNTED(removed.files, "file"), CSP_COUNTED(removed.bytes, "byte"),
                 CSP_COUNTED(removed.left_files, "file"), CSP_COUNTED(removed.left_bytes, "byte"));
    }
    return CSP_EXIT_DONE;
}

static int prune(struct cache *cache)
{
    return remove_old(cache, cache->limit);
}

static int clear(struct cache *cache)
{
    return remove_old(cache, 0);
}

static const struct action {
    const char *name;
    int (*run)(struct cache *cache);
} actions[] = {
    {"stats", print_stats}, {"list", print_list}, {"verify", verify},
    {"prune", prune},       {"clear", clear},
};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; name && i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(actions[i].name, name))
            return &actions[i];
    return NULL;
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    const struct action *action = find_action(argc > 1 ? argv[1] : NULL);
    struct cache cache = {.cli = cli, .limit = csp_store_limit(&cli->diag)};
    if (!action)
        return csp_cli_usage(cli, "it takes one of stats, list, verify, prune, clear");
    bool sized = argc == 4 && !strcmp(argv[2], "--size") && action->run == prune;
    if (sized ? !csp_parse_count(argv[3], &cache.limit) : argc > 2)
        return csp_cli_unexpected(cli, sized ? argv[3] : argv[2], NULL);
    cache.folder = csp_store_folder();
    if (!cache.folder)
        return (int)csp_error_exit(
            csp_fail(&cli->diag, CSP_ERR_ENV,
                     "there is no cache: CSPROF_CACHE is off, or neither it, XDG_CACHE_HOME nor "
                     "HOME is set"));
    cache.json.out = &cache.text;
    if (cli->json)
        csp_json_object(&cache.json, NULL);
    int code = action->run(&cache);
    for (size_t i = 0; i < cache.kinds.len; i++)
        free(cache.kinds.data[i].name);
    csp_vec_free(&cache.kinds);
    csp_buf_free(&cache.text);
    free(cache.folder);
    return code;
}

const struct csp_command csp_command_cache = {
    .name = "cache",
    .summary = "look after what is kept from one run to the next",
    .usage =
        "usage: csprof cache stats|list|verify|clear\n"
        "       csprof cache prune [--size BYTES]\n"
        "\n"
        "What takes long and depends on files alone is kept in a folder: $CSPROF_CACHE, or\n"
        "$XDG_CACHE_HOME/csprof, or ~/.cache/csprof. A second `csprof gen` of the same files "
        "takes\n"
        "its answer from there, and with one new recording among many only that one is decoded.\n"
        "Entries lie under hashes of all that they depend on, this very csprof among it, and have\n"
        "checksums: one that is damaged is told, removed and made again. Nothing that happens to\n"
        "the folder changes a result, and any number of processes may use it at once, also over a\n"
        "network. --no-cache, or CSPROF_CACHE=off, is for going without it.\n"
        "\n"
        "  stats   where it is, how much is in it and how much may be (5Gi; $CSPROF_CACHE_SIZE)\n"
        "  list    all entries: kind, when last used, bytes, name. Kinds are blocks (of code, as\n"
        "          walked by the decoder), recordings (what opening one told), aggregates (of one\n"
        "          recording each), profiles\n"
        "  verify  read all entries and remove those that are damaged; then the exit code is 5\n"
        "  prune   remove what was not used for longest, until no more is left than may be, or\n"
        "          than --size. Commands that add to it do so by themselves now and then\n"
        "  clear   remove all entries; other files in the folder are left alone\n"
        "\n"
        "exit codes: 0 done; 2 usage; 4 there is no cache; 5 entries were damaged.\n",
    .run = run,
};
