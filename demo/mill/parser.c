#include "parser.h"

struct parser {
    struct lexer lexer;
    struct token token; /* the one not yet used */
    struct pool *pool;
};

static struct node *parse_expression(struct parser *parser, int weakest);
static struct node *parse_block(struct parser *parser);

static struct node *node_new(struct parser *parser, enum node_kind kind)
{
    struct node *node = pool_take(parser->pool, sizeof(*node));
    node->kind = kind;
    node->line = parser->token.line;
    return node;
}

static void advance(struct parser *parser)
{
    parser->token = lexer_next(&parser->lexer);
}

static bool accept(struct parser *parser, enum token_kind kind)
{
    if (parser->token.kind != kind)
        return false;
    advance(parser);
    return true;
}

static void expect(struct parser *parser, enum token_kind kind, const char *what)
{
    if (!accept(parser, kind))
        fatal("line %u: expected %s", parser->token.line, what);
}

static struct value expect_name(struct parser *parser)
{
    struct value name = parser->token.value;
    expect(parser, NAME, "a name");
    return name;
}

/* Comma-separated, up to and with the closing token; pairs are key: value. */
static struct node *parse_items(struct parser *parser, enum token_kind close, bool pairs)
{
    struct node *first = NULL, **end = &first;
    while (!accept(parser, close)) {
        *end = parse_expression(parser, 0);
        end = &(*end)->next;
        if (pairs) {
            expect(parser, COLON, "':' between key and value");
            *end = parse_expression(parser, 0);
            end = &(*end)->next;
        }
        if (parser->token.kind != close)
            expect(parser, COMMA, "',' or the closing bracket");
    }
    return first;
}

static struct node *constant(struct parser *parser, struct value value)
{
    struct node *node = node_new(parser, NODE_CONSTANT);
    node->value = value;
    advance(parser);
    return node;
}

static struct node *parse_unary(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_UNARY);
    node->sign = parser->token.kind;
    advance(parser);
    node->a = parse_expression(parser, node->sign == KEY_NOT ? 3 : 7);
    return node;
}

static struct node *parse_group(struct parser *parser)
{
    struct node *node;
    switch (parser->token.kind) {
    case OPEN_PAREN:
        advance(parser);
        node = parse_expression(parser, 0);
        expect(parser, CLOSE_PAREN, "')'");
        return node;
    case OPEN_LIST:
        node = node_new(parser, NODE_LIST);
        advance(parser);
        node->a = parse_items(parser, CLOSE_LIST, false);
        return node;
    case OPEN_BLOCK:
        node = node_new(parser, NODE_DICT);
        advance(parser);
        node->a = parse_items(parser, CLOSE_BLOCK, true);
        return node;
    default:
        fatal("line %u: expected an expression", parser->token.line);
    }
}

static struct node *parse_operand(struct parser *parser)
{
    struct node *node;
    switch (parser->token.kind) {
    case LITERAL:
        return constant(parser, parser->token.value);
    case KEY_NIL:
        return constant(parser, (struct value){.kind = NIL});
    case KEY_TRUE:
        return constant(parser, value_bool(true));
    case KEY_FALSE:
        return constant(parser, value_bool(false));
    case MINUS:
    case KEY_NOT:
        return parse_unary(parser);
    case NAME:
        node = node_new(parser, NODE_NAME);
        node->value = expect_name(parser);
        return node;
    default:
        return parse_group(parser);
    }
}

static struct node *parse_postfix(struct parser *parser)
{
    struct node *node = parse_operand(parser);
    for (;;) {
        struct node *outer = node_new(parser, NODE_INDEX);
        outer->a = node;
        if (accept(parser, OPEN_PAREN)) {
            outer->kind = NODE_CALL;
            outer->b = parse_items(parser, CLOSE_PAREN, false);
        } else if (accept(parser, OPEN_LIST)) {
            outer->b = parse_expression(parser, 0);
            expect(parser, CLOSE_LIST, "']'");
        } else if (accept(parser, DOT)) {
            outer->b = node_new(parser, NODE_CONSTANT);
            outer->b->value = expect_name(parser);
        } else {
            return node;
        }
        node = outer;
    }
}

