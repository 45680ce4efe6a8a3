/* What a unit that speculates writes: paths that are taken back, atoms that are put right, commits.
 */
#include "generator_state.h"

bool generator_may_speculate(struct generator *g)
{
    return g->depth_max >= 8;
}

void generator_cancel_some(struct generator *g)
{
    generator_flush_atoms(g);
    uint32_t count = 1 + below(g, 4), depth = g->depth;
    uint32_t kept = depth + count > g->depth_max ? g->depth_max - count : depth;
    for (uint32_t i = 0; i < count; i++) {
        if (i && one_in(g, 3)) /* the target of the one before */
            generator_put_address(g, address_of(g, below(g, 2), below(g, CSP_GENERATED_WORDS)),
                                  generator_plain_address);
        header(g, one_in(g, 2) ? 0xf7 : 0xf6);
    }
    header(g, 0x2e);
    generator_put_continued(g, count);
    g->depth = kept;
}

void generator_mispredict(struct generator *g, bool taken)
{
    generator_flush_atoms(g);
    uint32_t wrong = 0, own;
    switch (below(g, 5)) {
    case 0:
        header(g, taken ? 0xf6 : 0xf7);
        if (one_in(g, 2))
            generator_put_address(g, address_of(g, 0, below(g, CSP_GENERATED_WORDS)),
                                  generator_plain_address);
        header(g, 0x30);
        break;
    case 1:
        header(g, taken ? 0x33 : 0x31);
        break;
    case 2: /* and a wrong path behind it */
        header(g, taken ? 0xf6 : 0xf7);
        if (one_in(g, 2)) { /* in the same packet: taken back before it counts */
            header(g, one_in(g, 2) ? 0x35 : 0x37);
            break;
        }
        wrong = 1;
        header(g, 0xf7);
        header(g, 0x34);
        break;
    case 3:
        own = below(g, 2); /* an E in the same packet: taken back before it counts */
        wrong = 1 + below(g, 3) + !own;
        header(g, taken ? 0xf6 : 0xf7);
        for (uint32_t i = 0; i < wrong; i++)
            header(g, one_in(g, 2) ? 0xf7 : 0xf6);
        header(g, (uint8_t)(0x38 | (wrong + own - 2) << 1 | own));
        break;
    default:
        header(g, taken ? 0xf6 : 0xf7);
        wrong = 1 + below(g, 3);
        for (uint32_t i = 0; i < wrong; i++)
            header(g, one_in(g, 2) ? 0xf7 : 0xf6);
        header(g, 0x2f);
        generator_put_continued(g, wrong);
        break;
    }
    uint32_t most = g->depth + 1 + wrong;
    g->depth = (most > g->depth_max ? g->depth_max : most) - wrong;
}

void generator_put_commit(struct generator *g, uint32_t count)
{
    g->depth -= count;
    if (g->counts_commit && count && count <= 4 && one_in(g, 3)) {
        header(g, (uint8_t)(0x10 | (count - 1) << 2 | below(g, 4)));
        tell(g, CSP_ELEMENT_OTHER);
    } else if (g->counts_commit && count && count <= 16 && one_in(g, 3)) {
        header(g, 0x0c);
        put(g, (uint8_t)((count - 1) << 4 | below(g, 16)));
        tell(g, CSP_ELEMENT_OTHER);
    } else if (g->counts_commit && one_in(g, 2)) {
        bool unknown = one_in(g, 2);
        header(g, unknown ? 0x0f : 0x0e);
        generator_put_continued(g, count);
        if (!unknown)
            generator_put_continued(g, below(g, 1 << 20));
        tell(g, CSP_ELEMENT_OTHER);
    } else {
        header(g, 0x2d);
        generator_put_continued(g, count);
    }
}
