/* What each packet of ETMv4 and ETE does: its bytes, and beside them the elements that follow.
 *
 * The code lies at 0x1000:
 *     1000 nop            1014 b 1004
 *     1004 b.eq 1010      1018 isb
 *     1008 bl 1018        101c br x16
 *     100c ret            1020 eret
 *     1010 nop            1024 wfi
 *                         1028 b 1028
 */
#include "unit.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "decode/trace/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t code[] = {0xd503201f, 0x54000060, 0x94000004, 0xd65f03c0,
                                0xd503201f, 0x17fffffc, 0xd5033fdf, 0xd61f0200,
                                0xd69f03e0, 0xd503207f, 0x14000000};
enum { BASE = 0x1000 };

static struct csp_block_cache *blocks;

static bool find(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                 struct csp_code_region *region)
{
    (void)user, (void)source, (void)context_id;
    if (address - BASE >= sizeof code)
        return false;
    *region = (struct csp_code_region){BASE, BASE + sizeof code, BASE, blocks};
    return true;
}

static size_t fetch(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                    const uint8_t **bytes)
{
    (void)user, (void)source, (void)context_id, (void)address, (void)bytes;
    return 0;
}

/* As text: a range as `start-end`, `+` where its branch was taken. */
static int describe(void *user, const struct csp_element *elements, size_t count)
{
    struct csp_buf *text = user;
    for (size_t i = 0; i < count; i++) {
        const struct csp_element *e = &elements[i];
        if (text->len)
            csp_buf_add_char(text, ' ');
        switch (e->type) {
        case CSP_ELEMENT_RANGE:
            csp_buf_printf(text, "%" PRIx64 "-%" PRIx64 "%s", e->a, e->b, e->taken ? "+" : "");
            break;
        case CSP_ELEMENT_TRACE_ON:
            csp_buf_add_string(text, "on");
            break;
        case CSP_ELEMENT_SYNC:
            csp_buf_add_string(text, "sync");
            break;
        case CSP_ELEMENT_EXCEPTION:
            csp_buf_printf(text, e->has_address ? "exception:%u@%" PRIx64 : "exception:%u",
                           e->number, e->a);
            break;
        case CSP_ELEMENT_EXCEPTION_RETURN:
            csp_buf_add_string(text, "return");
            break;
        case CSP_ELEMENT_CONTEXT:
            csp_buf_printf(text, "el%u%s:%" PRIx64 ":%" PRIx64, e->el, e->secure ? "s" : "", e->a,
                           e->b);
            break;
        case CSP_ELEMENT_TIMESTAMP:
            csp_buf_printf(text, "time:%" PRIx64, e->a);
            break;
        case CSP_ELEMENT_NO_CODE:
            csp_buf_printf(text, "nocode@%" PRIx64, e->a);
            break;
        case CSP_ELEMENT_NO_PATH:
            csp_buf_printf(text, "nopath:%" PRIx64 ">%" PRIx64 ":%u", e->a, e->b, e->instructions);
            break;
        case CSP_ELEMENT_OVERFLOW:
            csp_buf_add_string(text, "overflow");
            break;
        case CSP_ELEMENT_DISCARD:
            csp_buf_add_string(text, "discard");
            break;
        case CSP_ELEMENT_BAD:
            csp_buf_printf(text, "bad@%" PRIx64, e->a);
            break;
        default:
            csp_buf_add_string(text, "other");
            break;
        }
    }
    return 0;
}

enum { ETE = 1, SPEC = 2, COMMIT = 4, STACK = 8, WAITS = 16, IDS = 32, COND = 64, NO_CCI = 128 };

static struct csp_trace_config config_of(unsigned flags)
{
    return (struct csp_trace_config){
        .protocol = flags & ETE ? CSP_PROTOCOL_ETE : CSP_PROTOCOL_ETMV4,
        .configr = 1 | (flags & STACK ? 1u << 12 : 0) | (flags & IDS ? 3u << 6 : 0) |
                   (flags & COND ? 1u << 8 : 0),
        .idr0 = 1 | 1u << 15 | 1u << 6 | (flags & COMMIT ? 0 : 1u << 29) |
                (flags & NO_CCI ? 0 : 1u << 7),
        .idr1 = flags & ETE     ? 0x4100fff3
                : flags & WAITS ? 0x4100f431 /* ETMv4.3 */
                                : 0x4100f421,
        .idr2 = 4u << 10 | 4u << 5 | 8 | (flags & WAITS ? 1u << 31 : 0),
        .idr8 = flags & SPEC ? 16 : 0,
        .devarch = flags & ETE ? 0x47735a13 : 0,
    };
}

