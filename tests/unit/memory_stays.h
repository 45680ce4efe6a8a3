/* Where nothing that is given back goes, nothing can be tested of it. */
#ifndef CSP_TESTS_MEMORY_STAYS_H
#define CSP_TESTS_MEMORY_STAYS_H

#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* qemu's user mode takes all advice about memory and follows none. */
static inline void skip_where_memory_stays(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), (off_t)page), 0);
    char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    assert_true(memory != MAP_FAILED);
    *memory = 1;
    madvise(memory, page, MADV_REMOVE);
    bool stays = *memory != 0;
    munmap(memory, page);
    fclose(file);
    if (!stays)
        return;
    print_message("skipped: memory that is given back stays here\n");
    skip();
}

#endif
