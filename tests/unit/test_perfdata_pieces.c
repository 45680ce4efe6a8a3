/* A file that is read in any order is never there as a whole, and not at all in the end. */
#include "memory_stays.h"
#include "unit.h"

#include "perfdata/pieces.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { KIB = 1024, PIECE = 256 * KIB, PIECES = 16, RECORD = 64 * KIB };

/* How much of a mapping is in this process, in KiB: "Rss" of /proc/self/smaps. */
static unsigned resident(const struct csp_file *file)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long long start, end;
    unsigned kib = 0, sum = 0;
    bool within = false;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx ", &start, &end) == 2)
            within = start >= (uintptr_t)file->data && end <= (uintptr_t)file->data + file->size;
        else if (within && sscanf(line, "Rss: %u kB", &kib) == 1)
            sum += kib;
    }
    fclose(maps);
    return sum;
}

static void make_file(char *path)
{
    static const char zeroes[PIECE];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (int i = 0; i < PIECES; i++)
        assert_int_equal(write(fd, zeroes, sizeof zeroes), sizeof zeroes);
    close(fd);
}

/* Reads all records, in an order of which `stride` tells how far apart neighbours are. Returns how
 * much was there at most. */
static unsigned read_all(struct csp_pieces *pieces, unsigned stride)
{
    enum { RECORDS = PIECES * PIECE / RECORD };
    unsigned most = 0;
    for (unsigned i = 0; i < RECORDS; i++) {
        uint64_t offset = (uint64_t)(i * stride % RECORDS) * RECORD;
        csp_pieces_read(pieces, offset);
        assert_int_equal(pieces->file->data[offset + 8], 0);
        unsigned now = resident(pieces->file);
        most = now > most ? now : most;
    }
    return most;
}

static void pieces_are_given_back(void **state)
{
    char path[] = "/tmp/csprof-pieces-XXXXXX";
    struct csp_file file;
    struct csp_pieces pieces;
    (void)state;
    skip_where_memory_stays();
    make_file(path);
    assert_int_equal(csp_file_map(&file, path, NULL), 0);
    csp_pieces_begin(&pieces, &file);
    for (uint64_t offset = 0; offset < file.size; offset += RECORD)
        csp_pieces_add(&pieces, offset);
    assert_true(read_all(&pieces, 1) < PIECES * PIECE / KIB); /* in the order of the file */
    csp_pieces_rewind(&pieces);
    assert_int_equal(resident(&file), 0);
    read_all(&pieces, 37); /* here and there */
    csp_pieces_rewind(&pieces);
    assert_int_equal(resident(&file), 0);
    csp_pieces_free(&pieces);
    csp_file_unmap(&file);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