static void add_hex(struct csp_buf *out, const char *hex)
{
    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        char digits[3] = {hex[0], hex[1], 0};
        csp_buf_add_u8(out, (uint8_t)strtoul(digits, NULL, 16));
        hex++;
    }
}

#define ASYNC "0000000000000000000000 80 "
#define INFO "0100 "
/* Address and context, long: 0x1000 at EL0, non-secure, 64 bit. */
#define AT_1000 "82 00 08 00 00 30 "
#define START ASYNC INFO "04 " AT_1000
/* How windows of an emulated program begin and end: context 7, virtual context 5, and the address
 * and context of the kernel's handler. */
#define OPEN ASYNC INFO "04 85 00 08 00 00 00 00 00 00 f0 05000000 07000000 "
#define HANDLER "85 20 00 08 80 00 80 ff ff 31 "

struct row {
    const char *name;
    unsigned flags;
    const char *bytes, *elements;
};

static const struct row rows[] = {
    /* Atoms. Block 1000-1008 ends in b.eq, 1008-100c in bl, 1018-101c in isb, 101c-1020 in br. */
    {"format 1: E", 0, START "f7", "sync on el0:0:0 1000-1008+"},
    {"format 1: N", 0, START "f6", "sync on el0:0:0 1000-1008"},
    {"format 2: NE", 0, START "da", "sync on el0:0:0 1000-1008 1008-100c+"},
    {"format 2: EE", 0, START "db", "sync on el0:0:0 1000-1008+ 1010-1018+"},
    {"format 3: NEE: over the isb", 0, START "fe",
     "sync on el0:0:0 1000-1008 1008-100c+ 1018-101c"},
    {"format 4: NEEE: through the br", 0, START "dc",
     "sync on el0:0:0 1000-1008 1008-100c+ 1018-101c 101c-1020+"},
    {"format 4: NENE: what follows the br is not known", 0, START "f6 f7 de",
     "sync on el0:0:0 1000-1008 1008-100c+ 1018-101c 101c-1020+"},
    {"format 5: NEEEE: the fifth has no address", 0, START "f5",
     "sync on el0:0:0 1000-1008 1008-100c+ 1018-101c 101c-1020+"},
    {"format 5: ENENE", 0, START "d7",
     "sync on el0:0:0 1000-1008+ 1010-1018 1018-101c 101c-1020 1020-1024+"},
    {"format 6: EEE then N", 0, START "e0",
     "sync on el0:0:0 1000-1008+ 1010-1018+ 1004-1008+ 1010-1018"},
    {"format 6: EEE then E", 0, START "c0",
     "sync on el0:0:0 1000-1008+ 1010-1018+ 1004-1008+ 1010-1018+"},

    /* Addresses. */
    {"long, 32 bit, IS0", 0, START "9a 06 08 00 00 f7", "sync on el0:0:0 1018-101c"},
    {"long, 64 bit: no code there", 0, START "9d 06 08 00 00 01 00 00 00 f7",
     "sync on el0:0:0 nocode@100001018"},
    {"short, one byte: bits 8 to 2", 0, START "95 06 f7", "sync on el0:0:0 1018-101c"},
    {"short, two bytes: bits 16 to 2", 0, START "95 86 08 f7", "sync on el0:0:0 1018-101c"},
    {"exact match: entry 0", 0, START "90 f7", "sync on el0:0:0 1000-1008+"},
    {"exact match: entry 1 after another address", 0, START "95 06 91 f7",
     "sync on el0:0:0 1000-1008+"},
    {"exact match: entry 2 after two", 0, START "95 06 95 07 92 f7", "sync on el0:0:0 1000-1008+"},
    {"IS1 means nothing to 64-bit code but where its bits are", 0, START "9b 0c 10 00 00 f7",
     "sync on el0:0:0 1018-101c"},
    {"what atoms do without an address is skipped until one comes", 0,
     START "95 07 f7 f7 f7 95 06 f7", "sync on el0:0:0 101c-1020+ 1018-101c"},

    /* Contexts. */
    {"the same as before", 0, START "80 f7", "sync on el0:0:0 1000-1008+"},
    {"another level", 0, START "81 31 f7", "sync on el0:0:0 el1:0:0 1000-1008+"},
    {"secure", 0, START "81 11 f7", "sync on el0:0:0 el1s:0:0 1000-1008+"},
    {"with context and virtual context ID", IDS, START "81 f0 02000000 01010000 f7",
     "sync on el0:0:0 el0:101:2 1000-1008+"},
    {"IDs that are left out stay", IDS, START "81 f0 02000000 01010000 81 30 f7",
     "sync on el0:0:0 el0:101:2 el0:101:2 1000-1008+"},
    {"with an address", IDS, START "85 06 08 00 00 00 00 00 00 b1 07000000 f7",
     "sync on el0:0:0 el1:7:0 1018-101c"},
    {"32-bit code is not followed", 0, START "82 00 08 00 00 20 f7 f7",
     "sync on el0:0:0 el0:0:0 nocode@1000"},

    /* Exceptions. */
    {"between blocks, at the next instruction", 0, START "f6 06 1d 95 02",
     "sync on el0:0:0 1000-1008 exception:14@1008"},
    {"within a block", 0, START "06 05 95 01", "sync on el0:0:0 1000-1004 exception:2@1004"},
    {"its address is where the branch before went", 0, START "95 07 f7 06 5c 95 06",
     "sync on el0:0:0 101c-1020+ exception:14@1018"},
    {"ten bits of type", 0, START "06 9d 01 90", "sync on el0:0:0 exception:46@1000"},
    {"with a context", 0, START "06 1d 81 31 90", "sync on el0:0:0 el1:0:0 exception:14@1000"},
    {"somewhere behind code that is missing: told of that once", 0,
     START "9d 06 08 00 00 01 00 00 00 f7 06 05 95 08",
     "sync on el0:0:0 nocode@100001018 exception:2@100001020"},
    {"within code that is missing", 0, START "9d 06 08 00 00 01 00 00 00 06 05 95 08",
     "sync on el0:0:0 nocode@100001018 exception:2@100001020"},
    {"without its address", 0, START "06 1d f7", "sync on el0:0:0 bad@17"},
    {"ETMv4: return", 0, START "95 08 f7 07 95 00 f7",
     "sync on el0:0:0 1020-1024+ return 1000-1008+"},
    {"ETE: the return is in the branch", ETE, START "95 08 f7 95 00 f7",
     "sync on el0:0:0 1020-1024+ return 1000-1008+"},
    {"ETE: no such packet", ETE, START "07", "bad@15"},
    {"ETE: PE reset has no address", ETE, START "06 00 70", "sync on el0:0:0 exception:0"},

    /* Whole windows. */
    {"a window", IDS, OPEN "f7 06 1d 95 04 " HANDLER "02 85 01",
     "sync on el0:7:5 1000-1008+ exception:14@1010 time:85"},
    {"which goes on in its handler", IDS, OPEN "f7 06 1d 95 04 " HANDLER "02 85 01 f7",
     "sync on el0:7:5 1000-1008+ exception:14@1010 el1:7:5 time:85 nocode@ffff800080080080"},
    {"… or elsewhere", IDS, OPEN "f7 06 1d 95 04 " HANDLER "02 85 01 95 06 f7",
     "sync on el0:7:5 1000-1008+ exception:14@1010 el1:7:5 time:85 nocode@ffff800080080018"},
    {"without a handler", IDS, OPEN "f7 06 1d 95 04 02 85 01",
     "sync on el0:7:5 1000-1008+ exception:14@1010 time:85"},
    {"… and on", IDS, OPEN "f7 06 1d 95 04 02 85 01 f7",
     "sync on el0:7:5 1000-1008+ exception:14@1010 time:85 1010-1018+"},
    {"without a time", IDS, OPEN "f7 06 1d 95 04 " HANDLER,
     "sync on el0:7:5 1000-1008+ exception:14@1010"},
    {"with two", IDS, OPEN "f7 06 1d 95 04 " HANDLER "02 85 01 02 86 01",
     "sync on el0:7:5 1000-1008+ exception:14@1010 time:85 time:86"},
    {"another behind it", IDS,
     OPEN "f7 06 1d 95 04 " HANDLER "02 85 01 " OPEN "f6 06 1d 95 02 02 86 01",
     "sync on el0:7:5 1000-1008+ exception:14@1010 el1:7:5 time:85 "
     "sync on el0:7:5 1000-1008 exception:14@1008 time:86"},
    {"another before its atoms", IDS, OPEN OPEN "f7 02 85 01",
     "sync on el0:7:5 sync on el0:7:5 1000-1008+ time:85"},
    {"lost trace behind it", IDS, OPEN "f7 06 1d 95 04 " HANDLER "02 85 01 0005 " OPEN "f7",
     "sync on el0:7:5 1000-1008+ exception:14@1010 time:85 overflow sync on el0:7:5 1000-1008+"},
    {"that begins with more to commit", SPEC | IDS,
     ASYNC "01 05 00 01 04 85 00 08 00 00 00 00 00 00 f0 05000000 07000000 f7 2d 02",
     "sync on el0:7:5 1000-1008+"},
    {"ETE: an exception without an address, and what looks like one", ETE | IDS,
     OPEN "f7 06 30 95 04 f7 f7 f7",
     "sync on el0:7:5 1000-1008+ other on 1010-1018+ 1004-1008+ 1010-1018+"},

    /* Time. */
    {"timestamp", 0, START "02 85 01 f7", "sync on el0:0:0 time:85 1000-1008+"},
    {"low bits replace those of the one before", 0, START "02 85 81 01 02 03 f7",
     "sync on el0:0:0 time:4085 time:4083 1000-1008+"},
    {"nine bytes: all 64 bits", 0, START "02 81 80 80 80 80 80 80 80 ff f7",
     "sync on el0:0:0 time:ff00000000000001 1000-1008+"},
    {"with a cycle count", 0, START "03 05 81 01 f7", "sync on el0:0:0 time:5 1000-1008+"},
    {"marker", ETE, START "88 02 05 f7", "sync on el0:0:0 other time:5 1000-1008+"},
    {"cycle counts: formats 1, 2 and 3", 0, START "0e 05 0f 0c 15 1f f7",
     "sync on el0:0:0 other other other other 1000-1008+"},

    /* Speculation, 16 deep. */
    {"nothing is certain before it is committed", SPEC, START "f6 f7", ""},
    {"commit", SPEC, START "f6 f7 2d 01", "sync on el0:0:0 1000-1008"},
    {"commit by cycle count, format 1", SPEC | COMMIT, START "f6 f7 0e 02 05",
     "sync on el0:0:0 1000-1008 1008-100c+ other"},
    {"commit by cycle count, format 2", SPEC | COMMIT, START "f6 f7 0c 15",
     "sync on el0:0:0 1000-1008 1008-100c+ other"},
    {"format 2, counted from the deepest", SPEC | COMMIT, START "f6 f7 0d 15",
     "sync on el0:0:0 1000-1008 1008-100c+ other"},
    {"commit by cycle count, format 3", SPEC | COMMIT, START "f6 f7 14",
     "sync on el0:0:0 1000-1008 1008-100c+ other"},
    {"a unit that counts no cycles has no commit mode 1", SPEC | NO_CCI, START "f6 f7 0e 02 05",
     "sync on el0:0:0 1000-1008 1008-100c+ other"},
    {"cancel", SPEC, START "f6 f7 f7 2e 02 2d 01", "sync on el0:0:0 1000-1008"},
    {"cancel and mispredict", SPEC, START "f6 f7 2f 01 2d 01", "sync on el0:0:0 1000-1008+"},
    {"mispredict", SPEC, START "f6 30 2d 01", "sync on el0:0:0 1000-1008+"},
    {"mispredict drops the addresses of the wrong path", SPEC, START "f6 95 07 30 2d 01",
     "sync on el0:0:0 1000-1008+"},
    {"E, then mispredict", SPEC, START "31 2d 01", "sync on el0:0:0 1000-1008"},
    {"EE, then mispredict", SPEC, START "32 2d 02", "sync on el0:0:0 1000-1008+ 1010-1018"},
    {"N, then mispredict", SPEC, START "33 2d 01", "sync on el0:0:0 1000-1008+"},
    {"cancel one, then mispredict", SPEC, START "f6 f7 34 2d 01", "sync on el0:0:0 1000-1008+"},
    {"E, cancel two, then mispredict", SPEC, START "f6 f7 39 2d 01", "sync on el0:0:0 1000-1008+"},
    {"more committed than there is", SPEC, START "f6 2d 02", "sync on el0:0:0 1000-1008 bad@16"},
    {"a unit that does not speculate takes nothing back", 0, START "f6 f7 36",
     "sync on el0:0:0 1000-1008 1008-100c+ bad@17"},
    {"nor does it commit", 0, START "f6 f7 2d 01", "sync on el0:0:0 1000-1008 1008-100c+ bad@17"},
    {"nor has anything been speculative", 0, ASYNC "01 05 01 01 " AT_1000 "f7", "bad@c"},
    {"discard", SPEC, START "f6 0003 " ASYNC, "discard"},
    {"overflow", SPEC, START "f6 0005 " ASYNC, "overflow"},
    {"time survives a discard", SPEC, START "f6 0205 0003 " ASYNC, "time:5 discard"},

    /* The return stack. */
    {"a call, an isb, and a br that goes where the stack says", STACK, START "f6 ff f7",
     "sync on el0:0:0 1000-1008 1008-100c+ 1018-101c 101c-1020+ 100c-1010+"},
    {"an address instead", STACK, START "f6 ff 95 00 f7",
     "sync on el0:0:0 1000-1008 1008-100c+ 1018-101c 101c-1020+ 1000-1008+"},
    {"an empty stack cannot tell", STACK, START "95 07 f7 f7", "sync on el0:0:0 101c-1020+ bad@18"},

    /* Q: instructions ran, without atoms. */
    {"count and short address", 0, START "a5 02 02 f7", "sync on el0:0:0 1000-1008+ 1008-100c+"},
    {"count and long address", 0, START "aa 06 08 00 00 02 f7",
     "sync on el0:0:0 1000-1008+ 1018-101c"},
    {"count and address to match", 0, START "95 06 a1 02 f7",
     "sync on el0:0:0 1018-1020+ 1000-1008+"},
    {"count, and an address packet", 0, START "ac 02 95 02 f7",
     "sync on el0:0:0 1000-1008+ 1008-100c+"},
    {"neither", 0, START "af 95 02 f7", "sync on el0:0:0 nopath:1000>1008:0 1008-100c+"},
    {"reserved", 0, START "a3", "bad@15"},

    /* ETE. */
    {"source address, long: a branch there was taken", ETE, START "b6 01 08 00 00 f7",
     "sync on el0:0:0 1000-1008+ 1010-1018+"},
    {"source address, short, past a branch not taken", ETE, START "b4 02 f7",
     "sync on el0:0:0 1000-100c+ 1018-101c"},
    {"source address to match", ETE, START "95 07 b0", "sync on el0:0:0 101c-1020+"},
    {"source address, 64 bit", ETE, START "b8 07 08 00 00 00 00 00 00",
     "sync on el0:0:0 1000-1020+"},
    {"source address behind a hole", ETE, START "9a 00 10 00 00 b6 07 08 00 00 f7",
     "sync on el0:0:0 101c-1020+"},
    {"source address, from where no code is known", ETE, START "9a 00 00 00 00 b6 07 08 00 00",
     "sync on el0:0:0 nocode@0 101c-1020+"},
    {"ETMv4 has none", 0, START "b4 02", "bad@15"},
    {"instrumentation", ETE, START "09 01 0102030405060708 f7", "sync on el0:0:0 other 1000-1008+"},
    {"transaction: start, failure, commit", ETE, START "0a 06 30 70 0b f7",
     "sync on el0:0:0 other other other 1000-1008+"},

    /* The rest. */
    {"event", 0, START "71 f7", "sync on el0:0:0 other 1000-1008+"},
    {"ignore is of ETMv4.3", 0, START "70", "bad@15"},
    {"ignore", ETE, START "70 70 f7", "sync on el0:0:0 1000-1008+"},
    {"trace on again is no enabling", 0, START "f7 04 " AT_1000 "f7",
     "sync on el0:0:0 1000-1008+ on el0:0:0 1000-1008+"},
    {"a periodic sync is not told", 0, START "f7 " ASYNC INFO AT_1000 "f7",
     "sync on el0:0:0 1000-1008+ el0:0:0 1000-1008+"},
    {"wfi is a waypoint", WAITS, START "95 09 f7 f7", "sync on el0:0:0 1024-1028 1028-102c+"},
    {"wfi is none", 0, START "95 09 f7 f7", "sync on el0:0:0 1024-102c+ 1028-102c+"},
    {"conditional instructions are passed over", COND,
     START "40 43 44 48 4c 5555 6805 05 6c05 6d05 6e05 f7", "sync on el0:0:0 1000-1008+"},
    {"conditional instructions that are not traced", 0, START "40", "bad@15"},
    {"data synchronisation without data trace", 0, START "20", "bad@15"},
    {"function return is of M-profile", 0, START "05", "bad@15"},
    {"reserved", 0, START "f7 08 f7 " START "f7",
     "sync on el0:0:0 1000-1008+ bad@16 sync on el0:0:0 1000-1008+"},
    {"an A-Sync that goes wrong", 0, START "00 00 01 " START "f7",
     "bad@15 sync on el0:0:0 1000-1008+"},
    {"not synchronised yet: no bytes mean anything", 0, "f7 95 06 00 80 " START "f7",
     "sync on el0:0:0 1000-1008+"},
    {"an A-Sync with more zeroes before it", 0, "00 00 00 " START "f7",
     "sync on el0:0:0 1000-1008+"},
    {"trace info with every field", 0, ASYNC "01 1f 01 02 00 16 05 04 " AT_1000 "f7",
     "sync on el0:0:0 1000-1008+"},
    {"a packet that is cut off", 0, START "f7 9a 06", "sync on el0:0:0 1000-1008+"},
};

