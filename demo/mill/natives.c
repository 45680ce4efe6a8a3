/* The functions of the language that are written in C. */
#include "mergesort.h"
#include "vm.h"

#include <string.h>

static struct text *want_text(struct value value, const char *native)
{
    if (value.kind != TEXT)
        fatal("%s wants a text, not a %s", native, kind_name(value.kind));
    return value.text;
}

static struct list *want_list(struct value value, const char *native)
{
    if (value.kind != LIST)
        fatal("%s wants a list, not a %s", native, kind_name(value.kind));
    return value.list;
}

static struct value native_print(struct machine *machine, struct value *arguments)
{
    value_format(&machine->output, arguments[0], PLAIN);
    buffer_add_char(&machine->output, '\n');
    return (struct value){.kind = NIL};
}

static struct value native_text(struct machine *machine, struct value *arguments)
{
    struct buffer buffer = {0};
    value_format(&buffer, arguments[0], PLAIN);
    struct value text = text_new(machine->pool, buffer.length ? buffer.bytes : "", buffer.length);
    buffer_free(&buffer);
    return text;
}

static struct value native_count(struct machine *machine, struct value *arguments)
{
    (void)machine;
    switch (arguments[0].kind) {
    case TEXT:
        return value_number((int64_t)arguments[0].text->length);
    case LIST:
        return value_number((int64_t)arguments[0].list->count);
    case DICT:
        return value_number((int64_t)arguments[0].dict->count);
    default:
        return value_number(0);
    }
}

static struct value native_push(struct machine *machine, struct value *arguments)
{
    (void)machine;
    list_push(want_list(arguments[0], "push"), arguments[1]);
    return arguments[0];
}

static struct value native_pop(struct machine *machine, struct value *arguments)
{
    (void)machine;
    struct list *list = want_list(arguments[0], "pop");
    return list->count ? list->items[--list->count] : (struct value){.kind = NIL};
}

static struct value native_get(struct machine *machine, struct value *arguments)
{
    struct value item = item_get(machine, arguments[0], arguments[1], MAY_EXIST);
    return item.kind == NIL ? arguments[2] : item;
}

static bool is_separator(char c)
{
    return c == ' ' || c == '\n' || c == ',' || c == '.' || c == ';';
}

static struct value native_split(struct machine *machine, struct value *arguments)
{
    const struct text *text = want_text(arguments[0], "split");
    struct value words = list_new(machine->pool, 0);
    for (size_t i = 0; i < text->length;) {
        size_t start = i;
        while (i < text->length && !is_separator(text->bytes[i]))
            i++;
        if (i > start)
            list_push(words.list, text_new(machine->pool, text->bytes + start, i - start));
        else
            i++;
    }
    return words;
}

/* Each word once, as the same object: comparing them later is cheap. */
static struct value native_intern(struct machine *machine, struct value *arguments)
{
    const struct list *words = want_list(arguments[0], "intern");
    struct value result = list_new(machine->pool, words->count);
    for (size_t i = 0; i < words->count; i++) {
        want_text(words->items[i], "intern");
        list_push(result.list, table_find(machine->names, words->items[i], ADD)->key);
    }
    return result;
}

static struct value native_join(struct machine *machine, struct value *arguments)
{
    const struct list *list = want_list(arguments[0], "join");
    const struct text *between = want_text(arguments[1], "join");
    struct buffer buffer = {0};
    for (size_t i = 0; i < list->count; i++) {
        if (i)
            buffer_add(&buffer, between->bytes, between->length);
        value_format(&buffer, list->items[i], PLAIN);
    }
    struct value text = text_new(machine->pool, buffer.length ? buffer.bytes : "", buffer.length);
    buffer_free(&buffer);
    return text;
}

static struct value native_keys(struct machine *machine, struct value *arguments)
{
    if (arguments[0].kind != DICT)
        fatal("keys wants a dict");
    const struct table *table = arguments[0].dict;
    struct value keys = list_new(machine->pool, table->count);
    for (size_t i = 0; i < table->count; i++)
        list_push(keys.list, table->entries[i].key);
    return keys;
}

