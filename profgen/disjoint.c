#include "profgen/disjoint.h"

#include "base/sort.h"

static bool is_before(const void *a, const void *b)
{
    const struct csp_range_edge *x = a, *y = b;
    return x->address != y->address ? x->address < y->address : x->ends < y->ends;
}

void csp_disjoint(const struct csp_counter *ranges, size_t count, struct csp_spans *out)
{
    out->edges.len = out->spans.len = 0;
    for (size_t i = 0; i < count; i++) {
        csp_vec_push(&out->edges, (struct csp_range_edge){ranges[i].from, ranges[i].count, 1, 0});
        csp_vec_push(&out->edges, (struct csp_range_edge){ranges[i].to, ranges[i].count, 0, 1});
    }
    const struct csp_range_edge *edges = out->edges.data;
    size_t len = out->edges.len;
    csp_sort(out->edges.data, len, sizeof *edges, is_before);
    uint64_t open = 0, sum = 0, from = 0;
    for (size_t i = 0; i < len;) {
        uint64_t address = edges[i].address;
        uint64_t began = 0, ended = 0, open_delta = 0, closed = 0;
        for (; i < len && edges[i].address == address; i++) {
            open_delta += edges[i].begins;
            closed += edges[i].ends;
            if (edges[i].begins)
                began += edges[i].count;
            else
                ended += edges[i].count;
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
}