static int strength(enum token_kind sign)
{
    switch (sign) {
    case KEY_OR:
        return 1;
    case KEY_AND:
        return 2;
    case SAME:
    case DIFFERENT:
    case LESS:
    case LESS_SAME:
    case MORE:
    case MORE_SAME:
    case KEY_IN:
        return 4;
    case PLUS:
    case MINUS:
        return 5;
    case STAR:
    case SLASH:
    case PERCENT:
        return 6;
    default:
        return 0;
    }
}

static struct node *parse_expression(struct parser *parser, int weakest)
{
    struct node *left = parse_postfix(parser);
    for (int power; (power = strength(parser->token.kind)) > weakest;) {
        struct node *node = node_new(parser, NODE_BINARY);
        node->sign = parser->token.kind;
        advance(parser);
        node->a = left;
        node->b = parse_expression(parser, power);
        left = node;
    }
    return left;
}

static struct node *parse_function(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_FUNCTION);
    node->value = expect_name(parser);
    expect(parser, OPEN_PAREN, "'(' before the parameters");
    node->a = parse_items(parser, CLOSE_PAREN, false);
    for (struct node *parameter = node->a; parameter; parameter = parameter->next) {
        if (parameter->kind != NODE_NAME)
            fatal("line %u: a parameter must be a name", parameter->line);
    }
    node->b = parse_block(parser);
    return node;
}

static struct node *parse_let(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_LET);
    node->value = expect_name(parser);
    expect(parser, ASSIGN, "'=' after the name");
    node->a = parse_expression(parser, 0);
    expect(parser, SEMICOLON, "';'");
    return node;
}

static struct node *parse_if(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_IF);
    node->a = parse_expression(parser, 0);
    node->b = parse_block(parser);
    if (accept(parser, KEY_ELSE))
        node->c = accept(parser, KEY_IF) ? parse_if(parser) : parse_block(parser);
    return node;
}

static struct node *parse_loop(struct parser *parser, enum node_kind kind)
{
    struct node *node = node_new(parser, kind);
    if (kind == NODE_FOR) {
        node->value = expect_name(parser);
        expect(parser, KEY_IN, "'in'");
    }
    node->a = parse_expression(parser, 0);
    node->b = parse_block(parser);
    return node;
}

static struct node *parse_return(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_RETURN);
    if (parser->token.kind != SEMICOLON)
        node->a = parse_expression(parser, 0);
    expect(parser, SEMICOLON, "';'");
    return node;
}

static struct node *parse_plain(struct parser *parser)
{
    struct node *node = node_new(parser, NODE_EXPRESSION);
    node->a = parse_expression(parser, 0);
    if (accept(parser, ASSIGN)) {
        if (node->a->kind != NODE_NAME && node->a->kind != NODE_INDEX)
            fatal("line %u: cannot assign to this", node->line);
        node->kind = NODE_ASSIGN;
        node->b = parse_expression(parser, 0);
    }
    expect(parser, SEMICOLON, "';'");
    return node;
}

static struct node *parse_statement(struct parser *parser)
{
    if (accept(parser, KEY_FN))
        return parse_function(parser);
    if (accept(parser, KEY_LET))
        return parse_let(parser);
    if (accept(parser, KEY_IF))
        return parse_if(parser);
    if (accept(parser, KEY_WHILE))
        return parse_loop(parser, NODE_WHILE);
    if (accept(parser, KEY_FOR))
        return parse_loop(parser, NODE_FOR);
    if (accept(parser, KEY_RETURN))
        return parse_return(parser);
    return parse_plain(parser);
}

static struct node *parse_statements(struct parser *parser, enum token_kind close)
{
    struct node *block = node_new(parser, NODE_BLOCK);
    struct node **end = &block->a;
    while (parser->token.kind != close) {
        if (parser->token.kind == END_OF_SOURCE)
            fatal("line %u: a block without its '}'", block->line);
        *end = parse_statement(parser);
        end = &(*end)->next;
    }
    advance(parser);
    return block;
}

static struct node *parse_block(struct parser *parser)
{
    expect(parser, OPEN_BLOCK, "'{'");
    return parse_statements(parser, CLOSE_BLOCK);
}

struct node *parse(const char *source, struct pool *pool, struct table *names)
{
    struct parser parser = {.pool = pool};
    lexer_start(&parser.lexer, source, pool, names);
    advance(&parser);
    return parse_statements(&parser, END_OF_SOURCE);
}
