#include "perfdata/space_tree.h"

/* Recursion below is as deep as the tree: logarithmic, because priorities are as good as random
 * (splitmix64 of a counter) whatever the recording says. */
static uint32_t next_priority(struct csp_space_tree *tree)
{
    uint64_t x = ++tree->created * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(x >> 32);
}

static uint32_t make_node(struct csp_space_tree *tree, struct csp_space_node node)
{
    if (!tree->nodes.len)
        csp_vec_push(&tree->nodes, (struct csp_space_node){0});
    csp_vec_push(&tree->nodes, node);
    return (uint32_t)tree->nodes.len - 1;
}

static uint32_t make_leaf(struct csp_space_tree *tree, const struct csp_mapping *mapping)
{
    csp_vec_push(&tree->mappings, *mapping);
    return make_node(tree, (struct csp_space_node){
                               .start = mapping->start,
                               .mapping = (uint32_t)tree->mappings.len - 1,
                               .priority = next_priority(tree),
                           });
}

/* A node by value: the array may move while new nodes are made. */
static struct csp_space_node at(const struct csp_space_tree *tree, uint32_t node)
{
    return tree->nodes.data[node];
}

static const struct csp_mapping *mapping_of(const struct csp_space_tree *tree, uint32_t node)
{
    return &tree->mappings.data[tree->nodes.data[node].mapping];
}

static uint32_t with_children(struct csp_space_tree *tree, uint32_t number, uint32_t left,
                              uint32_t right)
{
    struct csp_space_node node = at(tree, number);
    if (node.left == left && node.right == right)
        return number;
    node.left = left;
    node.right = right;
    if (number < tree->frozen)
        return make_node(tree, node);
    tree->nodes.data[number] = node;
    return number;
}

void csp_space_tree_freeze(struct csp_space_tree *tree)
{
    tree->frozen = tree->nodes.len;
}

/* Mappings that start below `address`, and the others. */
static void split(struct csp_space_tree *tree, uint32_t root, uint64_t address, uint32_t *below,
                  uint32_t *others)
{
    if (!root) {
        *below = *others = 0;
        return;
    }
    struct csp_space_node node = at(tree, root);
    uint32_t low, high;
    if (node.start < address) {
        split(tree, node.right, address, &low, &high);
        *below = with_children(tree, root, node.left, low);
        *others = high;
    } else {
        split(tree, node.left, address, &low, &high);
        *below = low;
        *others = with_children(tree, root, high, node.right);
    }
}

/* All of `low` lies below all of `high`. */
static uint32_t join(struct csp_space_tree *tree, uint32_t low, uint32_t high)
{
    if (!low || !high)
        return low ? low : high;
    struct csp_space_node left = at(tree, low), right = at(tree, high);
    if (left.priority >= right.priority)
        return with_children(tree, low, left.left, join(tree, left.right, high));
    return with_children(tree, high, join(tree, low, right.left), right.right);
}

static uint32_t last_of(const struct csp_space_tree *tree, uint32_t root)
{
    while (root && tree->nodes.data[root].right)
        root = tree->nodes.data[root].right;
    return root;
}

/* The part of a mapping from `start` on. */
static struct csp_mapping tail_of(const struct csp_mapping *mapping, uint64_t start)
{
    struct csp_mapping tail = *mapping;
    tail.page_offset += start - mapping->start;
    tail.start = start;
    return tail;
}

uint32_t csp_space_tree_map(struct csp_space_tree *tree, uint32_t root,
                            const struct csp_mapping *mapping, bool *replaced)
{
    uint32_t below, covered, above;
    split(tree, root, mapping->start, &below, &covered);
    split(tree, covered, mapping->end, &covered, &above);
    *replaced = covered != 0;
    uint32_t last = last_of(tree, covered); /* may reach out above */
    struct csp_mapping tail = {0};
    if (last && mapping_of(tree, last)->end > mapping->end)
        tail = tail_of(mapping_of(tree, last), mapping->end);
    last = last_of(tree, below); /* may reach in from below, or across */
    if (last && mapping_of(tree, last)->end > mapping->start) {
        struct csp_mapping head = *mapping_of(tree, last);
        uint32_t rest, cut;
        if (head.end > mapping->end)
            tail = tail_of(&head, mapping->end);
        split(tree, below, head.start, &rest, &cut);
        head.end = mapping->start;
        below = join(tree, rest, make_leaf(tree, &head));
        *replaced = true;
    }
    if (tail.end)
        above = join(tree, make_leaf(tree, &tail), above);
    return join(tree, join(tree, below, make_leaf(tree, mapping)), above);
}

const struct csp_mapping *csp_space_tree_find(const struct csp_space_tree *tree, uint32_t root,
                                              uint64_t address)
{
    uint32_t found = 0; /* the last one that starts at or below the address */
    while (root) {
        const struct csp_space_node *node = &tree->nodes.data[root];
        if (address < node->start) {
            root = node->left;
        } else {
            found = root;
            root = node->right;
        }
    }
    const struct csp_mapping *mapping = found ? mapping_of(tree, found) : NULL;
    return mapping && address < mapping->end ? mapping : NULL;
}

void csp_space_tree_each(const struct csp_space_tree *tree, uint32_t root,
                         void (*visit)(void *user, const struct csp_mapping *mapping), void *user)
{
    if (!root)
        return;
    csp_space_tree_each(tree, at(tree, root).left, visit, user);
    visit(user, mapping_of(tree, root));
    csp_space_tree_each(tree, at(tree, root).right, visit, user);
}

void csp_space_tree_free(struct csp_space_tree *tree)
{
    csp_vec_free(&tree->nodes);
    csp_vec_free(&tree->mappings);
}
