#include "reference_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 2000 };

/* Of the sanitizers: what is called before they end the process. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static struct {
    pid_t pid; /* 0: none */
    int requests, answers;
} child;

/* Blocks until all of it went through; false when the other side is gone. */
static bool pass(int file, void *data, size_t size, bool writes)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = writes ? write(file, (char *)data + done, size - done)
                               : read(file, (char *)data + done, size - done);
        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return true;
}

/* Answers until the parent is gone. What crashes here is OpenCSD's affair: neither the fuzzer nor a
 * sanitizer is to report it. */
static _Noreturn void serve(csp_reference_fn *decode, int requests, int answers)
{
    static const int signals[] = {SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,
                                  SIGILL,  SIGALRM, SIGINT,  SIGTERM};
    int nowhere = open("/dev/null", O_WRONLY);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(NULL); /* libFuzzer's: it writes the input of the fork */
    dup2(nowhere, STDERR_FILENO);
    struct csp_elements elements = {0};
    CSP_VEC(uint8_t) input = {0};
    size_t size;
    while (pass(requests, &size, sizeof size, false)) {
        input.len = elements.list.len = 0;
        csp_vec_reserve(&input, size + 1);
        if (!pass(requests, input.data, size, false))
            break;
        size_t count = SIZE_MAX;
        if (decode(input.data, size, &elements))
            count = elements.list.len;
        if (!pass(answers, &count, sizeof count, true))
            break;
        if (count != SIZE_MAX &&
            !pass(answers, elements.list.data, count * sizeof *elements.list.data, true))
            break;
    }
    _exit(0);
}

static void start(csp_reference_fn *decode)
{
    int requests[2], answers[2];
    if (pipe2(requests, O_CLOEXEC) || pipe2(answers, O_CLOEXEC)) {
        perror("pipe");
        _exit(1);
    }
    signal(SIGPIPE, SIG_IGN);
    child.pid = fork();
    if (child.pid == 0) {
        close(requests[1]);
        close(answers[0]);
        serve(decode, requests[0], answers[1]);
    }
    close(requests[0]);
    close(answers[1]);
    child.requests = requests[1];
    child.answers = answers[0];
}

static bool stop(void)
{
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    close(child.requests);
    close(child.answers);
    child.pid = 0;
    return false;
}

bool csp_reference_ask(csp_reference_fn *decode, const uint8_t *input, size_t size,
                       struct csp_elements *elements)
{
    size_t count;
    if (!child.pid)
        start(decode);
    struct pollfd answer = {.fd = child.answers, .events = POLLIN};
    if (!pass(child.requests, &size, sizeof size, true) ||
        !pass(child.requests, (void *)(uintptr_t)input, size, true) ||
        poll(&answer, 1, LIMIT_MS) != 1 || !pass(child.answers, &count, sizeof count, false))
        return stop();
    if (count == SIZE_MAX)
        return false;
    elements->list.len = 0;
    csp_vec_reserve(&elements->list, count);
    if (!pass(child.answers, elements->list.data, count * sizeof *elements->list.data, false))
        return stop();
    elements->list.len = count;
    return true;
}
