#include "emulate/machine/etm4_resources.h"

#include <stddef.h>

enum {
    EVENT_PAIR = 1 << 7,
    SELECTOR_INVERT = 1 << 20,
    SELECTOR_PAIR_INVERT = 1 << 21,
    GROUP_COUNTERS_AND_SEQUENCER = 2,
    COUNTER_CHAIN = 1 << 17,
    COUNTER_RELOAD_SELF = 1 << 16,
};

static bool selected(const struct csp_etm4_resources *resources, unsigned number)
{
    if (number < 2 || number >= CSP_ETM4_SELECTORS)
        return number == 1;
    uint32_t control = resources->selectors[number];
    uint32_t active = 0;
    if ((control >> 16 & 15) == GROUP_COUNTERS_AND_SEQUENCER) {
        for (unsigned i = 0; i < CSP_ETM4_COUNTERS; i++)
            active |= (uint32_t)(resources->counters[i].value == 0) << i;
        active |= 1u << (4 + resources->sequencer);
    }
    return ((active & control & 0xffff) != 0) != ((control & SELECTOR_INVERT) != 0);
}

bool csp_etm4_event(const struct csp_etm4_resources *resources, unsigned event)
{
    if (!(event & EVENT_PAIR))
        return selected(resources, event & 31);
    unsigned even = (event & 15) * 2;
    bool both = selected(resources, even) && selected(resources, even + 1);
    bool invert = even >= 2 && even < CSP_ETM4_SELECTORS &&
                  (resources->selectors[even] & SELECTOR_PAIR_INVERT);
    return both != invert;
}

/* What one counter does in a cycle in which nothing else changes. */
struct motion {
    bool reload, count;
};

static struct motion counter_motion(const struct csp_etm4_resources *resources, unsigned i,
                                    const struct motion *lower)
{
    const struct csp_etm4_counter *counter = &resources->counters[i];
    struct motion motion = {
        .reload = csp_etm4_event(resources, counter->control >> 8 & 0xff),
        .count = csp_etm4_event(resources, counter->control & 0xff),
    };
    /* Chained: counts when the counter below is reloaded. */
    if (lower && (counter->control & COUNTER_CHAIN))
        motion.count = lower->reload;
    if (motion.count && counter->value == 0) {
        motion.count = false;
        if (counter->control & COUNTER_RELOAD_SELF)
            motion.reload = true;
    }
    return motion;
}

/* Returns true when the state changed. */
static bool move_sequencer(struct csp_etm4_resources *resources)
{
    unsigned state = resources->sequencer, old = state;
    if (csp_etm4_event(resources, resources->sequencer_reset & 0xff))
        state = 0;
    else if (state + 1 < CSP_ETM4_SEQUENCER_STATES &&
             csp_etm4_event(resources, resources->sequencer_events[state] & 0xff))
        state++;
    else if (state && csp_etm4_event(resources, resources->sequencer_events[state - 1] >> 8 & 0xff))
        state--;
    resources->sequencer = state;
    return state != old;
}

/* Moves on by as many cycles, `most` at most, as all events keep their values; at least one. */
static uint64_t step(struct csp_etm4_resources *resources, uint64_t most)
{
    struct motion motions[CSP_ETM4_COUNTERS];
    uint64_t cycles = most;
    for (unsigned i = 0; i < CSP_ETM4_COUNTERS; i++) {
        motions[i] = counter_motion(resources, i, i ? &motions[i - 1] : NULL);
        if (motions[i].reload)
            cycles = 1;
        else if (motions[i].count && resources->counters[i].value < cycles)
            cycles = resources->counters[i].value;
    }
    if (move_sequencer(resources))
        cycles = 1;
    for (unsigned i = 0; i < CSP_ETM4_COUNTERS; i++) {
        struct csp_etm4_counter *counter = &resources->counters[i];
        if (motions[i].reload)
            counter->value = counter->reload;
        else if (motions[i].count)
            counter->value -= (uint32_t)cycles;
    }
    return cycles;
}

void csp_etm4_advance(struct csp_etm4_resources *resources, uint64_t cycles,
                      struct csp_etm4_watch *watches, unsigned watch_count)
{
    while (cycles) {
        bool active[8];
        for (unsigned i = 0; i < watch_count && i < 8; i++)
            active[i] = csp_etm4_event(resources, watches[i].event);
        uint64_t stepped = step(resources, cycles);
        for (unsigned i = 0; i < watch_count && i < 8; i++)
            watches[i].cycles += active[i] ? stepped : 0;
        cycles -= stepped;
    }
}
