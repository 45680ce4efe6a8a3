/* What `csprof collect --emulate` asks of the plugin. The launcher writes the struct to a file
 * descriptor that QEMU inherits, so that neither the environment nor the arguments of the program
 * change. Both sides come from one build: the layout is no interface. */
#ifndef CSP_EMULATE_SETTINGS_H
#define CSP_EMULATE_SETTINGS_H

#include <stdint.h>

/* TRCCCCTLR, when cycles are counted: Linux's default. */
enum { CSP_EMULATE_CYCLE_THRESHOLD = 0x100 };

enum csp_emulate_protocol { CSP_EMULATE_ETMV4, CSP_EMULATE_ETE };

struct csp_emulate_settings {
    uint32_t size;                 /* of this struct: catches a plugin of another build */
    uint32_t protocol;             /* enum csp_emulate_protocol */
    uint32_t strategy;             /* enum csp_pmu_strategy */
    uint32_t whole_blocks;         /* QEMU runs several instructions a block */
    uint32_t configr;              /* TRCCONFIGR: what the trace tells */
    uint64_t window, period, skid; /* cycles */
    uint64_t timestamp_interval;   /* nanoseconds; 0: only where hardware always has one */
    uint64_t cover; /* each instruction ends so many windows before one goes on past it; 0: no */
    uint64_t sink_size; /* bytes; a multiple of the frame's 16 */
    uint64_t seed;
    int32_t journal; /* file descriptors */
    int32_t truth;   /* -1: none */
    /* Addresses for `cover`, hexadecimal, one a line: at no others do windows end early, and there
     * the next one opens at once. -1: all. */
    int32_t cover_at;
};

#endif
