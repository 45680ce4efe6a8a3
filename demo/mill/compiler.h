/* A tree to instructions for the machine. */
#ifndef MILL_COMPILER_H
#define MILL_COMPILER_H

#include "parser.h"

enum operation {
    PUSH_CONSTANT, /* operand: which */
    PUSH_LOCAL,    /* operand: which */
    PUSH_GLOBAL,   /* operand: constant with its name */
    STORE_LOCAL,   /* and takes it off the stack, as do the next two */
    STORE_GLOBAL,
    STORE_ITEM, /* container, key, value */
    ITEM,       /* container, key -> item */
    MAKE_LIST,  /* operand: number of items */
    MAKE_DICT,  /* operand: number of keys and values */
    ARITHMETIC, /* operand: the operator's token */
    COMPARE,    /* operand: the operator's token */
    CONTAINS,   /* key, container -> bool */
    NEGATE,
    NOT,
    JUMP,          /* operand: target */
    JUMP_IF_FALSE, /* takes the condition off */
    JUMP_OR_POP,   /* stays on the stack if it jumps: for `or` */
    JUMP_AND_POP,  /* the same for `and` */
    NEXT_ITEM,     /* operand: local with a container, and then one with the position in it;
                      pushes the item and skips the next instruction, unless at the end */
    CALL,          /* operand: number of arguments */
    RETURN,
    POP,
};

struct instruction {
    enum operation operation;
    int operand;
};

struct function {
    struct text *name;
    unsigned parameters, locals; /* locals include the parameters */
    struct instruction *code;
    unsigned *lines; /* of each instruction */
    size_t count, room;
    struct list *constants;
};

/* Returns the function that runs the script; every function of the script becomes a global. */
struct function *compile(struct node *script, struct pool *pool, struct table *globals);

#endif
