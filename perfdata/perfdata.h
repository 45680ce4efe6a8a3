/* Everything of this folder: perf.data files, read and written. */
#ifndef CSP_PERFDATA_PERFDATA_H
#define CSP_PERFDATA_PERFDATA_H

#include "perfdata/attr.h"
#include "perfdata/auxtrace.h"
#include "perfdata/copy.h"
#include "perfdata/reader.h"
#include "perfdata/record.h"
#include "perfdata/sample_record.h"
#include "perfdata/spaces.h"
#include "perfdata/writer.h"

#endif
