/* The records of a part of a file (records.c), as sections.c wants them. */
#ifndef CSP_PERFDATA_RECORDS_PRIVATE_H
#define CSP_PERFDATA_RECORDS_PRIVATE_H

#include "perfdata/reader_private.h"

struct csp_section {
    uint64_t begin, end; /* in the file, at records' beginnings */
    uint64_t limit; /* none of its records begins there or behind: `end`, where that is known */
    bool is_told;   /* nobody has looked whether records end where it ends */
};

/* In CSP_ORDER_FILE. What the ID_INDEX records say holds for all of them. */
struct csp_records *csp_records_open_section(const struct csp_perfdata *reader,
                                             const struct csp_section *section,
                                             const uint8_t *const *id_indexes,
                                             size_t id_index_count, struct csp_diag *diag);
/* Where the next record begins in the file. */
uint64_t csp_records_at(const struct csp_records *records);

/* Of a section that was read: whether there is something in it that all sections have to know, or
 * that is damaged. */
bool csp_records_concern_others(const struct csp_records *records);
/* Whether it ended where it was told to, without anything that concerns
 * others. */
bool csp_records_are_as_told(const struct csp_records *records);

/* Has memory bring what lies ahead of `at`: where a record ends only its beginning tells, which
 * would have to be waited for each time. `*ahead`: up to where that was done; null at first. */
static inline void csp_records_fetch(const uint8_t **ahead, const uint8_t *at)
{
    enum { AHEAD = 2048 /* some records: as long as memory takes to answer */, LINE = 64 };
    for (*ahead = *ahead > at ? *ahead : at; *ahead < at + AHEAD; *ahead += LINE)
        __builtin_prefetch(*ahead);
}

#endif
