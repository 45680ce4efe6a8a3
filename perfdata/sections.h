/* The records of a file in sections, which several threads read at once, in file order.
 *
 * Where a record ends only its beginning tells, so somebody has to hop from one to the next:
 * whoever wants a section hops as far as its end, while others read those before it. A complete
 * file has an index of its records of trace: there sections can end, too, which is believed until
 * one that is read ends elsewhere. A thread that is alone reads a section right away, which finds
 * its end, too: hopping waits for memory, and while records are read others can be brought. Which
 * CPU an event was opened for (ID_INDEX) may be told further behind than a section that needs it:
 * then all have to be read once more.
 */
#ifndef CSP_PERFDATA_SECTIONS_H
#define CSP_PERFDATA_SECTIONS_H

#include "perfdata/reader.h"

struct csp_sections;

/* `is_alone`: one thread will open one after the other, and read each to its end. */
struct csp_sections *csp_sections_create(const struct csp_perfdata *reader, bool is_alone);
void csp_sections_destroy(struct csp_sections *sections);
/* There are no more than this. */
size_t csp_sections_most(const struct csp_sections *sections);
/* The records of section `number`, in CSP_ORDER_FILE; null behind the last one. For any thread, any
 * number of times. `diag` is told how the file ends if that is too early: in one section alone. */
struct csp_records *csp_sections_open(struct csp_sections *sections, size_t number,
                                      struct csp_diag *diag);
void csp_sections_close(struct csp_sections *sections, struct csp_records *records);
/* The first `count` sections were read, and their bytes will not be read soon again. */
void csp_sections_done(struct csp_sections *sections, size_t count);

/* When all sections were read: … */
/* whether all have to be read once more, because the index of the file was wrong, or because not
 * all that concerns others is in the first section. They will be found by hopping then. */
bool csp_sections_start_over(struct csp_sections *sections);
/* whether there are compressed records. Then these sections do not have all, and only
 * csp_records_open does. */
bool csp_sections_are_compressed(const struct csp_sections *sections);
/* whether an ID_INDEX came behind a section that was read without. Those that are opened from now
 * on know it. */
bool csp_sections_were_told_late(const struct csp_sections *sections);

#endif
