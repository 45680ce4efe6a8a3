/* csprof doctor: what this machine can record, and what would let it record more. */
#include "cli/cli.h"

#include "collect/binary_check.h"
#include "collect/calibrate.h"
#include "collect/doctor.h"

#include <string.h>

static const char usage[] =
    "usage: csprof doctor [--sysfs DIR | --calibrate] [-b BINARY]\n"
    "\n"
    "Tells what this machine can record and how, and for everything that is missing what would\n"
    "fix it: a kernel version, a module, a sysctl, another instance.\n"
    "\n"
    "  --sysfs DIR   examine a copy of another machine instead: DIR/sys, DIR/proc and, where it "
    "is\n"
    "                there, the kernel's log in DIR/dmesg\n"
    "  -b BINARY     does this program have what a profile needs: pseudo probes or "
    "discriminators,\n"
    "                frame pointers (also in the libraries it uses), a build-id; with the flags "
    "to\n"
    "                add. With -b alone the machine is examined, too.\n"
    "  --calibrate   also measure, on each kind of core, which of the kernel module's "
    "configurations\n"
    "                (pmu_pulse, pmu_pulse_counter) its PMU counts as it should: under a second "
    "each\n"
    "\n"
    "What it says about recording from trace units follows the kernel's sources and an emulated\n"
    "machine; nothing of it has been proved on Arm silicon yet.\n"
    "Exit codes: 0 it can be recorded (and the binary has all); 3 BINARY cannot be read; 4 this\n"
    "machine cannot record a history of branches; 5 the binary lacks something, or\n"
    "no configuration counts right (--calibrate).\n";

struct doctor {
    const char *root, *binary;
    bool calibrate;
};

static int parse_options(struct csp_cli *cli, struct doctor *doctor, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char **value = NULL;
        if (!strcmp(argv[i], "--calibrate")) {
            doctor->calibrate = true;
            continue;
        }
        if (!strcmp(argv[i], "--sysfs"))
            value = &doctor->root;
        else if (!strcmp(argv[i], "-b"))
            value = &doctor->binary;
        else
            return csp_cli_unexpected(cli, argv[i], NULL);
        if (++i == argc)
            return csp_cli_usage(cli, "%s needs a value", argv[i - 1]);
        *value = argv[i];
    }
    if (doctor->calibrate && *doctor->root)
        return csp_cli_usage(cli, "--calibrate measures this machine, and --sysfs is of another");
    return 0;
}

/* What was not asked for is null, here and below. */
static void print(const struct csp_cli *cli, const struct csp_target *target,
                  const struct csp_assessment *assessment, const struct csp_binary_check *check,
                  const struct csp_calibration *calibration)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    if (cli->json) {
        csp_json_object(&json, NULL);
        csp_doctor_json(target, assessment, &json);
        if (check)
            csp_binary_check_json(check, &json);
        if (calibration)
            csp_calibration_json(calibration, &json);
        csp_json_end(&json);
    } else {
        csp_doctor_text(target, assessment, &out);
        if (check)
            csp_binary_check_text(check, &out);
        if (calibration)
            csp_calibration_text(calibration, &out);
    }
    csp_cli_print(&out);
}

static int judge(const struct csp_assessment *assessment, const struct csp_binary_check *check,
                 const struct csp_calibration *calibration)
{
    if (!csp_assessment_has_branches(assessment))
        return CSP_EXIT_ENV;
    bool lacking = (check && !check->complete) || (calibration && !calibration->best);
    return lacking ? CSP_EXIT_QUALITY : CSP_EXIT_DONE;
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct doctor doctor = {.root = ""};
    struct csp_target target;
    struct csp_assessment assessment;
    struct csp_binary_check check;
    struct csp_calibration calibration = {0};
    int code = parse_options(cli, &doctor, argc, argv);
    if (code)
        return code;
    if (*doctor.root && !csp_tree_has(doctor.root, "."))
        return csp_error_exit(
            csp_fail(&cli->diag, CSP_ERR_INPUT, "%s: no such directory", doctor.root));
    if (doctor.binary) {
        int error = csp_binary_check(&check, doctor.binary, &cli->diag);
        if (error)
            return csp_error_exit(error);
    }
    csp_target_read(&target, doctor.root);
    csp_assess(&assessment, &target);
    if (doctor.calibrate)
        code = csp_error_exit(csp_calibrate(&calibration, &target, &cli->diag));
    if (!code) {
        print(cli, &target, &assessment, doctor.binary ? &check : NULL,
              doctor.calibrate ? &calibration : NULL);
        code = judge(&assessment, doctor.binary ? &check : NULL,
                     doctor.calibrate ? &calibration : NULL);
    }
    if (doctor.binary)
        csp_binary_check_free(&check);
    csp_calibration_free(&calibration);
    csp_assessment_free(&assessment);
    csp_target_free(&target);
    return code;
}

const struct csp_command csp_command_doctor = {
    .name = "doctor",
    .summary = "what this machine can record, and what is missing",
    .usage = usage,
    .run = run,
};
