#include "value.h"

#include "hashtable.h"

#include <string.h>

struct value value_number(int64_t number)
{
    return (struct value){.kind = NUMBER, .number = number};
}

struct value value_bool(bool truth)
{
    return (struct value){.kind = BOOL, .number = truth};
}

bool value_truth(struct value value)
{
    switch (value.kind) {
    case NIL:
        return false;
    case BOOL:
    case NUMBER:
        return value.number != 0;
    case TEXT:
        return value.text->length != 0;
    case LIST:
        return value.list->count != 0;
    case DICT:
        return value.dict->count != 0;
    default:
        return true;
    }
}

const char *kind_name(enum kind kind)
{
    static const char *const names[] = {"nil",  "bool", "number",   "text",
                                        "list", "dict", "function", "native"};
    return names[kind];
}

struct value text_new(struct pool *pool, const char *bytes, size_t length)
{
    struct text *text = pool_take(pool, sizeof(*text) + length + 1);
    text->length = length;
    memcpy(text->bytes, bytes, length);
    return (struct value){.kind = TEXT, .text = text};
}

struct value text_join(struct pool *pool, const struct text *a, const struct text *b)
{
    struct text *text = pool_take(pool, sizeof(*text) + a->length + b->length + 1);
    text->length = a->length + b->length;
    memcpy(text->bytes, a->bytes, a->length);
    memcpy(text->bytes + a->length, b->bytes, b->length);
    return (struct value){.kind = TEXT, .text = text};
}

uint64_t text_hash(struct text *text)
{
    if (text->hash)
        return text->hash;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < text->length; i++)
        hash = (hash ^ (unsigned char)text->bytes[i]) * 1099511628211u;
    text->hash = hash | 1;
    return text->hash;
}

struct value list_new(struct pool *pool, size_t room)
{
    struct list *list = pool_take(pool, sizeof(*list));
    list->pool = pool;
    list->room = room;
    list->items = room ? pool_take(pool, room * sizeof(*list->items)) : NULL;
    return (struct value){.kind = LIST, .list = list};
}

void list_push(struct list *list, struct value value)
{
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 8;
        struct value *items = pool_take(list->pool, list->room * sizeof(*items));
        if (list->count)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
    }
    list->items[list->count++] = value;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_texts(struct text *a, struct text *b, enum relation relation)
{
    if (a == b)
        return 0;
    if (relation == EQUALITY &&
        (a->length != b->length || (a->hash && b->hash && a->hash != b->hash)))
        return 1;
    size_t shorter = a->length < b->length ? a->length : b->length;
    for (size_t i = 0; i < shorter; i++) {
        if (a->bytes[i] != b->bytes[i])
            return (unsigned char)a->bytes[i] < (unsigned char)b->bytes[i] ? -1 : 1;
    }
    return (a->length > b->length) - (a->length < b->length);
}

static int compare_lists(const struct list *a, const struct list *b, enum relation relation)
{
    if (relation == EQUALITY && a->count != b->count)
        return 1;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int order = value_compare(a->items[i], b->items[i], relation);
        if (order)
            return order;
    }
    return (a->count > b->count) - (a->count < b->count);
}

static int compare_dicts(const struct table *a, const struct table *b, enum relation relation)
{
    if (a == b)
        return 0;
    if (relation == EQUALITY && a->count != b->count)
        return 1;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int order = value_compare(a->entries[i].key, b->entries[i].key, relation);
        if (!order)
            order = value_compare(a->entries[i].value, b->entries[i].value, relation);
        if (order)
            return order;
    }
    return (a->count > b->count) - (a->count < b->count);
}

int value_compare(struct value a, struct value b, enum relation relation)
{
    if (a.kind != b.kind)
        return a.kind < b.kind ? -1 : 1;
    switch (a.kind) {
    case NIL:
        return 0;
    case BOOL:
    case NUMBER:
        return compare_numbers(a.number, b.number);
    case TEXT:
        return compare_texts(a.text, b.text, relation);
    case LIST:
        return compare_lists(a.list, b.list, relation);
    case DICT:
        return compare_dicts(a.dict, b.dict, relation);
    default:
        return compare_numbers((intptr_t)a.function, (intptr_t)b.function);
    }
}

void value_visit(struct value value, struct visitor *visitor)
{
    if (value.kind == LIST) {
        visitor->enter(visitor, LIST, value.list->count);
        for (size_t i = 0; i < value.list->count; i++)
            value_visit(value.list->items[i], visitor);
        visitor->leave(visitor, LIST);
        return;
    }
    if (value.kind == DICT) {
        visitor->enter(visitor, DICT, value.dict->count);
        for (size_t i = 0; i < value.dict->count; i++) {
            value_visit(value.dict->entries[i].key, visitor);
            value_visit(value.dict->entries[i].value, visitor);
        }
        visitor->leave(visitor, DICT);
        return;
    }
    visitor->scalar(visitor, value);
}

struct hasher {
    struct visitor visitor;
    uint64_t hash;
};

static void hash_word(struct visitor *visitor, uint64_t word)
{
    struct hasher *hasher = (struct hasher *)visitor;
    hasher->hash = (hasher->hash ^ word) * 0x9e3779b97f4a7c15u;
    hasher->hash ^= hasher->hash >> 29;
}

static void hash_scalar(struct visitor *visitor, struct value value)
{
    if (value.kind == TEXT)
        hash_word(visitor, text_hash(value.text));
    else
        hash_word(visitor, (uint64_t)value.number + value.kind);
}

static void hash_enter(struct visitor *visitor, enum kind kind, size_t count)
{
    hash_word(visitor, count * 8 + kind);
}

static void hash_leave(struct visitor *visitor, enum kind kind)
{
    hash_word(visitor, kind);
}

uint64_t value_hash(struct value value)
{
    struct hasher hasher = {{hash_scalar, hash_enter, hash_leave}, 1};
    value_visit(value, &hasher.visitor);
    return hasher.hash;
}

struct weigher {
    struct visitor visitor;
    size_t scalars;
};

static void weigh_scalar(struct visitor *visitor, struct value value)
{
    (void)value;
    ((struct weigher *)visitor)->scalars++;
}

static void weigh_enter(struct visitor *visitor, enum kind kind, size_t count)
{
    (void)visitor, (void)kind, (void)count;
}

static void weigh_leave(struct visitor *visitor, enum kind kind)
{
    (void)visitor, (void)kind;
}

size_t value_weight(struct value value)
{
    struct weigher weigher = {{weigh_scalar, weigh_enter, weigh_leave}, 0};
    value_visit(value, &weigher.visitor);
    return weigher.scalars;
}
