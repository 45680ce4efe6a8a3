/* Carrying over what a recording says into another one that is being written. */
#ifndef CSP_PERFDATA_COPY_H
#define CSP_PERFDATA_COPY_H

#include "perfdata/reader.h"
#include "perfdata/writer.h"

/* Host, command line, build-ids: the features that both the reader and the writer know. */
void csp_copy_info(struct csp_writer *writer, const struct csp_perfdata_info *info);
/* The sample id fields of a record, of the same attribute. */
struct csp_writer_id csp_copy_id(const struct csp_record *record);
/* Records of what was mapped and which tasks there were: MMAP, MMAP2, COMM, FORK, EXIT. False, and
 * nothing is written, of any other. */
bool csp_copy_task_record(struct csp_writer *writer, const struct csp_writer_id *id,
                          const struct csp_record *record);

#endif
