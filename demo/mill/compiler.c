#include "compiler.h"

#include <string.h>

enum { MOST_LOCALS = 64 };

struct compiler {
    struct pool *pool;
    struct table *globals;
    struct function *function;
    struct table *constants;         /* value -> its number */
    struct text *scope[MOST_LOCALS]; /* locals in sight; null for the machine's own */
    unsigned in_scope;
    bool outermost; /* the script itself: its names are globals */
    unsigned line;
};

static void compile_expression(struct compiler *compiler, const struct node *node);
static void compile_statement(struct compiler *compiler, const struct node *node);

static int emit(struct compiler *compiler, enum operation operation, int operand)
{
    struct function *function = compiler->function;
    if (function->count == function->room) {
        function->room = function->room ? function->room * 2 : 32;
        struct instruction *code = pool_take(compiler->pool, function->room * sizeof(*code));
        unsigned *lines = pool_take(compiler->pool, function->room * sizeof(*lines));
        if (function->count) {
            memcpy(code, function->code, function->count * sizeof(*code));
            memcpy(lines, function->lines, function->count * sizeof(*lines));
        }
        function->code = code;
        function->lines = lines;
    }
    function->lines[function->count] = compiler->line;
    function->code[function->count] = (struct instruction){operation, operand};
    return (int)function->count++;
}

static int here(const struct compiler *compiler)
{
    return (int)compiler->function->count;
}

static void land(struct compiler *compiler, int jump)
{
    compiler->function->code[jump].operand = here(compiler);
}

static int constant_number(struct compiler *compiler, struct value value)
{
    struct list *constants = compiler->function->constants;
    struct entry *entry = table_find(compiler->constants, value, ADD);
    if (entry->value.kind == NIL) {
        entry->value = value_number((int64_t)constants->count);
        list_push(constants, value);
    }
    return (int)entry->value.number;
}

static int local_number(const struct compiler *compiler, const struct text *name)
{
    for (unsigned i = compiler->in_scope; i-- > 0;) {
        if (compiler->scope[i] == name)
            return (int)i;
    }
    return -1;
}

static int add_local(struct compiler *compiler, struct text *name)
{
    if (compiler->in_scope == MOST_LOCALS)
        fatal("line %u: more than %d local names", compiler->line, MOST_LOCALS);
    compiler->scope[compiler->in_scope++] = name;
    if (compiler->in_scope > compiler->function->locals)
        compiler->function->locals = compiler->in_scope;
    return (int)compiler->in_scope - 1;
}

static int compile_items(struct compiler *compiler, const struct node *item)
{
    int count = 0;
    for (; item; item = item->next, count++)
        compile_expression(compiler, item);
    return count;
}

static void compile_name(struct compiler *compiler, const struct node *node)
{
    int local = local_number(compiler, node->value.text);
    if (local >= 0)
        emit(compiler, PUSH_LOCAL, local);
    else
        emit(compiler, PUSH_GLOBAL, constant_number(compiler, node->value));
}

static void compile_binary(struct compiler *compiler, const struct node *node)
{
    compile_expression(compiler, node->a);
    if (node->sign == KEY_AND || node->sign == KEY_OR) {
        int jump = emit(compiler, node->sign == KEY_AND ? JUMP_AND_POP : JUMP_OR_POP, 0);
        compile_expression(compiler, node->b);
        land(compiler, jump);
        return;
    }
    compile_expression(compiler, node->b);
    if (node->sign == KEY_IN)
        emit(compiler, CONTAINS, 0);
    else if (node->sign >= SAME)
        emit(compiler, COMPARE, (int)node->sign);
    else
        emit(compiler, ARITHMETIC, (int)node->sign);
}

static void compile_expression(struct compiler *compiler, const struct node *node)
{
    compiler->line = node->line;
    switch (node->kind) {
    case NODE_CONSTANT:
        emit(compiler, PUSH_CONSTANT, constant_number(compiler, node->value));
        break;
    case NODE_NAME:
        compile_name(compiler, node);
        break;
    case NODE_UNARY:
        compile_expression(compiler, node->a);
        emit(compiler, node->sign == KEY_NOT ? NOT : NEGATE, 0);
        break;
    case NODE_BINARY:
        compile_binary(compiler, node);
        break;
    case NODE_CALL:
        compile_expression(compiler, node->a);
        emit(compiler, CALL, compile_items(compiler, node->b));
        break;
    case NODE_INDEX:
        compile_expression(compiler, node->a);
        compile_expression(compiler, node->b);
        emit(compiler, ITEM, 0);
        break;
    case NODE_LIST:
        emit(compiler, MAKE_LIST, compile_items(compiler, node->a));
        break;
    case NODE_DICT:
        emit(compiler, MAKE_DICT, compile_items(compiler, node->a));
        break;
    default:
        fatal("line %u: not an expression", node->line);
    }
}

static void compile_block(struct compiler *compiler, const struct node *block)
{
    unsigned outer = compiler->in_scope;
    for (const struct node *node = block->a; node; node = node->next)
        compile_statement(compiler, node);
    compiler->in_scope = outer;
}

