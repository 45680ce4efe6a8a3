#include "base/big_vec.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* From here on blocks are mapped. */
enum { MUCH = 4 << 20 };

static bool is_mapped(size_t size)
{
    return size >= MUCH;
}

/* A file without a name and with so much room on its disk, or -1. */
static int open_room(size_t size)
{
    const char *folder = getenv("TMPDIR");
    int file = open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 && fallocate(file, 0, 0, (off_t)size)) {
        close(file);
        file = -1;
    }
    return file;
}

static void *map_room(size_t size)
{
    int file = open_room(size);
    int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, file, 0);
    if (file >= 0)
        close(file); /* the mapping keeps it */
    return block == MAP_FAILED ? csp_realloc_array(NULL, SIZE_MAX, SIZE_MAX) : block;
}

void *csp_big_resize(void *block, size_t before, size_t after)
{
    if (!is_mapped(before) && !is_mapped(after))
        return csp_realloc_array(block, after, 1);
    void *other = is_mapped(after) ? map_room(after) : csp_malloc(after);
    if (block)
        memcpy(other, block, before < after ? before : after);
    csp_big_free(block, before);
    return other;
}

void csp_big_free(void *block, size_t size)
{
    if (is_mapped(size))
        munmap(block, size);
    else
        free(block);
}
