#!/usr/bin/env bash
# Emulated recordings are decoded to what really happened: by csprof, branch for branch and sample
# for sample, and by perf 6.1, without a warning, to the same branches and number of instructions.
set -euo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work"

needs_emulator
"$CSPROF_SOURCE/tests/programs/build.sh" . || exit $?
"${CLANG:-clang-22}" --target=aarch64-linux-gnu -fuse-ld=lld-22 -O2 -g -fno-omit-frame-pointer \
    -mno-omit-leaf-frame-pointer "$CSPROF_SOURCE/demo/mill/unity.c" -o mill

perf=$(command -v perf || true)
judge=
[ -n "$perf" ] || echo "skipped in part: there is no perf to decode the recordings with"

# Warnings of code without a file are right: the program itself jumps there to leave a handler.
quiet_decode() {
    "$CSPROF" decode -q -i csprof.data ${judge:+--engine $judge} "$@" 2>err || { cat err; return 1; }
    ! grep -v "is in no mapping that was recorded" err
}

perf_script() { # OUTPUT OPTION...
    local output=$1
    shift
    "$perf" script -i csprof.data "$@" >"$output" 2>perf.err || { cat perf.err; return 1; }
    ! grep . perf.err
}

compare() {
    python3 "$here/compare_truth.py" truth "$@"
}

check() { # PROGRAM ARGUMENT OPTION...
    local program=$1 argument=$2 code=0
    shift 2
    echo "-- $program $argument, $*"
    qemu-aarch64 "${sysroot[@]}" "./$program" "$argument" >expected
    "$CSPROF" collect --emulate -q --truth truth "$@" -- "./$program" "$argument" >output || code=$?
    [ $code = 0 ] && cmp expected output || { echo "its exit code is $code"; return 1; }
    quiet_decode --format ranges -o ranges && compare ranges ranges || return 1
    quiet_decode --format samples -o samples && compare samples samples || return 1
    [ -n "$perf" ] || return 0
    perf_script branches --itrace=b -F tid,event,ip,addr && compare branches branches || return 1
    perf_script each --itrace=i1i -F event,ip || return 1
    compare instructions "$(grep -c instructions: each)"
}

sysroot=()
[ -e /lib/ld-linux-aarch64.so.1 ] || sysroot=(-L /usr/aarch64-linux-gnu)

for protocol in etmv4 ete; do
    options=(--protocol "$protocol" --period 9001 --window 600)
    check deep_recursion 2 "${options[@]}" || failed=1
    check threads 1 "${options[@]}" || failed=1
    check signals 500 "${options[@]}" || failed=1
    check mill "$CSPROF_SOURCE/demo/unseen.mill" --protocol "$protocol" --period 90001 || failed=1
done
# What else a trace unit may do, and all of it together; judged by both engines, too.
judge=both
features() { # PROTOCOL LIST
    local options=(--trace-options "$2" --protocol "$1" --period 9001 --window 600)
    check deep_recursion 1 "${options[@]}" || failed=1
    check signals 200 "${options[@]}" || failed=1
}
features etmv4 retstack
features etmv4 cyclecount
features etmv4 branch-broadcast
features ete retstack,cyclecount,branch-broadcast
perf= judge= # they have had their say about every kind of packet
check deep_recursion 2 --emulate-granularity block || failed=1
check threads 1 --emulate-granularity block --protocol ete || failed=1
check signals 1000 --emulate-granularity block --timestamp-interval 100 || failed=1
check signals 1000 --strategy free-running --period 8339 --window 1009 --seed 7 || failed=1
# Long windows synchronise again in the middle.
check deep_recursion 1 --window 200000 --period 300007 || failed=1
exit $failed
