#!/usr/bin/env bash
# A real Linux records with its own perf and drivers; csprof and two perfs must find what really ran.
# $CSPROF, $CSPROF_BUILD and $CSPROF_SOURCE are set by ctest. KEEP=DIR keeps everything there.
set -euo pipefail
machine=$CSPROF_SOURCE/emulate/machine
plugin=$CSPROF_BUILD/csprof-machine.so
cache=${CSPROF_MACHINE:-${XDG_CACHE_HOME:-$HOME/.cache}/csprof/machine}
. "$CSPROF_SOURCE/tests/script.sh"
[ -e "$plugin" ] || skip "built without the emulator (CSPROF_EMULATE)"
skip_on() { # TEXT COMMAND...: when the command says that something cannot be had
    local text=$1 status=0
    shift
    "$@" || status=$?
    case $status in
    0) ;;
    4 | 75 | 77) skip "$text (see above)" ;;
    *) exit 1 ;;
    esac
}

[ -z "${KEEP:-}" ] || { work=$KEEP && trap - EXIT && mkdir -p "$work"; }
. "$CSPROF_SOURCE/tests/machine/judge.sh"
cd "$work"
skip_on "no cross compiler for the programs" "$tests/programs/build.sh" . bare mark signals
skip_on "the guest's packages or tools cannot be had" "$machine/build-image"
cp "$tests/machine/guest.sh" .
"$machine/build-module" "$machine/guest/extout_standin.c" extout_standin.ko ||
    echo "skipped: the pulse: its module cannot be built (see above)"
started=$SECONDS
"$machine/run" --plugin "$plugin" --truth truth --dmesg dmesg -- true ||
    { echo "FAILED: boot and halt"; exit 1; }
echo "boot and halt: $((SECONDS - started)) s"
"$machine/run" --limit 900 --plugin "$plugin" --truth truth --dmesg dmesg -- sh guest.sh >output 2>errors ||
    { echo "FAILED: the guest's commands"; cat output errors perf.log; exit 1; }

# What the guest ran, by the paths of its mappings.
mkdir -p symfs/share
cp -r "$cache/image/root/." symfs
cp bare signals mark symfs/share
below=0x1000000 # where the static program is

perf_branches() { # PERF RECORDING MARK
    "$1" script -i "$2" --symfs symfs --itrace=b -F ip,addr,flags 2>/dev/null |
        python3 "$tests/machine/compare.py" branches truth "$3" $below
}
older_perf() { # NAME MARK
    "$CSPROF_BUILD/tests/perfdata_copy" "$1.data" "$1.copy" >/dev/null &&
        python3 "$tests/machine/as_version_1.py" "$1.copy" "$1.version1" &&
        perf_branches perf "$1.version1" "$2"
}
quiet_kernel() { ! grep -E 'WARNING:|BUG:|timeout while' dmesg && echo "no warning"; }
quiet_machine() { ! grep '^machine:' errors && echo "no complaint"; }
duty() { # NAME MARK WANTED
    local is
    is=$(python3 "$tests/machine/compare.py" duty truth "$2" 7)
    echo "$1: $is of the instructions"
    awk -v is="$is" -v wanted="$3" 'BEGIN { exit !(is > wanted * 0.9 && is < wanted * 1.1) }'
}

expect "the kernel's log" quiet_kernel
expect "the devices" quiet_machine
expect "csprof, one thread" decode runs single 1
expect "csprof, threads on two CPUs" decode runs threads 2
expect "csprof, system-wide" decode runs system 3 $below
expect "csprof, strobing one window in 3" decode runs strobe2 8
expect "csprof, strobing one window in 17" decode runs strobe16 9
expect "csprof, a ring that is too small" decode rest small 17 # mark A
expect "csprof, a filter on addresses" decode runs filter 18   # mark B
for feature in retstack:19 cycacc:20 branch_broadcast:21; do # marks C, D, E
    IFS=: read -r name mark <<<"$feature"
    engine=both expect "csprof, both engines, $name" decode runs "$name" "$mark"
done
expect "csprof, two programs in one record" decode runs execve 22 # mark F
expect "csprof, the vdso" decode runs vdso 23                      # mark G
expect "the duty of autofdo,preset=1" duty strobe2 8 0.33333
expect "the duty of autofdo,preset=4" duty strobe16 9 0.05882
expect "csprof, pauses of one thread" pauses pause 4
if [ -e extout_standin.ko ]; then
    expect "windows of the pulse" python3 "$tests/machine/compare.py" lengths truth 0 1000
    expect "csprof, the pulse" pauses pulse 0
fi
if newer=$("$machine/host-perf" --version); then
    echo "newer perf: $newer"
    expect "perf of the guest, one thread" perf_branches "$machine/host-perf" single.data 1
    expect "perf of the guest, threads" perf_branches "$machine/host-perf" threads.data 2
    for feature in retstack:19 cycacc:20 branch_broadcast:21; do
        IFS=: read -r name mark <<<"$feature"
        expect "perf of the guest, $name" perf_branches "$machine/host-perf" $name.data "$mark"
    done
    expect "perf of the guest, system-wide" perf_branches "$machine/host-perf" system.data 3
else
    echo "skipped: comparison with the guest's perf: its packages cannot be had"
fi
if command -v perf >/dev/null; then
    expect "perf of this machine, one thread" older_perf single 1
    expect "perf of this machine, threads" older_perf threads 2
else
    echo "skipped: comparison with this machine's perf: it is not installed"
fi
exit $failed
