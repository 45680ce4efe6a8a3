#include "cache/care.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "cache/entry.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HOUR = 3600,
    DIGITS = 30,                /* of a file's name */
    UNFINISHED = DIGITS + 1 + 6 /* likewise, as csp_output_open calls it: name.XXXXXX */
};

static bool is_whole_read(int fd, void *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t got = read(fd, (char *)bytes + at, size - at);
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* The clock may have been wrong when the entry was used: any other time than now is set right. */
static void touch(int fd, const struct stat *status)
{
    if (status->st_mtime != time(NULL))
        futimens(fd, NULL);
}

void *csp_cache_read(const char *path, bool used, size_t *size)
{
    struct stat status;
    void *bytes = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        *size = (size_t)status.st_size;
        bytes = csp_malloc(*size + 1);
        /* Cut meanwhile: what is there is checked by who asked. */
        if (!is_whole_read(fd, bytes, *size))
            *size = 0;
        else if (used)
            touch(fd, &status);
    }
    close(fd);
    return bytes;
}

/* ---- walking ---- */

static bool is_hex(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isdigit((unsigned char)text[i]) && !(text[i] >= 'a' && text[i] <= 'f'))
            return false;
    return true;
}

static bool is_kind(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz");
    return length && !name[length];
}

static bool is_part(const char *name)
{
    return strlen(name) == 2 && is_hex(name, 2);
}

static bool is_file(const char *name)
{
    size_t length = strlen(name);
    return (length == DIGITS || (length == UNFINISHED && name[DIGITS] == '.')) &&
           is_hex(name, DIGITS);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

struct walk {
    csp_cache_file_fn *each;
    void *user;
    const char *kind, *part;
    time_t now;
};

static void visit_file(struct walk *walk, const char *path, const char *base)
{
    struct stat status;
    char name[DIGITS + 3];
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    snprintf(name, sizeof name, "%.2s%.30s", walk->part, base);
    struct csp_cache_file file = {
        .path = path,
        .kind = walk->kind,
        .name = name,
        .size = (uint64_t)status.st_size,
        .used = status.st_mtime < walk->now ? status.st_mtime : walk->now,
        .unfinished = strlen(base) == UNFINISHED,
    };
    /* Somebody may be writing it. */
    if (file.unfinished && labs((long)(walk->now - status.st_mtime)) < HOUR)
        return;
    walk->each(walk->user, &file);
}

static void walk_folder(struct walk *walk, const char *folder, int depth)
{
    static bool (*const names[])(const char *) = {is_kind, is_part, is_file};
    struct dirent **list;
    int count = scandir(folder, &list, NULL, by_name);
    for (int i = 0; i < count; i++) {
        const char *name = list[i]->d_name;
        if (names[depth](name)) {
            char *path = csp_asprintf("%s/%s", folder, name);
            if (depth == 2) {
                visit_file(walk, path, name);
            } else {
                *(depth ? &walk->part : &walk->kind) = name;
                walk_folder(walk, path, depth + 1);
            }
            free(path);
        }
        free(list[i]);
    }
    if (count >= 0)
        free(list);
}

void csp_cache_each(const char *folder, csp_cache_file_fn *each, void *user)
{
    struct walk walk = {.each = each, .user = user, .now = time(NULL)};
    walk_folder(&walk, folder, 0);
}

/* ---- pruning ---- */

struct old_file {
    char *path;
    uint64_t size;
    time_t used;
};

struct pruning {
    CSP_VEC(struct old_file) files;
    struct csp_cache_removed removed;
};

static void take_away(struct pruning *pruning, const char *path, uint64_t size)
{
    if (unlink(path) != 0)
        return;
    pruning->removed.files++;
    pruning->removed.bytes += size;
}

static void note_file(void *user, const struct csp_cache_file *file)
{
    struct pruning *pruning = user;
    if (file->unfinished) {
        take_away(pruning, file->path, file->size);
        return;
    }
    struct old_file old = {csp_strdup(file->path), file->size, file->used};
    csp_vec_push(&pruning->files, old);
    pruning->removed.left_files++;
    pruning->removed.left_bytes += file->size;
}

static int oldest_first(const void *a, const void *b)
{
    const struct old_file *x = a, *y = b;
    if (x->used != y->used)
        return x->used < y->used ? -1 : 1;
    return strcmp(x->path, y->path);
}

void csp_cache_prune(const char *folder, uint64_t limit, struct csp_cache_removed *removed)
{
    struct pruning pruning = {0};
    csp_cache_each(folder, note_file, &pruning);
    if (pruning.files.len)
        qsort(pruning.files.data, pruning.files.len, sizeof *pruning.files.data, oldest_first);
    for (size_t i = 0; i < pruning.files.len; i++) {
        struct old_file *file = &pruning.files.data[i];
        if (pruning.removed.left_bytes > limit) {
            take_away(&pruning, file->path, file->size);
            pruning.removed.left_bytes -= file->size;
            pruning.removed.left_files--;
        }
        free(file->path);
    }
    csp_vec_free(&pruning.files);
    if (removed)
        *removed = pruning.removed;
}

/* ---- checking ---- */

enum csp_cache_state csp_cache_check(const struct csp_cache_file *file, const char **what)
{
    size_t size;
    void *allocated = NULL, *bytes = csp_cache_read(file->path, false, &size);
    struct csp_entry entry = {0};
    char name[CSP_ENTRY_NAME + 1];
    *what = bytes ? csp_entry_check(bytes, size, &entry) : "cannot be read";
    if (!*what && entry.header) {
        csp_entry_name(entry.key, entry.header->key_size, name);
        if (strncmp(name, file->name, 2) != 0 || strcmp(name + 3, file->name + 2) != 0)
            *what = "belongs to something else";
        else if (!csp_entry_contents(&entry, &allocated))
            *what = "is damaged: it cannot be decompressed";
    }
    enum csp_cache_state state = *what          ? CSP_CACHE_DAMAGED
                                 : entry.header ? CSP_CACHE_WHOLE
                                                : CSP_CACHE_OTHER;
    free(allocated);
    free(bytes);
    return state;
}
