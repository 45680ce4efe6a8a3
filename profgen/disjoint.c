#include "profgen/disjoint.h"

/* One end of a range; `last` is the address where it ends. */
struct edge {
    uint64_t address;
    uint64_t count;
    uint32_t begins, ends;
};

static int by_edge_address(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->ends < y->ends ? -1 : x->ends > y->ends;
}

void csp_disjoint(const struct csp_counter *ranges, size_t count, struct csp_spans *out)
{
    CSP_VEC(struct edge) edges = {0};
    csp_vec_reserve(&edges, 2 * count);
    for (size_t i = 0; i < count; i++) {
        csp_vec_push(&edges, (struct edge){ranges[i].from, ranges[i].count, 1, 0});
        csp_vec_push(&edges, (struct edge){ranges[i].to, ranges[i].count, 0, 1});
    }
    if (edges.len)
        qsort(edges.data, edges.len, sizeof *edges.data, by_edge_address);
    out->spans.len = 0;
    uint64_t open = 0, sum = 0, from = 0;
    for (size_t i = 0; i < edges.len;) {
        uint64_t address = edges.data[i].address;
        uint64_t began = 0, ended = 0, open_delta = 0, closed = 0;
        for (; i < edges.len && edges.data[i].address == address; i++) {
            open_delta += edges.data[i].begins;
            closed += edges.data[i].ends;
            if (edges.data[i].begins)
                began += edges.data[i].count;
            else
                ended += edges.data[i].count;
        }
        if (open_delta) {
            if (open && from < address)
                csp_vec_push(&out->spans, (struct csp_span){from, address - 1, sum});
            open += open_delta;
            sum += began;
            from = address;
        }
        if (closed) {
            csp_vec_push(&out->spans, (struct csp_span){from, address, sum});
            open -= closed;
            sum -= ended;
            from = address + 1;
        }
    }
    csp_vec_free(&edges);
}
