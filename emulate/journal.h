/* What an emulator saw, on its way to csprof.data.
 *
 * The plugin lives inside QEMU and may die with the program at any moment (exec, a fatal signal),
 * so it appends one record at a time, each with one write, to a file that `csprof collect` has open
 * too; collect turns it into csprof.data when QEMU has ended, however it ended
 * (emulate/journal_reader.h). Host byte order and layout: both ends are one build on one machine.
 */
#ifndef CSP_EMULATE_JOURNAL_H
#define CSP_EMULATE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processors that the emulator has: one for each trace ID from 0x10 to 0x6f. */
enum { CSP_EMULATE_CPUS = 0x60, CSP_EMULATE_TRACE_ID = 0x10 };

/* Where times begin, in nanoseconds, and the trace unit's counter then: a machine that has been up
 * for a while. The counter runs at 1 GHz. */
#define CSP_CLOCK_START UINT64_C(1000000000000)
#define CSP_COUNTER_START UINT64_C(3600000000000)

enum csp_journal_type {
    CSP_JOURNAL_THREAD, /* started; no tail */
    CSP_JOURNAL_EXIT,   /* thread ended; no tail */
    CSP_JOURNAL_COMM,   /* tail: the thread's name */
    CSP_JOURNAL_MAP,    /* file mapped executable at a, length b, file offset c; tail: path */
    CSP_JOURNAL_TRACE,  /* tail: bytes of the trace sink; AUX record of its own, its flags a */
    CSP_JOURNAL_RESUME, /* sample of the resume event: ip a, lr b, sp c; ip 0 was in the kernel */
    CSP_JOURNAL_PAUSE,  /* sample of the pause event: ip a, lr b, sp c; tail: u64 callchain */
    CSP_JOURNAL_SWITCH_IN, /* the thread runs on the processor, with its trace event; no tail */
    CSP_JOURNAL_SETTINGS,  /* tail: struct csp_emulate_settings; the first record */
    CSP_JOURNAL_TOTALS,    /* tail: struct csp_journal_totals; the last one counts */
    CSP_JOURNAL_TYPES
};

struct csp_journal_record {
    uint32_t size;    /* whole record, a multiple of 8 */
    uint16_t type;    /* enum csp_journal_type */
    uint16_t padding; /* bytes at the end that are not of the tail */
    uint32_t tid, cpu;
    uint64_t time; /* nanoseconds of the virtual clock */
    uint64_t a, b, c;
};

struct csp_journal_totals {
    uint64_t instructions;
    uint64_t windows;           /* opened */
    uint64_t trace_bytes;       /* as the trace units made them, without frames */
    uint64_t forks;             /* children, which are not recorded */
    uint64_t execs;             /* of the recorded process: it left the emulator */
    uint64_t unexplained;       /* jumps that neither an instruction nor a signal explains */
    uint64_t untraced_threads;  /* for want of a trace ID */
    uint64_t unsampled_windows; /* closed by the end of their thread, or a context switch */
    uint64_t frame_pointers;    /* stores of x29 at which the emulator's idea of it was checked */
    uint64_t frame_pointers_wrong;
    uint64_t signals;
    uint64_t system_calls_in_windows;
};

/* Appends a record; safe from any thread and against signals. `record->size` and `padding` are
 * filled in. False when writing failed (errno tells). */
bool csp_journal_append(int fd, struct csp_journal_record *record, const void *tail,
                        size_t tail_size);

/* The record at *offset and moves there past it; null at the end, or at a record that is cut off.
 */
const struct csp_journal_record *csp_journal_next(const uint8_t *data, size_t size, size_t *offset);

static inline const void *csp_journal_tail(const struct csp_journal_record *record)
{
    return record + 1;
}
static inline size_t csp_journal_tail_size(const struct csp_journal_record *record)
{
    return record->size - sizeof *record - record->padding;
}

#endif