static void compile_let(struct compiler *compiler, const struct node *node)
{
    compile_expression(compiler, node->a);
    if (compiler->outermost)
        emit(compiler, STORE_GLOBAL, constant_number(compiler, node->value));
    else
        emit(compiler, STORE_LOCAL, add_local(compiler, node->value.text));
}

static void compile_assign(struct compiler *compiler, const struct node *node)
{
    if (node->a->kind == NODE_INDEX) {
        compile_expression(compiler, node->a->a);
        compile_expression(compiler, node->a->b);
        compile_expression(compiler, node->b);
        emit(compiler, STORE_ITEM, 0);
        return;
    }
    compile_expression(compiler, node->b);
    int local = local_number(compiler, node->a->value.text);
    if (local >= 0)
        emit(compiler, STORE_LOCAL, local);
    else
        emit(compiler, STORE_GLOBAL, constant_number(compiler, node->a->value));
}

static void compile_if(struct compiler *compiler, const struct node *node)
{
    compile_expression(compiler, node->a);
    int otherwise = emit(compiler, JUMP_IF_FALSE, 0);
    compile_block(compiler, node->b);
    if (!node->c) {
        land(compiler, otherwise);
        return;
    }
    int end = emit(compiler, JUMP, 0);
    land(compiler, otherwise);
    if (node->c->kind == NODE_IF)
        compile_if(compiler, node->c);
    else
        compile_block(compiler, node->c);
    land(compiler, end);
}

static void compile_while(struct compiler *compiler, const struct node *node)
{
    int start = here(compiler);
    compile_expression(compiler, node->a);
    int end = emit(compiler, JUMP_IF_FALSE, 0);
    compile_block(compiler, node->b);
    emit(compiler, JUMP, start);
    land(compiler, end);
}

/* The container and the position in it are two nameless locals. */
static void compile_for(struct compiler *compiler, const struct node *node)
{
    unsigned outer = compiler->in_scope;
    compile_expression(compiler, node->a);
    int container = add_local(compiler, NULL);
    emit(compiler, STORE_LOCAL, container);
    emit(compiler, PUSH_CONSTANT, constant_number(compiler, value_number(0)));
    emit(compiler, STORE_LOCAL, add_local(compiler, NULL));
    int start = emit(compiler, NEXT_ITEM, container);
    int end = emit(compiler, JUMP, 0);
    emit(compiler, STORE_LOCAL, add_local(compiler, node->value.text));
    compile_block(compiler, node->b);
    emit(compiler, JUMP, start);
    land(compiler, end);
    compiler->in_scope = outer;
}

static struct function *function_new(struct pool *pool, struct text *name)
{
    struct function *function = pool_take(pool, sizeof(*function));
    function->name = name;
    function->constants = list_new(pool, 0).list;
    return function;
}

static void compile_function(struct compiler *outer, const struct node *node)
{
    struct compiler compiler = {.pool = outer->pool, .globals = outer->globals, .line = node->line};
    compiler.function = function_new(outer->pool, node->value.text);
    compiler.constants = table_new(outer->pool, &any_keys);
    for (const struct node *parameter = node->a; parameter; parameter = parameter->next)
        add_local(&compiler, parameter->value.text);
    compiler.function->parameters = compiler.in_scope;
    compile_block(&compiler, node->b);
    emit(&compiler, PUSH_CONSTANT, constant_number(&compiler, (struct value){.kind = NIL}));
    emit(&compiler, RETURN, 0);
    struct value value = {.kind = FUNCTION, .function = compiler.function};
    table_find(outer->globals, node->value, ADD)->value = value;
}

static void compile_return(struct compiler *compiler, const struct node *node)
{
    if (node->a)
        compile_expression(compiler, node->a);
    else
        emit(compiler, PUSH_CONSTANT, constant_number(compiler, (struct value){.kind = NIL}));
    emit(compiler, RETURN, 0);
}

static void compile_statement(struct compiler *compiler, const struct node *node)
{
    compiler->line = node->line;
    switch (node->kind) {
    case NODE_LET:
        compile_let(compiler, node);
        break;
    case NODE_ASSIGN:
        compile_assign(compiler, node);
        break;
    case NODE_IF:
        compile_if(compiler, node);
        break;
    case NODE_WHILE:
        compile_while(compiler, node);
        break;
    case NODE_FOR:
        compile_for(compiler, node);
        break;
    case NODE_RETURN:
        compile_return(compiler, node);
        break;
    case NODE_FUNCTION:
        compile_function(compiler, node);
        break;
    default:
        compile_expression(compiler, node->a);
        emit(compiler, POP, 0);
    }
}

struct function *compile(struct node *script, struct pool *pool, struct table *globals)
{
    struct compiler compiler = {.pool = pool, .globals = globals, .outermost = true};
    compiler.function = function_new(pool, text_new(pool, "script", 6).text);
    compiler.constants = table_new(pool, &any_keys);
    compile_block(&compiler, script);
    emit(&compiler, PUSH_CONSTANT, constant_number(&compiler, (struct value){.kind = NIL}));
    emit(&compiler, RETURN, 0);
    return compiler.function;
}
