/* csprof validate: which part of it is asked for, and its help. */
#include "cli/validate_options.h"

#include <string.h>

int csp_validate_at_least(struct csp_cli *cli, const char *what, double value, double least,
                          const char *option)
{
    if (value >= least)
        return 0;
    return csp_fail(&cli->diag, CSP_ERR_QUALITY, "%s is %.3f%%, less than the %g%% asked for (%s)",
                    what, value, least, option);
}

int csp_validate_at_most(struct csp_cli *cli, const char *what, double value, double most,
                         const char *option)
{
    if (value <= most)
        return 0;
    return csp_fail(&cli->diag, CSP_ERR_QUALITY, "%s is %.3f%%, more than the %g%% allowed (%s)",
                    what, value, most, option);
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "profile"))
        return csp_validate_profile(cli, argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "skid"))
        return csp_validate_skid(cli, argc - 1, argv + 1);
    if (argc > 1 && argv[1][0] != '-')
        return csp_cli_unexpected(cli, argv[1],
                                  CSP_CLI_GIVEN_BY_I ", and what else there is to validate is "
                                                     "called profile or skid");
    return csp_validate_recording(cli, argc, argv);
}

const struct csp_command csp_command_validate = {
    .name = "validate",
    .summary = CSP_VALIDATE_SUMMARY,
    .usage =
        "usage: csprof validate [-i FILE] [options]\n"
        "       csprof validate profile A B [options]\n"
        "       csprof validate profile A -b BINARY [options]\n"
        "       csprof validate skid [options]\n"
        "\n"
        "Of a recording: how many samples have a branch history and by what evidence, why the "
        "others\n"
        "have none, by thread, file and function; what the windows were like, beside what was "
        "planned;\n"
        "how many samples contradict themselves, and whether there are histories of the hot code.\n"
        "Rates come with the range that holds the true one with 95% certainty (Wilson).\n"
        "\n"
        "  -i FILE           the recording (csprof.data)\n"
        "  -b FILE           the program (by default the one that most samples were taken in)\n"
        "  --symfs DIR       where the recording's files are, instead of at their own paths\n"
        "  --rules RULE,...  what counts as a contradiction "
        "(leaf,stack,fall-through,branch,return;\n"
        "                    see `csprof help gen`)\n"
        "  --min-stitched P  exit with 5 when fewer than P per cent of the samples have a history\n"
        "  --max-bogus P     exit with 5 when more than P per cent of them contradict themselves\n"
        "  --spe FILE        instead: where the recording's samples were taken, beside what the "
        "SPE records\n"
        "                    in FILE (perf record -e arm_spe_0//) say of the same instructions\n"
        "  --top N           rows of each table (10); --json has all\n"
        "\n"
        "With two profiles: how much A and B say the same. Overlap is the sum of the smaller "
        "share\n"
        "of all counts that one of the two gives to each thing: 100% when they are proportional.\n"
        "Functions, blocks and calling contexts are compared, and what differs most is listed.\n"
        "\n"
        "  B                 another profile, or what `csprof collect --emulate --truth` wrote: "
        "the\n"
        "                    exact counts of that run, which need -b (and know no contexts); or\n"
        "                    an instrumented profile (.profdata), which tells how often each\n"
        "                    function was entered: functions are compared by that\n"
        "  -b FILE           the binary that ran\n"
        "  --min-overlap P   exit with 5 when the overlap by blocks is below P per cent\n"
        "  --min-function-overlap P, --min-context-overlap P\n"
        "                    the same for functions and contexts\n"
        "  --context-depth N compare contexts of a function and its N nearest callers (default: "
        "all)\n"
        "  --top N           differences to list of each kind (10)\n"
        "\n"
        "With a profile and a binary: whether the profile fits that program. The compiler drops "
        "the\n"
        "counts of every function whose control flow has another checksum than the profile's.\n"
        "\n"
        "  -b FILE           the program as it is now, built with -fpseudo-probe-for-profiling\n"
        "  --max-lost P      exit with 5 when more than P per cent of the counts are lost (5)\n"
        "  --top N           functions to list (10)\n"
        "\n"
        "skid: runs a program of which it is known where its time goes, samples it as well as "
        "this\n"
        "machine can (down to a software timer), and shows where the samples landed.\n"
        "\n"
        "  --workload NAME   chase: a loop with a load that waits for memory (default); seq: the "
        "same\n"
        "                    loads one line after the other; vecmix: the same sums with and "
        "without\n"
        "                    vector instructions\n"
        "  --seconds N       how long (5)\n"
        "  --svg FILE        a picture of it\n"
        "  --spe FILE        beside it, SPE records of `csprof-workload` (in csprof's libexec "
        "folder)\n"
        "  -o FILE           keep the recording\n"
        "\n"
        "exit codes: 0 done; 1 failed; 2 usage; 3 unusable input; 4 environment;\n"
        "5 done, but a threshold was not reached; 75 try again.\n",
    .run = run,
};
