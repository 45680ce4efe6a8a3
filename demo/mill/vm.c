#include "vm.h"

#include <string.h>

void machine_start(struct machine *machine, struct pool *pool, struct table *names)
{
    *machine = (struct machine){.pool = pool, .names = names, .output = machine->output};
    machine->globals = table_new(pool, &text_keys);
    machine->stack = pool_take(pool, STACK_VALUES * sizeof(*machine->stack));
    machine->top = machine->stack;
    machine->frames = pool_take(pool, MOST_FRAMES * sizeof(*machine->frames));
    natives_define(machine);
}

static _Noreturn void wrong(const struct machine *machine, const char *what, enum kind kind)
{
    const struct frame *frame = &machine->frames[machine->depth - 1];
    fatal("line %u, in %s: cannot %s a %s", frame->function->lines[frame->next - 1],
          frame->function->name->bytes, what, kind_name(kind));
}

static size_t check_position(const struct machine *machine, struct value key, size_t count)
{
    if (key.kind != NUMBER)
        wrong(machine, "count with", key.kind);
    if (key.number < 0 || (uint64_t)key.number >= count)
        fatal("position %lld of %zu", (long long)key.number, count);
    return (size_t)key.number;
}

struct value item_get(struct machine *machine, struct value container, struct value key,
                      enum find find)
{
    if (container.kind == LIST) {
        const struct list *list = container.list;
        if (find == MAY_EXIST && (uint64_t)key.number >= list->count)
            return (struct value){.kind = NIL};
        return list->items[check_position(machine, key, list->count)];
    }
    if (container.kind == DICT) {
        struct entry *entry = table_find(container.dict, key, find);
        return entry ? entry->value : (struct value){.kind = NIL};
    }
    if (container.kind != TEXT)
        wrong(machine, "look into", container.kind);
    size_t position = check_position(machine, key, container.text->length);
    return text_new(machine->pool, container.text->bytes + position, 1);
}

bool item_contains(struct value container, struct value key)
{
    if (container.kind == DICT)
        return table_find(container.dict, key, MAY_EXIST) != NULL;
    if (container.kind == TEXT)
        return key.kind == TEXT && strstr(container.text->bytes, key.text->bytes);
    if (container.kind != LIST)
        return false;
    for (size_t i = 0; i < container.list->count; i++) {
        if (value_compare(container.list->items[i], key, EQUALITY) == 0)
            return true;
    }
    return false;
}

static void item_set(struct machine *machine, struct value container, struct value key,
                     struct value value)
{
    if (container.kind == DICT)
        table_find(container.dict, key, ADD)->value = value;
    else if (container.kind == LIST)
        container.list->items[check_position(machine, key, container.list->count)] = value;
    else
        wrong(machine, "store into", container.kind);
}

static struct value join_lists(struct machine *machine, const struct list *a, const struct list *b)
{
    struct value result = list_new(machine->pool, a->count + b->count);
    for (size_t i = 0; i < a->count; i++)
        list_push(result.list, a->items[i]);
    for (size_t i = 0; i < b->count; i++)
        list_push(result.list, b->items[i]);
    return result;
}

static int64_t divide(int64_t a, int64_t b, enum token_kind sign)
{
    if (b == 0)
        fatal("division by zero");
    if (b == -1)
        return sign == SLASH ? (int64_t)(0 - (uint64_t)a) : 0;
    return sign == SLASH ? a / b : a % b;
}

static struct value arithmetic(struct machine *machine, struct value a, struct value b,
                               enum token_kind sign)
{
    if (a.kind == TEXT && b.kind == TEXT && sign == PLUS)
        return text_join(machine->pool, a.text, b.text);
    if (a.kind == LIST && b.kind == LIST && sign == PLUS)
        return join_lists(machine, a.list, b.list);
    if (a.kind != NUMBER || b.kind != NUMBER)
        wrong(machine, "calculate with", a.kind == NUMBER ? b.kind : a.kind);
    uint64_t x = (uint64_t)a.number, y = (uint64_t)b.number;
    switch (sign) {
    case PLUS:
        return value_number((int64_t)(x + y));
    case MINUS:
        return value_number((int64_t)(x - y));
    case STAR:
        return value_number((int64_t)(x * y));
    default:
        return value_number(divide(a.number, b.number, sign));
    }
}

static bool compare(struct value a, struct value b, enum token_kind sign)
{
    switch (sign) {
    case SAME:
        return value_compare(a, b, EQUALITY) == 0;
    case DIFFERENT:
        return value_compare(a, b, EQUALITY) != 0;
    case LESS:
        return value_compare(a, b, ORDER) < 0;
    case LESS_SAME:
        return value_compare(a, b, ORDER) <= 0;
    case MORE:
        return value_compare(a, b, ORDER) > 0;
    default:
        return value_compare(a, b, ORDER) >= 0;
    }
}

/* What `for` goes through: items, keys, characters, or the numbers below a number. */
static bool next_item(struct machine *machine, struct value *locals, struct value *item)
{
    struct value container = locals[0];
    size_t position = (size_t)locals[1].number++;
    switch (container.kind) {
    case LIST:
        if (position >= container.list->count)
            return false;
        *item = container.list->items[position];
        return true;
    case DICT:
        if (position >= container.dict->count)
            return false;
        *item = container.dict->entries[position].key;
        return true;
    case TEXT:
        if (position >= container.text->length)
            return false;
        *item = text_new(machine->pool, container.text->bytes + position, 1);
        return true;
    case NUMBER:
        *item = value_number((int64_t)position);
        return (int64_t)position < container.number;
    default:
        wrong(machine, "go through", container.kind);
    }
}

