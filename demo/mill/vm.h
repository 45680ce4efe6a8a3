/* The stack machine that runs a compiled script. */
#ifndef MILL_VM_H
#define MILL_VM_H

#include "compiler.h"
#include "printer.h"

enum { MOST_FRAMES = 1024, STACK_VALUES = 16384 };

struct frame {
    const struct function *function;
    size_t next; /* instruction */
    struct value *locals;
};

struct machine {
    struct pool *pool;
    struct table *globals, *names;
    struct value *stack, *top;
    struct frame *frames;
    size_t depth;
    struct buffer output;
};

struct native {
    const char *name;
    unsigned parameters;
    struct value (*call)(struct machine *machine, struct value *arguments);
};

void machine_start(struct machine *machine, struct pool *pool, struct table *names);

/* Defines the functions that are written in C. */
void natives_define(struct machine *machine);

/* Calls a function of either sort and returns its result. */
struct value machine_call(struct machine *machine, struct value callee,
                          const struct value *arguments, unsigned count);

/* An item of a list, dict or text. With MAY_EXIST nil stands for an absent one. */
struct value item_get(struct machine *machine, struct value container, struct value key,
                      enum find find);
bool item_contains(struct value container, struct value key);

#endif
