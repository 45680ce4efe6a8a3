/* Source text to tokens. */
#ifndef MILL_LEXER_H
#define MILL_LEXER_H

#include "hashtable.h"

enum token_kind {
    END_OF_SOURCE,
    LITERAL, /* number or text, in value */
    NAME,    /* in value, the same text object for the same name */
    /* keywords */
    KEY_AND,
    KEY_ELSE,
    KEY_FALSE,
    KEY_FN,
    KEY_FOR,
    KEY_IF,
    KEY_IN,
    KEY_LET,
    KEY_NIL,
    KEY_NOT,
    KEY_OR,
    KEY_RETURN,
    KEY_TRUE,
    KEY_WHILE,
    /* operators of one and two characters */
    PLUS,
    MINUS,
    STAR,
    SLASH,
    PERCENT,
    SAME,
    DIFFERENT,
    LESS,
    LESS_SAME,
    MORE,
    MORE_SAME,
    ASSIGN,
    DOT,
    COMMA,
    COLON,
    SEMICOLON,
    OPEN_PAREN,
    CLOSE_PAREN,
    OPEN_LIST,
    CLOSE_LIST,
    OPEN_BLOCK,
    CLOSE_BLOCK,
};

struct token {
    enum token_kind kind;
    unsigned line;
    struct value value;
};

struct lexer {
    const char *next; /* source ends in a zero */
    unsigned line;
    struct pool *pool;
    struct table *keywords, *names;
};

void lexer_start(struct lexer *lexer, const char *source, struct pool *pool, struct table *names);
struct token lexer_next(struct lexer *lexer);

#endif