static struct value make_list(struct machine *machine, const struct value *items, size_t count)
{
    struct value list = list_new(machine->pool, count);
    for (size_t i = 0; i < count; i++)
        list_push(list.list, items[i]);
    return list;
}

static struct value make_dict(struct machine *machine, const struct value *pairs, size_t count)
{
    struct table *table = table_new(machine->pool, &any_keys);
    for (size_t i = 0; i < count; i += 2)
        table_find(table, pairs[i], ADD)->value = pairs[i + 1];
    return (struct value){.kind = DICT, .dict = table};
}

/* The arguments are the newest values of the stack; the callee lies below them. */
static void enter(struct machine *machine, unsigned count)
{
    struct value *arguments = machine->top - count;
    struct value callee = arguments[-1];
    if (callee.kind == NATIVE) {
        if (count != callee.native->parameters)
            fatal("%s wants %u arguments", callee.native->name, callee.native->parameters);
        arguments[-1] = callee.native->call(machine, arguments);
        machine->top = arguments;
        return;
    }
    if (callee.kind != FUNCTION)
        wrong(machine, "call", callee.kind);
    const struct function *function = callee.function;
    if (count != function->parameters)
        fatal("%s wants %u arguments", function->name->bytes, function->parameters);
    if (machine->depth == MOST_FRAMES ||
        arguments + function->locals + 64 > machine->stack + STACK_VALUES)
        fatal("%s: calls are nested too deeply", function->name->bytes);
    machine->frames[machine->depth++] = (struct frame){function, 0, arguments};
    machine->top = arguments + function->locals;
}

static void run(struct machine *machine, size_t outer_depth)
{
    struct frame *frame = &machine->frames[machine->depth - 1];
    struct value *top = machine->top;
    for (;;) {
        struct instruction instruction = frame->function->code[frame->next++];
        int operand = instruction.operand;
        const struct value *constants = frame->function->constants->items;
        switch (instruction.operation) {
        case PUSH_CONSTANT:
            *top++ = constants[operand];
            break;
        case PUSH_LOCAL:
            *top++ = frame->locals[operand];
            break;
        case PUSH_GLOBAL:
            *top++ = table_find(machine->globals, constants[operand], MUST_EXIST)->value;
            break;
        case STORE_LOCAL:
            frame->locals[operand] = *--top;
            break;
        case STORE_GLOBAL:
            table_find(machine->globals, constants[operand], ADD)->value = *--top;
            break;
        case STORE_ITEM:
            top -= 3;
            item_set(machine, top[0], top[1], top[2]);
            break;
        case ITEM:
            top--;
            top[-1] = item_get(machine, top[-1], top[0], MUST_EXIST);
            break;
        case MAKE_LIST:
            top -= operand;
            *top = make_list(machine, top, (size_t)operand);
            top++;
            break;
        case MAKE_DICT:
            top -= operand;
            *top = make_dict(machine, top, (size_t)operand);
            top++;
            break;
        case ARITHMETIC:
            top--;
            top[-1] = arithmetic(machine, top[-1], top[0], (enum token_kind)operand);
            break;
        case COMPARE:
            top--;
            top[-1] = value_bool(compare(top[-1], top[0], (enum token_kind)operand));
            break;
        case CONTAINS:
            top--;
            top[-1] = value_bool(item_contains(top[0], top[-1]));
            break;
        case NEGATE:
            top[-1] = arithmetic(machine, value_number(0), top[-1], MINUS);
            break;
        case NOT:
            top[-1] = value_bool(!value_truth(top[-1]));
            break;
        case JUMP:
            frame->next = (size_t)operand;
            break;
        case JUMP_IF_FALSE:
            if (!value_truth(*--top))
                frame->next = (size_t)operand;
            break;
        case JUMP_OR_POP:
        case JUMP_AND_POP:
            if (value_truth(top[-1]) == (instruction.operation == JUMP_OR_POP))
                frame->next = (size_t)operand;
            else
                top--;
            break;
        case NEXT_ITEM:
            if (next_item(machine, &frame->locals[operand], top)) {
                top++;
                frame->next++;
            }
            break;
        case CALL:
            machine->top = top;
            enter(machine, (unsigned)operand);
            top = machine->top;
            frame = &machine->frames[machine->depth - 1];
            break;
        case RETURN:
            frame->locals[-1] = top[-1];
            top = frame->locals;
            if (--machine->depth == outer_depth) {
                machine->top = top;
                return;
            }
            frame--;
            break;
        case POP:
            top--;
            break;
        }
    }
}

struct value machine_call(struct machine *machine, struct value callee,
                          const struct value *arguments, unsigned count)
{
    size_t depth = machine->depth;
    *machine->top++ = callee;
    for (unsigned i = 0; i < count; i++)
        *machine->top++ = arguments[i];
    enter(machine, count);
    if (machine->depth > depth)
        run(machine, depth);
    return *--machine->top;
}
