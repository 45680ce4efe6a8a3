/* Recursion of one function, of two that call each other, and over a tree with a callback's depth.
 */
#include "start.h"

NOINLINE unsigned fibonacci(unsigned n)
{
    if (n < 2)
        return n;
    return fibonacci(n - 1) + fibonacci(n - 2);
}

NOINLINE unsigned odd_steps(unsigned n);

NOINLINE unsigned even_steps(unsigned n)
{
    if (n == 0)
        return 1;
    return odd_steps(n - 1) + (n & 3);
}

unsigned odd_steps(unsigned n)
{
    if (n == 0)
        return 2;
    return even_steps(n - 1) * 3;
}

struct tree {
    unsigned key;
    struct tree *left, *right;
};

static struct tree nodes[128];
static unsigned used;

NOINLINE struct tree *insert(struct tree *tree, unsigned key)
{
    if (!tree) {
        nodes[used].key = key;
        return &nodes[used++];
    }
    if (key < tree->key)
        tree->left = insert(tree->left, key);
    else
        tree->right = insert(tree->right, key);
    return tree;
}

NOINLINE unsigned depth(const struct tree *tree)
{
    if (!tree)
        return 0;
    unsigned left = depth(tree->left), right = depth(tree->right);
    return 1 + (left > right ? left : right);
}

NOINLINE unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

unsigned run(void)
{
    unsigned sum = fibonacci(18);
    for (unsigned i = 0; i < 200; i++)
        sum += even_steps(i & 31) + odd_steps(i & 7);
    unsigned state = 1;
    struct tree *root = 0;
    for (unsigned i = 0; i < 128; i++)
        root = insert(root, next_random(&state));
    for (unsigned i = 0; i < 60; i++) {
        sum += depth(&nodes[i]) + depth(root->left);
        root->left->key ^= sum;
    }
    return sum + ackermann(2, 12);
}
