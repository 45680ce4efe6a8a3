/* Tokens to a tree. */
#ifndef MILL_PARSER_H
#define MILL_PARSER_H

#include "lexer.h"

enum node_kind {
    /* expressions */
    NODE_CONSTANT, /* value */
    NODE_NAME,     /* value */
    NODE_UNARY,    /* sign, a */
    NODE_BINARY,   /* sign, a, b */
    NODE_CALL,     /* a is called, b is the first argument */
    NODE_INDEX,    /* a[b] */
    NODE_LIST,     /* a is the first item */
    NODE_DICT,     /* a is the first key, followed by its value, and so on */
    /* statements */
    NODE_LET,        /* value is the name, a its value */
    NODE_ASSIGN,     /* a is a name or an index, b the value */
    NODE_EXPRESSION, /* a */
    NODE_IF,         /* a, then b, else c (or null) */
    NODE_WHILE,      /* a, b */
    NODE_FOR,        /* value is the name, a what to go through, b the body */
    NODE_RETURN,     /* a or null */
    NODE_BLOCK,      /* a is the first statement */
    NODE_FUNCTION,   /* value is the name, a the first parameter, b the body */
};

struct node {
    enum node_kind kind;
    enum token_kind sign;
    unsigned line;
    struct value value;
    struct node *a, *b, *c;
    struct node *next; /* in a list of statements, arguments, items */
};

/* The whole script as one block. */
struct node *parse(const char *source, struct pool *pool, struct table *names);

#endif
