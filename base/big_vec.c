#include "base/big_vec.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Mapped blocks that all together are not more than MEMORY_MAX are memory, in large pages where the
 * system has them, because each page of a file takes several times as long to be touched first. */
enum { MEMORY_MAX = 128 << 20, LARGE_PAGE = 2 << 20 };

/* What a mapped block lies behind. */
struct room {
    size_t size;     /* of the mapping */
    int file;        /* that it is of; -1: memory … */
    bool is_counted; /* … of that which may be taken */
} __attribute__((aligned(64)));

static size_t memory_taken; /* atomic */

static bool is_mapped(size_t size)
{
    return size >= CSP_BIG_MAPPED;
}

static struct room *room_of(void *block)
{
    return (struct room *)block - 1;
}

static bool take_memory(size_t size)
{
    if (size <= MEMORY_MAX &&
        __atomic_add_fetch(&memory_taken, size, __ATOMIC_RELAXED) <= MEMORY_MAX)
        return true;
    if (size <= MEMORY_MAX)
        __atomic_fetch_sub(&memory_taken, size, __ATOMIC_RELAXED);
    return false;
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

/* Whole large pages, or the kernel does not align a mapping for them. */
static size_t size_for(size_t wanted)
{
    return (wanted + sizeof(struct room) + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

static void *map_room(size_t wanted)
{
    size_t size = size_for(wanted);
    bool is_memory = take_memory(size);
    int file = is_memory ? -1 : open_room(size);
    int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    struct room *room = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, file, 0);
    if (room == MAP_FAILED)
        return csp_realloc_array(NULL, SIZE_MAX, SIZE_MAX);
    if (is_memory)
        madvise(room, size, MADV_HUGEPAGE);
    *room = (struct room){size, file, is_memory};
    return room + 1;
}

static void give_back(size_t size)
{
    __atomic_fetch_sub(&memory_taken, size, __ATOMIC_RELAXED);
}

/* Room for a block to grow where it is: in memory that is counted, or in its file. */
static bool take_more(const struct room *room, size_t size)
{
    if (room->file >= 0)
        return !fallocate(room->file, 0, 0, (off_t)size);
    return room->is_counted && take_memory(size - room->size);
}

/* Has a mapped block grow where its pages need not be copied; null when that cannot be. */
static void *grow(void *block, size_t wanted)
{
    struct room room = *room_of(block);
    size_t size = size_for(wanted);
    if (size == room.size)
        return block;
    if (size < room.size || !take_more(&room, size))
        return NULL;
    struct room *moved = mremap(room_of(block), room.size, size, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) {
        if (room.is_counted)
            give_back(size - room.size);
        return NULL;
    }
    if (room.is_counted)
        madvise(moved, size, MADV_HUGEPAGE);
    moved->size = size;
    return moved + 1;
}

void *csp_big_resize(void *block, size_t before, size_t after)
{
    if (!is_mapped(before) && !is_mapped(after))
        return csp_realloc_array(block, after, 1);
    void *grown = is_mapped(before) && is_mapped(after) ? grow(block, after) : NULL;
    if (grown)
        return grown;
    void *other = is_mapped(after) ? map_room(after) : csp_malloc(after);
    if (block)
        memcpy(other, block, before < after ? before : after);
    csp_big_free(block, before);
    return other;
}

/* Where in a mapping its large pages end that only have what is before `place` in the block. But
 * for the first page, which tells what the mapping is. */
static size_t end_of_pages(size_t place)
{
    size_t end = (place + sizeof(struct room)) / LARGE_PAGE * LARGE_PAGE;
    size_t first = (size_t)sysconf(_SC_PAGESIZE);
    return end > first ? end : first;
}

void csp_big_done(const void *block, size_t size, size_t before, size_t done)
{
    size_t begin = end_of_pages(before), end = end_of_pages(done);
    if (!is_mapped(size) || begin >= end)
        return;
    struct room *room = room_of((void *)(uintptr_t)block);
    madvise((char *)room + begin, end - begin, room->file >= 0 ? MADV_REMOVE : MADV_DONTNEED);
}

void csp_big_free(void *block, size_t size)
{
    if (!is_mapped(size)) {
        free(block);
        return;
    }
    struct room room = *room_of(block);
    if (room.is_counted)
        give_back(room.size);
    munmap(room_of(block), room.size);
    if (room.file >= 0)
        close(room.file);
}
