#include "decode/stitch_align.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_COLUMNS = 4096, /* aligned at once */
    KEEP_COLUMNS = 3072,  /* of those, believed: what lies near the cut is aligned again */
    BAND_SLACK = 64,
    BAND_CUT = 640, /* where it is not known how many rows belong to the columns at hand */
    BAND_LIMIT = 1024,
};

/* One block: `rows` x `columns` cells, of which each column keeps a band of `width` rows that
 * begins at first_row(column). forward(c, r) is the best score of everything before row r and
 * column c; backward(c, r) of everything from them on. */
struct block {
    uint32_t row_first, rows, column_first, columns, width;
    uint32_t all_rows, all_columns; /* those of later blocks too: the diagonal */
    uint32_t *forward, *backward;   /* (columns + 1) x (width + 1) */
    uint8_t *score;                 /* columns x width */
};

static uint32_t diagonal(const struct block *block, uint32_t column)
{
    return (uint32_t)((uint64_t)block->all_rows * column / block->all_columns);
}

/* The band has the diagonal from corner to corner in its middle: where more of one side was lost,
 * the alignment strays from it to either side. */
static uint32_t first_row(const struct block *block, uint32_t column)
{
    uint32_t middle = diagonal(block, column), half = block->width / 2;
    uint32_t first = middle > half ? middle - half : 0, last = block->rows - block->width;
    return first < last ? first : last;
}

static uint32_t *cell(const struct block *block, uint32_t *table, uint32_t column, uint32_t row)
{
    return &table[(size_t)column * (block->width + 1) + (row - first_row(block, column))];
}

/* The value at a corner that may lie outside the column's band: the nearest one inside, which is a
 * lower bound because scores never fall along either direction. */
static uint32_t forward_at(const struct block *block, uint32_t column, uint32_t row)
{
    uint32_t top = first_row(block, column), bottom = top + block->width;
    if (row < top)
        return 0;
    return *cell(block, block->forward, column, row > bottom ? bottom : row);
}

static uint32_t backward_at(const struct block *block, uint32_t column, uint32_t row)
{
    uint32_t top = first_row(block, column), bottom = top + block->width;
    if (row > bottom)
        return 0;
    return *cell(block, block->backward, column, row < top ? top : row);
}

static uint32_t score_at(const struct block *block, uint32_t column, uint32_t row)
{
    return block->score[(size_t)column * block->width + (row - first_row(block, column))];
}

static uint32_t max3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t ab = a > b ? a : b;
    return ab > c ? ab : c;
}

static void fill_scores(struct block *block, csp_align_score_fn *score, const void *user)
{
    for (uint32_t c = 0; c < block->columns; c++) {
        uint32_t top = first_row(block, c);
        for (uint32_t k = 0; k < block->width; k++)
            block->score[(size_t)c * block->width + k] =
                (uint8_t)score(user, block->row_first + top + k, block->column_first + c);
    }
}

static void fill_forward(struct block *block)
{
    memset(block->forward, 0, (block->width + 1) * sizeof *block->forward);
    for (uint32_t c = 1; c <= block->columns; c++) {
        uint32_t top = first_row(block, c);
        uint32_t above = 0;
        for (uint32_t r = top; r <= top + block->width; r++) {
            uint32_t best = max3(above, forward_at(block, c - 1, r), 0);
            uint32_t previous_top = first_row(block, c - 1);
            if (r > previous_top && r - 1 < previous_top + block->width) {
                uint32_t s = score_at(block, c - 1, r - 1);
                if (s)
                    best = max3(best, forward_at(block, c - 1, r - 1) + s, 0);
            }
            *cell(block, block->forward, c, r) = best;
            above = best;
        }
    }
}

static void fill_backward(struct block *block)
{
    memset(cell(block, block->backward, block->columns, first_row(block, block->columns)), 0,
           (block->width + 1) * sizeof *block->backward);
    for (uint32_t c = block->columns; c-- > 0;) {
        uint32_t top = first_row(block, c);
        uint32_t below = 0;
        for (uint32_t r = top + block->width + 1; r-- > top;) {
            uint32_t best = max3(below, backward_at(block, c + 1, r), 0);
            if (r < top + block->width) {
                uint32_t s = score_at(block, c, r);
                if (s)
                    best = max3(best, backward_at(block, c + 1, r + 1) + s, 0);
            }
            *cell(block, block->backward, c, r) = best;
            below = best;
        }
    }
}