static struct value copy_list(struct machine *machine, const struct list *list)
{
    struct value copy = list_new(machine->pool, list->count);
    for (size_t i = 0; i < list->count; i++)
        list_push(copy.list, list->items[i]);
    return copy;
}

static struct value native_sort(struct machine *machine, struct value *arguments)
{
    struct value sorted = copy_list(machine, want_list(arguments[0], "sort"));
    sort_values(sorted.list->items, sorted.list->count, &natural_order);
    return sorted;
}

static struct value native_sort_down(struct machine *machine, struct value *arguments)
{
    struct value sorted = copy_list(machine, want_list(arguments[0], "sort_down"));
    sort_values(sorted.list->items, sorted.list->count, &reverse_order);
    return sorted;
}

struct scripted_order {
    struct order order;
    struct machine *machine;
    struct value function;
};

static int compare_by_script(const struct order *order, struct value a, struct value b)
{
    const struct scripted_order *scripted = (const struct scripted_order *)order;
    struct value pair[] = {a, b};
    struct value result = machine_call(scripted->machine, scripted->function, pair, 2);
    return result.number < 0 ? -1 : result.number > 0;
}

static struct value native_sort_by(struct machine *machine, struct value *arguments)
{
    struct value sorted = copy_list(machine, want_list(arguments[0], "sort_by"));
    struct scripted_order order = {{compare_by_script}, machine, arguments[1]};
    sort_values(sorted.list->items, sorted.list->count, &order.order);
    return sorted;
}

/* Calls the function for each item; keeps its results (map) or the items it says yes to (keep). */
static struct value transform(struct machine *machine, struct value *arguments, bool keep)
{
    const struct list *list = want_list(arguments[0], keep ? "keep" : "map");
    struct value result = list_new(machine->pool, 0);
    for (size_t i = 0; i < list->count; i++) {
        struct value item = list->items[i];
        struct value answer = machine_call(machine, arguments[1], &item, 1);
        if (!keep)
            list_push(result.list, answer);
        else if (value_truth(answer))
            list_push(result.list, item);
    }
    return result;
}

static struct value native_map(struct machine *machine, struct value *arguments)
{
    return transform(machine, arguments, false);
}

static struct value native_keep(struct machine *machine, struct value *arguments)
{
    return transform(machine, arguments, true);
}

static struct value native_weight(struct machine *machine, struct value *arguments)
{
    (void)machine;
    return value_number((int64_t)value_weight(arguments[0]));
}

static struct value native_number(struct machine *machine, struct value *arguments)
{
    (void)machine;
    const struct text *text = want_text(arguments[0], "number");
    int64_t number = 0;
    for (size_t i = 0; i < text->length; i++) {
        if (text->bytes[i] < '0' || text->bytes[i] > '9')
            return (struct value){.kind = NIL};
        number = (int64_t)((uint64_t)number * 10 + (uint64_t)(text->bytes[i] - '0'));
    }
    return value_number(number);
}

void natives_define(struct machine *machine)
{
    static const struct native natives[] = {
        {"print", 1, native_print},     {"text", 1, native_text},
        {"count", 1, native_count},     {"push", 2, native_push},
        {"pop", 1, native_pop},         {"get", 3, native_get},
        {"split", 1, native_split},     {"intern", 1, native_intern},
        {"join", 2, native_join},       {"keys", 1, native_keys},
        {"sort", 1, native_sort},       {"sort_down", 1, native_sort_down},
        {"sort_by", 2, native_sort_by}, {"map", 2, native_map},
        {"keep", 2, native_keep},       {"weight", 1, native_weight},
        {"number", 1, native_number},
    };
    for (size_t i = 0; i < sizeof(natives) / sizeof(*natives); i++) {
        struct value name = text_new(machine->pool, natives[i].name, strlen(natives[i].name));
        name = table_find(machine->names, name, ADD)->key;
        struct value value = {.kind = NATIVE, .native = &natives[i]};
        table_find(machine->globals, name, ADD)->value = value;
    }
}
