#include "emulate/journal.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

bool csp_journal_append(int fd, struct csp_journal_record *record, const void *tail,
                        size_t tail_size)
{
    static const char zeroes[8];
    record->padding = (uint16_t)(-tail_size & 7);
    record->size = (uint32_t)(sizeof *record + tail_size + record->padding);
    struct iovec parts[] = {
        {record, sizeof *record},
        {(void *)(uintptr_t)tail, tail_size},
        {(void *)(uintptr_t)zeroes, record->padding},
    };
    /* The file is opened for appending and is regular, so one call writes all or the disk is full.
     */
    ssize_t written;
    do
        written = writev(fd, parts, 3);
    while (written < 0 && errno == EINTR);
    if (written >= 0 && written < (ssize_t)record->size)
        errno = ENOSPC;
    return written == (ssize_t)record->size;
}

const struct csp_journal_record *csp_journal_next(const uint8_t *data, size_t size, size_t *offset)
{
    const struct csp_journal_record *record = (const void *)(data + *offset);
    if (size - *offset < sizeof *record || record->size < sizeof *record ||
        size - *offset < record->size)
        return NULL;
    *offset += record->size;
    return record;
}
