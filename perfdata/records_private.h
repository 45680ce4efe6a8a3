/* The records of a part of a file (records.c), as sections.c wants them. */
#ifndef CSP_PERFDATA_RECORDS_PRIVATE_H
#define CSP_PERFDATA_RECORDS_PRIVATE_H

#include "perfdata/reader_private.h"

struct csp_section {
    uint64_t begin, end; /* in the file, at records' beginnings */
    uint64_t ordinal;    /* of its first record */
};

/* In CSP_ORDER_FILE. What the ID_INDEX records say holds for all of them. */
struct csp_records *csp_records_open_section(const struct csp_perfdata *reader,
                                             const struct csp_section *section,
                                             const uint8_t *const *id_indexes,
                                             size_t id_index_count, struct csp_diag *diag);

#endif
