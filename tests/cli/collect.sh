#!/usr/bin/env bash
# csprof collect: the program is untouched, and each way to fail has its message and exit code.
set -uo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
cd "$work"

expect() { # CODE TEXT COMMAND...
    local code=$1 text=$2 got=0
    shift 2
    "$@" >out 2>err || got=$?
    [ $got = "$code" ] || { fail "$*: exit code $got, not $code"; cat err; }
    grep -q -- "$text" err || { fail "$*: no '$text' in:"; cat err; }
}

expect 4 "csprof collect --emulate" "$CSPROF" collect -- /bin/true
expect 2 "no program" "$CSPROF" collect --emulate
expect 2 "there is no option '--windows'" "$CSPROF" collect --emulate --windows 3 -- ./p
expect 2 "'0' is not a value" "$CSPROF" collect --emulate --window 0 -- ./p
expect 2 "'etmv3' is not a value" "$CSPROF" collect --emulate --protocol etmv3 -- ./p
expect 3 "no such program" "$CSPROF" collect --emulate -- ./missing
expect 3 "not an AArch64 program" "$CSPROF" collect --emulate -- "$0"
[ ! -e csprof.data ] || fail "a failure left csprof.data"

command -v qemu-aarch64 >/dev/null || { echo "skipped in part: no qemu-aarch64"; exit $((failed ? 1 : 77)); }
[ -e "$CSPROF_BUILD/csprof-emulate.so" ] || { echo "skipped in part: no emulator in this build"; exit $((failed ? 1 : 77)); }
cat >p.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char line[100] = "";
    const char *what = argc > 1 ? argv[1] : "";
    for (volatile int i = 0; i < 100000; i++)
        ;
    if (!strcmp(what, "abort"))
        abort();
    if (!strcmp(what, "exec"))
        execl("/bin/true", "true", (char *)0);
    if (!strcmp(what, "fork"))
        return fork() == 0 ? 0 : wait(NULL) < 0;
    if (fgets(line, sizeof line, stdin))
        printf("%s|%d|%s|%s", argv[0], argc, what, line);
    fprintf(stderr, "on stderr %d\n", open_next());
    return 42;
}
END
sed -i 's/^int main/#include <fcntl.h>\nstatic int open_next(void) { return open("\/dev\/null", O_RDONLY); }\nint main/' p.c
sources=$(command -v clang-22) || { echo "skipped in part: no clang-22"; exit $((failed ? 1 : 77)); }
"$sources" --target=aarch64-linux-gnu -fuse-ld=lld-22 -O1 p.c -o p || exit 1

expect 4 "missing-qemu not found" "$CSPROF" collect --emulate --qemu missing-qemu -- ./p
expect 75 "cannot create" "$CSPROF" collect --emulate -o /nonexistent/csprof.data -- ./p
# The next free file descriptor is that which QEMU alone leaves it.
sysroot=()
[ -e /lib/ld-linux-aarch64.so.1 ] || sysroot=(-L /usr/aarch64-linux-gnu)
plain=$(qemu-aarch64 "${sysroot[@]}" ./p "a b" <<<"from stdin" 2>&1 >/dev/null)
expect 42 "$plain" "$CSPROF" collect --emulate -- ./p "a b" <<<"from stdin"
# Compressed, what tells of trace is still where perf looks for it: it decodes the same of each unit.
for protocol in etmv4 "ete --fault trbe=16"; do
    command -v perf >/dev/null || { echo "skipped in part: no perf"; break; }
    "$CSPROF" collect -q --emulate --protocol $protocol -o trace.data -- ./p </dev/null >/dev/null 2>&1
    "$CSPROF_BUILD/tests/perfdata_copy" trace.data packed.data 1 >/dev/null || fail "$protocol: cannot be compressed"
    perf script -F ip -i trace.data >decoded 2>/dev/null
    perf script -F ip -i packed.data 2>/dev/null | cmp -s - decoded || fail "$protocol: perf decodes something else of what is compressed"
    [ "$(wc -l <decoded)" -gt 1000 ] || fail "$protocol: perf decodes $(wc -l <decoded) lines"
done
[ "$(cat out)" = "./p|2|a b|from stdin" ] || fail "its output is: $(cat out)"
grep -q "next: csprof gen" err || fail "no summary"
cp csprof.data first
expect 134 "killed by signal 6" "$CSPROF" collect --emulate -- ./p abort
expect 0 "1 forked process was not recorded" "$CSPROF" collect --emulate -- ./p fork
expect 0 "execve" "$CSPROF" collect --emulate -- ./p exec
expect 5 "not a single sample" "$CSPROF" collect --emulate --period 1000000000 -o none.data -- ./p fork
grep -q "next: csprof gen" err && fail "no samples, and csprof gen is said to be next"
expect 3 "missing is not a folder" "$CSPROF" collect --emulate --sysroot missing -- ./p
expect 75 "is a folder" "$CSPROF" collect --emulate -o . -- ./p
expect 3 'no such program in $PATH; put ./ before it' "$CSPROF" collect --emulate -- p
# Whoever stops csprof alone stops the program, and has what was recorded until then.
for signal in TERM HUP; do
    rm -f csprof.data
    mkfifo never
    "$CSPROF" collect --emulate -- ./p <>never >out 2>err &
    pid=$!
    until pgrep -P $pid -x qemu-aarch64 >/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    qemu=$(pgrep -P $pid)
    sleep 1
    kill -$signal $pid
    wait $pid
    code=$?
    [ $code = $((128 + $(kill -l $signal))) ] || fail "after SIG$signal: exit code $code"
    kill -0 "$qemu" 2>/dev/null && fail "after SIG$signal the program goes on"
    grep -q 'csprof.data: [1-9][0-9]* samples in 1 thread; next: csprof gen' err || { fail "SIG$signal:"; cat err; }
    expect 0 "" "$CSPROF" decode -i csprof.data --format none
    rm never
done
for data in first csprof.data; do
    expect 0 "" "$CSPROF" decode -i $data --format ranges -o ranges
    [ -s ranges ] || fail "nothing decoded from $data"
done
expect 42 "" "$CSPROF" collect --emulate --json -- ./p <<<"x"
python3 -c 'import json; r = json.load(open("out")); assert r["exit_code"] == 42 and r["windows"] > 0' ||
    fail "--json printed $(cat out)"
exit $failed
