/* The one hash table of the program: keywords, names, constants, globals and a script's dicts. */
#ifndef MILL_HASHTABLE_H
#define MILL_HASHTABLE_H

#include "value.h"

/* What makes two keys the same. */
struct key_rule {
    uint64_t (*hash)(struct value key);
    bool (*equal)(struct value a, struct value b);
};
extern const struct key_rule text_keys; /* texts only */
extern const struct key_rule any_keys;

struct entry {
    struct value key, value;
    uint64_t hash;
};

/* Open addressing into a vector of entries, which stay in order of insertion. */
struct table {
    const struct key_rule *rule;
    struct pool *pool;
    uint32_t *slots; /* entry number + 1, or 0 */
    size_t mask;     /* number of slots - 1, or 0 */
    struct entry *entries;
    size_t count;
};

enum find { MUST_EXIST, MAY_EXIST, ADD };

struct table *table_new(struct pool *pool, const struct key_rule *rule);

/* MAY_EXIST returns null when the key is absent; MUST_EXIST ends the program; ADD makes an entry
 * whose value is nil. The entry is valid until the next ADD. */
struct entry *table_find(struct table *table, struct value key, enum find find);

#endif
