/* Deep recursion, mutual recursion, and tail calls that replace their caller's frame: call stacks
 * that a window of trace cannot hold and a frame-pointer walk sees in part. */
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline))

struct node {
    struct node *left, *right;
    unsigned key;
};

static struct node *nodes;
static unsigned used;

static KEEP struct node *insert(struct node *tree, unsigned key)
{
    if (!tree) {
        tree = &nodes[used++];
        tree->key = key;
        return tree;
    }
    if (key < tree->key)
        tree->left = insert(tree->left, key);
    else
        tree->right = insert(tree->right, key);
    return tree;
}

static KEEP unsigned long sum(const struct node *tree)
{
    if (!tree)
        return 0;
    return tree->key + sum(tree->left) + sum(tree->right);
}

/* A state machine of tail calls: `b`, not `bl`, between functions. */
static unsigned long even(unsigned n, unsigned long total);
static unsigned long odd(unsigned n, unsigned long total);

static KEEP unsigned long even(unsigned n, unsigned long total)
{
    if (n == 0)
        return total;
    __attribute__((musttail)) return odd(n - 1, total * 3 + 1);
}

static KEEP unsigned long odd(unsigned n, unsigned long total)
{
    if (n == 0)
        return total + 1;
    __attribute__((musttail)) return even(n - 1, total ^ n);
}

static KEEP unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static KEEP unsigned long descend(unsigned depth, unsigned seed)
{
    volatile unsigned long local = seed;
    if (depth == 0)
        return even(seed % 64, seed);
    return descend(depth - 1, seed * 1103515245u + 12345u) + local;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 20, seed = 1;
    unsigned long total = 0;
    for (unsigned round = 0; round < rounds; round++) {
        struct node *tree = NULL;
        nodes = calloc(2000, sizeof *nodes);
        used = 0;
        for (int i = 0; i < 2000; i++) {
            seed = seed * 1103515245u + 12345u;
            tree = insert(tree, seed >> 8);
        }
        total += sum(tree) + ackermann(2, 40 + round % 8) + descend(900, seed) + even(500, round);
        free(nodes);
    }
    printf("%lu\n", total);
    return 0;
}
