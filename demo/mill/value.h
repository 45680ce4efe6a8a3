/* What a script computes with, and the questions every part of the program asks of a value. */
#ifndef MILL_VALUE_H
#define MILL_VALUE_H

#include "pool.h"

#include <stdbool.h>
#include <stdint.h>

enum kind { NIL, BOOL, NUMBER, TEXT, LIST, DICT, FUNCTION, NATIVE };

struct value {
    enum kind kind;
    union {
        int64_t number; /* BOOL too */
        struct text *text;
        struct list *list;
        struct table *dict;
        struct function *function;
        const struct native *native;
    };
};

struct text {
    uint64_t hash; /* 0 until somebody asks */
    size_t length;
    char bytes[]; /* and a zero */
};

struct list {
    struct value *items;
    size_t count, room;
    struct pool *pool;
};

struct value value_number(int64_t number);
struct value value_bool(bool truth);
bool value_truth(struct value value);
const char *kind_name(enum kind kind);

struct value text_new(struct pool *pool, const char *bytes, size_t length);
struct value text_join(struct pool *pool, const struct text *a, const struct text *b);
uint64_t text_hash(struct text *text);

struct value list_new(struct pool *pool, size_t room);
void list_push(struct list *list, struct value value);

enum relation {
    EQUALITY, /* 0 or not 0: may stop at the first hint that they differ */
    ORDER,    /* negative, 0 or positive; values of different kinds are ordered by kind */
};
int value_compare(struct value a, struct value b, enum relation relation);

/* Calls back for a value and, in order, for all that it holds. */
struct visitor {
    void (*scalar)(struct visitor *visitor, struct value value);
    void (*enter)(struct visitor *visitor, enum kind kind, size_t count);
    void (*leave)(struct visitor *visitor, enum kind kind);
};
void value_visit(struct value value, struct visitor *visitor);

/* Of its content, so that lists can be keys. */
uint64_t value_hash(struct value value);

/* How many numbers, texts and so on it holds in all. */
size_t value_weight(struct value value);

#endif
