#include "lexer.h"

#include "printer.h"

#include <string.h>

static const struct {
    const char *word;
    enum token_kind kind;
} keywords[] = {
    {"and", KEY_AND},   {"else", KEY_ELSE},   {"false", KEY_FALSE}, {"fn", KEY_FN},
    {"for", KEY_FOR},   {"if", KEY_IF},       {"in", KEY_IN},       {"let", KEY_LET},
    {"nil", KEY_NIL},   {"not", KEY_NOT},     {"or", KEY_OR},       {"return", KEY_RETURN},
    {"true", KEY_TRUE}, {"while", KEY_WHILE},
};

void lexer_start(struct lexer *lexer, const char *source, struct pool *pool, struct table *names)
{
    *lexer = (struct lexer){.next = source, .line = 1, .pool = pool, .names = names};
    lexer->keywords = table_new(pool, &text_keys);
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
        struct value word = text_new(pool, keywords[i].word, strlen(keywords[i].word));
        table_find(lexer->keywords, word, ADD)->value = value_number(keywords[i].kind);
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct lexer *lexer)
{
    for (;; lexer->next++) {
        if (*lexer->next == '#')
            lexer->next += strcspn(lexer->next, "\n");
        if (*lexer->next == '\n')
            lexer->line++;
        else if (*lexer->next != ' ' && *lexer->next != '\t')
            return;
    }
}

static void read_word(struct lexer *lexer, struct token *token)
{
    const char *start = lexer->next;
    while (is_letter(*lexer->next) || is_digit(*lexer->next))
        lexer->next++;
    struct value word = text_new(lexer->pool, start, (size_t)(lexer->next - start));
    struct entry *keyword = table_find(lexer->keywords, word, MAY_EXIST);
    if (keyword) {
        token->kind = (enum token_kind)keyword->value.number;
        return;
    }
    token->kind = NAME;
    token->value = table_find(lexer->names, word, ADD)->key;
}

static void read_number(struct lexer *lexer, struct token *token)
{
    int64_t number = 0;
    while (is_digit(*lexer->next))
        number = number * 10 + (*lexer->next++ - '0');
    token->kind = LITERAL;
    token->value = value_number(number);
}

static void read_text(struct lexer *lexer, struct token *token)
{
    struct buffer buffer = {0};
    for (lexer->next++; *lexer->next != '"'; lexer->next++) {
        char c = *lexer->next;
        if (c == '\\')
            c = *++lexer->next == 'n' ? '\n' : *lexer->next;
        if (!c)
            fatal("line %u: text without its closing quote", token->line);
        if (*lexer->next == '\n')
            lexer->line++;
        buffer_add_char(&buffer, c);
    }
    lexer->next++;
    token->kind = LITERAL;
    token->value = text_new(lexer->pool, buffer.length ? buffer.bytes : "", buffer.length);
    buffer_free(&buffer);
}

/* One character, or two when '=' follows. */
static enum token_kind read_operator(struct lexer *lexer)
{
    static const char ones[] = "+-*/%=.,:;()[]{}<>";
    static const enum token_kind kinds[] = {
        PLUS,      MINUS,      STAR,       SLASH,       PERCENT,    ASSIGN,
        DOT,       COMMA,      COLON,      SEMICOLON,   OPEN_PAREN, CLOSE_PAREN,
        OPEN_LIST, CLOSE_LIST, OPEN_BLOCK, CLOSE_BLOCK, LESS,       MORE};
    char c = *lexer->next++;
    if (*lexer->next == '=' && strchr("=!<>", c)) {
        lexer->next++;
        return c == '=' ? SAME : c == '!' ? DIFFERENT : c == '<' ? LESS_SAME : MORE_SAME;
    }
    const char *found = strchr(ones, c);
    if (!found)
        fatal("line %u: unexpected '%c'", lexer->line, c);
    return kinds[found - ones];
}

struct token lexer_next(struct lexer *lexer)
{
    skip_blanks(lexer);
    struct token token = {.line = lexer->line};
    char c = *lexer->next;
    if (!c)
        return token;
    if (is_letter(c))
        read_word(lexer, &token);
    else if (is_digit(c))
        read_number(lexer, &token);
    else if (c == '"')
        read_text(lexer, &token);
    else
        token.kind = read_operator(lexer);
    return token;
}