enum { IN_BYTES = 0 /* each by itself */ };

/* In two pieces, the first of `cut` bytes. Returns how many there are. */
static size_t decode(const struct row *row, size_t cut, struct csp_buf *text)
{
    struct csp_trace_config config = config_of(row->flags);
    struct csp_code_memory memory = {fetch, find, NULL, NULL};
    struct csp_engine *engine;
    struct csp_buf bytes = {0};
    add_hex(&bytes, row->bytes);
    assert_int_equal(
        csp_engine_create_native(&engine, &config, 1, false, &memory, describe, text, NULL), 0);
    for (size_t i = 0, size; i < bytes.len; i += size) {
        size = cut == IN_BYTES ? 1 : i < cut && cut < bytes.len ? cut : bytes.len - i;
        csp_engine_feed(engine, (const uint8_t *)bytes.data + i, size);
    }
    csp_engine_flush(engine);
    assert_int_equal(csp_engine_stats(engine).bytes, bytes.len);
    csp_engine_destroy(engine);
    size_t size = bytes.len;
    csp_buf_free(&bytes);
    return size;
}

static void each_packet_does_what_its_row_says(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t cut = IN_BYTES, size = 1; cut <= size; cut++) {
            struct csp_buf text = {0};
            size = decode(&rows[i], cut, &text);
            const char *got = text.len ? text.data : "";
            if (strcmp(got, rows[i].elements)) {
                print_error("%s: %s, cut at %zu\n    expected %s\n    decoded  %s\n", rows[i].name,
                            rows[i].bytes, cut, rows[i].elements, got);
                wrong++;
            }
            csp_buf_free(&text);
        }
    }
    assert_int_equal(wrong, 0);
}

static void loads_stores_and_data_are_refused(void **state)
{
    (void)state;
    struct csp_code_memory memory = {fetch, find, NULL, NULL};
    struct csp_engine *engine;
    struct csp_trace_config config = config_of(0);
    config.configr |= 1u << 1;
    assert_int_equal(
        csp_engine_create_native(&engine, &config, 1, false, &memory, describe, NULL, NULL),
        -CSP_ERR_UNSUPPORTED);
}

static int setup(void **state)
{
    (void)state;
    blocks = csp_block_cache_create(code, sizeof code);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    csp_block_cache_destroy(blocks);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_packet_does_what_its_row_says),
        cmocka_unit_test(loads_stores_and_data_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
