/* mill SCRIPT [TIMES]: runs a script, and again as often as asked, each time from its source. */
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>

static char *read_source(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fatal("cannot open %s", path);
    struct buffer buffer = {0};
    char piece[4096];
    for (size_t length; (length = fread(piece, 1, sizeof(piece), file)) > 0;)
        buffer_add(&buffer, piece, length);
    buffer_add_char(&buffer, 0);
    fclose(file);
    return buffer.bytes;
}

static void run_script(struct machine *machine, struct pool *pool, const char *source)
{
    struct table *names = table_new(pool, &text_keys);
    machine_start(machine, pool, names);
    struct value script = {.kind = FUNCTION};
    script.function = compile(parse(source, pool, names), pool, machine->globals);
    machine_call(machine, script, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fputs("usage: mill SCRIPT [TIMES]\n", stderr);
        return 2;
    }
    char *source = read_source(argv[1]);
    struct machine machine = {0};
    for (int times = argc == 3 ? atoi(argv[2]) : 1; times > 0; times--) {
        struct pool pool = {0};
        machine.output.length = 0;
        run_script(&machine, &pool, source);
        pool_empty(&pool);
    }
    fwrite(machine.output.bytes, 1, machine.output.length, stdout);
    buffer_free(&machine.output);
    free(source);
    return 0;
}