static uint32_t through(const struct block *block, uint32_t column, uint32_t row)
{
    uint32_t s = score_at(block, column, row);
    if (!s)
        return 0;
    return forward_at(block, column, row) + s + backward_at(block, column + 1, row + 1);
}

/* How much the best alignment loses that gives `column` or `row` another partner. */
static uint32_t margin_of(const struct block *block, uint32_t best, uint32_t column, uint32_t row)
{
    uint32_t other = 0;
    uint32_t top = first_row(block, column);
    for (uint32_t r = top; r < top + block->width; r++)
        if (r != row)
            other = max3(other, through(block, column, r), 0);
    /* The columns whose band holds the row lie on both sides, next to each other. */
    for (uint32_t c = column; c-- > 0 && row < first_row(block, c) + block->width;)
        if (row >= first_row(block, c))
            other = max3(other, through(block, c, row), 0);
    for (uint32_t c = column + 1; c < block->columns && row >= first_row(block, c); c++)
        if (row < first_row(block, c) + block->width)
            other = max3(other, through(block, c, row), 0);
    return other ? best - other : UINT32_MAX;
}

/* Follows the best alignment and returns one past the last row it used up to column `keep`. */
static uint32_t trace_back(const struct block *block, uint32_t keep, struct csp_align_pair *pairs)
{
    uint32_t best = backward_at(block, 0, 0);
    uint32_t row = 0, used = 0;
    for (uint32_t c = 0; c < keep; c++) {
        pairs[c] = (struct csp_align_pair){UINT32_MAX, 0};
        uint32_t rest = backward_at(block, c, row);
        if (backward_at(block, c + 1, row) == rest)
            continue;
        uint32_t top = first_row(block, c), bottom = top + block->width;
        for (uint32_t r = row > top ? row : top; r < bottom; r++) {
            uint32_t s = score_at(block, c, r);
            if (!s || s + backward_at(block, c + 1, r + 1) != rest)
                continue;
            pairs[c] = (struct csp_align_pair){block->row_first + r, margin_of(block, best, c, r)};
            row = used = r + 1;
            break;
        }
    }
    return used;
}

static uint32_t align_block(struct block *block, uint32_t keep, csp_align_score_fn *score,
                            const void *user, struct csp_align_pair *pairs)
{
    size_t corners = (size_t)(block->columns + 1) * (block->width + 1);
    block->forward = csp_malloc(corners * sizeof *block->forward);
    block->backward = csp_malloc(corners * sizeof *block->backward);
    block->score = csp_malloc((size_t)block->columns * block->width);
    fill_scores(block, score, user);
    fill_forward(block);
    fill_backward(block);
    uint32_t used = trace_back(block, keep, pairs);
    free(block->forward);
    free(block->backward);
    free(block->score);
    return used;
}

void csp_align(uint32_t row_first, uint32_t row_last, uint32_t column_first, uint32_t column_last,
               csp_align_score_fn *score, const void *user, struct csp_align_pair *pairs)
{
    while (column_first < column_last) {
        uint32_t columns = column_last - column_first, rows = row_last - row_first;
        struct block block = {.row_first = row_first,
                              .rows = rows,
                              .column_first = column_first,
                              .columns = columns,
                              .all_rows = rows,
                              .all_columns = columns};
        uint32_t skew = rows > columns ? rows - columns : columns - rows;
        uint32_t width = skew < BAND_LIMIT ? 2 * (skew + BAND_SLACK) : BAND_LIMIT, keep = columns;
        if (columns > BLOCK_COLUMNS) {
            block.columns = BLOCK_COLUMNS;
            keep = KEEP_COLUMNS;
            width = BAND_CUT;
            uint32_t within = diagonal(&block, BLOCK_COLUMNS) + width / 2;
            block.rows = within < rows ? within : rows;
        }
        width = width > BAND_LIMIT ? BAND_LIMIT : width;
        block.width = width > block.rows ? block.rows : width;
        uint32_t used = 0;
        if (rows)
            used = align_block(&block, keep, score, user, pairs);
        else
            for (uint32_t c = 0; c < keep; c++)
                pairs[c] = (struct csp_align_pair){UINT32_MAX, 0};
        row_first += used;
        column_first += keep;
        pairs += keep;
    }
}
