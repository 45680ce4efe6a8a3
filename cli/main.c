/* csprof: finds the subcommand, takes the options that all have, and turns diagnostics into text.
 */
#include "cli/cli.h"

#include "base/alloc.h"
#include "base/parse.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct csp_command *const commands[] = {
#ifndef CSPROF_RECORDER_ONLY
    &csp_command_bundle,  &csp_command_cache,
#endif
    &csp_command_collect,
#ifndef CSPROF_RECORDER_ONLY
    &csp_command_decode,  &csp_command_gen,
#endif
    &csp_command_doctor,
#ifndef CSPROF_RECORDER_ONLY
    &csp_command_merge,   &csp_command_validate,
#endif
    &csp_command_version,
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    static const char *const labels[] = {"debug: ", "", "warning: ", "error: "};
    struct csp_cli *cli = user;
    if ((severity == CSP_DEBUG && !cli->verbose) || (severity == CSP_NOTE && cli->quiet))
        return;
    if (severity == CSP_FAILURE) {
        cli->last_failure.len = 0;
        csp_buf_add_string(&cli->last_failure, message);
    }
    fprintf(stderr, "csprof%s%s: %s%s\n", cli->command ? " " : "", cli->command ? cli->command : "",
            labels[severity], message);
}

int csp_cli_usage(struct csp_cli *cli, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *message = csp_vasprintf(format, args);
    va_end(args);
    csp_fail(&cli->diag, CSP_ERR_USAGE, "%s (see `csprof help%s%s`)", message,
             cli->command ? " " : "", cli->command ? cli->command : "");
    free(message);
    return CSP_EXIT_USAGE;
}

void csp_cli_print(struct csp_buf *text)
{
    fwrite(text->data, 1, text->len, stdout);
    csp_buf_free(text);
}

void csp_cli_resumed(struct csp_cli *cli, const char *output)
{
    csp_note(&cli->diag, "%s is there already, of the same inputs", output);
    if (!cli->json)
        return;
    struct csp_buf text = {0};
    struct csp_json json = {.out = &text};
    csp_json_object(&json, NULL);
    csp_json_string(&json, "output", output);
    csp_json_bool(&json, "resumed", true);
    csp_json_end(&json);
    csp_cli_print(&text);
}

/* The command of this name or of an unambiguous prefix of it. */
static const struct csp_command *find_command(const char *name)
{
    const struct csp_command *found = NULL;
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (!strcmp(commands[i]->name, name))
            return commands[i];
        if (strncmp(commands[i]->name, name, strlen(name)) != 0)
            continue;
        if (found)
            return NULL;
        found = commands[i];
    }
    return found;
}

static int help(void)
{
    puts("csprof: context-sensitive profiles for Clang from trace units and branch buffers\n\n"
         "usage: csprof <command> [options]\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    puts("  help       this text, or that of a command\n\n"
         "All commands take\n"
         "  --json       the result as one JSON object on standard output\n"
         "  -q, -v       fewer messages (warnings and errors alone), or more\n"
         "  --threads N  at most so many threads (by default all processors)\n"
         "  --no-cache   nothing is read from $CSPROF_CACHE (by default ~/.cache/csprof), or kept\n"
         "and names of commands may be cut short: `csprof col`.\n\n"
         "`csprof collect -- ./app` and then `csprof gen` make a profile for\n"
         "clang -fprofile-sample-use=csprof.prof. `csprof help COMMAND` tells all.");
    return CSP_EXIT_DONE;
}

static int help_on(struct csp_cli *cli, const char *topic, int argc, char **argv)
{
    const struct csp_command *command = find_command(topic);
    if (!strcmp(topic, "help"))
        return help();
    if (!command)
        return csp_cli_usage(cli, "there is no command '%s'", topic);
    if (command->start)
        return command->start(cli, argc, argv);
    fputs(command->usage, stdout);
    return CSP_EXIT_DONE;
}

/* Takes the common options out of argv (never past "--"); returns the new argc, or -1. */
static int take_common_options(struct csp_cli *cli, int argc, char **argv)
{
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        uint64_t threads;
        if (!strcmp(argv[i], "--")) {
            while (i < argc)
                argv[kept++] = argv[i++];
        } else if (!strcmp(argv[i], "--json")) {
            cli->json = true;
        } else if (!strcmp(argv[i], "-q")) {
            cli->quiet = true;
        } else if (!strcmp(argv[i], "-v")) {
            cli->verbose = true;
        } else if (!strcmp(argv[i], "--no-cache")) {
            setenv("CSPROF_CACHE", "off", true);
        } else if (!strcmp(argv[i], "--threads")) {
            if (i + 1 == argc || !csp_parse_count(argv[i + 1], &threads) || threads < 1 ||
                threads > 1024)
                return csp_cli_usage(cli, "--threads takes a number from 1 to 1024"), -1;
            cli->threads = (unsigned)threads;
            i++;
        } else {
            argv[kept++] = argv[i];
        }
    }
    argv[kept] = NULL;
    return kept;
}

/* In JSON mode a failure is still one object on standard output. */
static void print_json_failure(struct csp_cli *cli)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_json_string(&json, "error", cli->last_failure.data);
    csp_json_end(&json);
    csp_cli_print(&out);
}

static bool is_help_option(const char *argument)
{
    return !strcmp(argument, "--help") || !strcmp(argument, "-h");
}

static int refuse_command(struct csp_cli *cli, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        cli->json |= !strcmp(argv[i], "--json");
    if (argv[1][0] == '-')
        return csp_cli_usage(cli, "the command comes first, '%s' and other options after it",
                             argv[1]);
    return csp_cli_usage(cli, "there is no command '%s'", argv[1]);
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    if (argc < 2 || !strcmp(argv[1], "help") || is_help_option(argv[1]))
        return argc > 2 ? help_on(cli, argv[2], argc, argv) : help();
    const char *name = !strcmp(argv[1], "--version") ? "version" : argv[1];
    const struct csp_command *command = find_command(name);
    if (!command)
        return refuse_command(cli, argc, argv);
    cli->command = command->name;
    if (command->start)
        return command->start(cli, argc, argv);
    argc = take_common_options(cli, argc - 1, argv + 1);
    if (argc < 0)
        return CSP_EXIT_USAGE;
    for (int i = 2; i <= argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help_option(argv[i]))
            return help_on(cli, command->name, argc, argv);
    return command->run(cli, argc, argv + 1);
}

/* Those that this process may use. */
static unsigned processor_count(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}

/* The array is rearranged when common options are taken out of it. */
static char **copy_arguments(int argc, char **argv)
{
    char **copy = csp_calloc((size_t)argc + 1, sizeof *copy);
    memcpy(copy, argv, (size_t)argc * sizeof *copy);
    return copy;
}

int main(int argc, char **argv)
{
    struct csp_cli cli = {.threads = processor_count(), .arguments = copy_arguments(argc, argv)};
    cli.diag.emit = print_message;
    cli.diag.user = &cli;
    int code = run(&cli, argc, argv);
    /* What was done, though not as well as asked for, has printed its own. */
    if (cli.json && code != CSP_EXIT_DONE && code != CSP_EXIT_QUALITY && cli.last_failure.len)
        print_json_failure(&cli);
    csp_buf_free(&cli.last_failure);
    free(cli.arguments);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "csprof: error: cannot write to standard output\n");
        if (code == CSP_EXIT_DONE)
            code = CSP_EXIT_TEMPORARY;
    }
    return code;
}
