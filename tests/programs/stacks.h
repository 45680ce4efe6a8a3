/* Of stacks_bare.c, which is built without frame pointers whatever the other is built with. */
#define KEEP __attribute__((noinline))

unsigned bare_chain(unsigned x, unsigned (*callback)(unsigned));
unsigned bare_recursion(unsigned depth, unsigned x);
unsigned bare_tail(unsigned x);
