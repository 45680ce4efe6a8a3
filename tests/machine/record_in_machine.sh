#!/usr/bin/env bash
# csprof collect records on a real arm64 Linux with a trace unit for each CPU (docs/machine.md): what it
# writes is decoded and stitched to what really ran, and perf reads it. Builds the recorder for arm64
# itself. KEEP=DIR keeps everything there.
set -euo pipefail
machine=$CSPROF_SOURCE/emulate/machine
plugin=$CSPROF_BUILD/csprof-machine.so
libraries=/usr/lib/aarch64-linux-gnu
. "$CSPROF_SOURCE/tests/script.sh"
[ -e "$plugin" ] || skip "built without the emulator (CSPROF_EMULATE)"
needs aarch64-linux-gnu-gcc
[ -e $libraries/libelf.so.1 ] || skip "no arm64 libraries: cmake/install-packages.sh arm64"
[ -z "${KEEP:-}" ] || { work=$KEEP && trap - EXIT && mkdir -p "$work"; }
. "$CSPROF_SOURCE/tests/machine/judge.sh"
cd "$work"
"$tests/programs/build.sh" . bare mark calls_kernel || skip "the programs cannot be built (see above)"
cmake -S "$CSPROF_SOURCE" -B build -G Ninja -DCMAKE_TOOLCHAIN_FILE="$CSPROF_SOURCE/cmake/arm64.cmake" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCSPROF_RECORDER_ONLY=ON -DCSPROF_TESTS=OFF -DCSPROF_EMULATE=OFF \
    >build.log 2>&1 && cmake --build build --target csprof >>build.log 2>&1 ||
    { echo "FAILED: the arm64 recorder does not build"; tail build.log; exit 1; }
mkdir -p lib symfs/share
cp build/csprof .
for name in libelf.so.1 libzstd.so.1 libxxhash.so.0 libz.so.1 libm.so.6 libc.so.6 ld-linux-aarch64.so.1; do
    for folder in $libraries /lib/aarch64-linux-gnu /usr/aarch64-linux-gnu/lib; do
        [ ! -e "$folder/$name" ] || { cp -L "$folder/$name" lib/ && break; }
    done
done
cp -r bare mark calls_kernel csprof lib symfs/share
"$machine/build-module" "$machine/guest/extout_standin.c" extout_standin.ko &&
    "$CSPROF_SOURCE/kmod/build" --debian . >/dev/null || rm -f extout_standin.ko
[ -e extout_standin.ko ] || echo "skipped: the pulse: its modules cannot be built (see above)"
cat >guest.sh <<'END'
set -e
csprof="lib/ld-linux-aarch64.so.1 --library-path lib ./csprof"
windows="--strategy free-running --period 70027 --window 5003 --overhead 100"
$csprof doctor >doctor.txt
./mark 1
$csprof collect -q $windows -o single.data -- ./bare 10000 1 >/dev/null
./mark 2
$csprof collect -q --strategy strobe --samples 20000 --trace-buffer 8Mi -o strobe.data -- ./bare 6000 1 >/dev/null
# A process that runs already.
./bare 1000000000 1 >/dev/null &
./mark 3
$csprof collect -q $windows -o pid.data -p $! --duration 0.03
kill $! 2>/dev/null || echo "the program ended before it was recorded to the end"
# Threads on both CPUs share the ETR, which is drained when one of them ends.
./mark 4
$csprof collect -q $windows --trace-buffer 8Mi -o threads.data -- ./bare 5000 2 >/dev/null
# Whole CPUs, on which something begins to run.
whole() { # MARK NAME ARGUMENT...
    ./mark $1
    name=$2
    shift 2
    rm -f $name.data
    $csprof collect -q $windows --trace-buffer 8Mi -o $name.data "$@" &
    until [ -s $name.data ]; do sleep 0.05; done
    sleep 0.1
    ./bare 30000 2 >/dev/null
    kill -INT $! || echo "$name: csprof ended by itself"
    wait
}
whole 5 all -a
whole 6 cpus -C 0,1
# One CPU of two: what begins on the other one is known, too.
whole 8 one -C 1
# Counters that are set off against each other, of whole CPUs: beside a command, a process, on CPUs, on all.
windows="--strategy user-stagger --period 70030 --window 5003 --overhead 100"
./mark 9
$csprof collect -q $windows --trace-buffer 8Mi -o stagger.data --json -- ./bare 10000 1 >stagger.json 2>stagger.err
# A busy process is there from the beginning: were windows as close, the guest would do hardly anything but open and
# close them, and the loop that sets the counters off would take minutes.
windows="--strategy user-stagger --period 350150 --window 5003 --overhead 100"
./bare 1000000000 1 >/dev/null &
./mark A
$csprof collect -q $windows --trace-buffer 8Mi -o stagger_pid.data -p $! --duration 0.03
kill $! 2>/dev/null || echo "the program ended before it was recorded to the end"
windows="--strategy user-stagger --period 70030 --window 5003 --overhead 100"
whole B stagger_cpus -C 0,1
whole C stagger_all -a
windows="--strategy strobe --samples 20000"
./bare 1000000000 1 >/dev/null &
./mark D
$csprof collect -q $windows --trace-buffer 8Mi -o strobe_pid.data -p $! --duration 0.03
kill $! 2>/dev/null || echo "the program ended before it was recorded to the end"
whole E strobe_cpus -C 0,1
whole F strobe_all -a
# From the end of each system call to the next one.
./mark J
$csprof collect -q --resume-at raw_syscalls:sys_exit --pause-at raw_syscalls:sys_enter -o calls.data -- ./calls_kernel 50 >/dev/null
# The pulse: the configuration of kmod/, and pauses that count while the unit is enabled, as TRCEXTOUT1.
if [ -e extout_standin.ko ]; then
    insmod csprof_pulse-7.3.ko
    insmod extout_standin.ko
    windows="--strategy pulse --period 105002 --window 4000 --overhead 100"
    ./mark 7
    $csprof collect -q $windows -o pulse.data -- ./bare 20000 1 >/dev/null
    ./bare 1000000000 1 >/dev/null &
    ./mark G
    $csprof collect -q $windows -o pulse_pid.data -p $! --duration 0.03
    kill $! 2>/dev/null || echo "the program ended before it was recorded to the end"
    whole H pulse_cpus -C 0,1
    whole I pulse_all -a
    rmmod extout_standin
    rmmod csprof_pulse
fi
END
status=0
"$machine/run" --limit 900 --plugin "$plugin" --truth truth --dmesg dmesg -- sh guest.sh >output 2>errors || status=$?
case $status in
0) ;;
4 | 75) cat errors && skip "the machine cannot be run (see above)" ;;
*) cat output errors && echo "FAILED: the guest's commands" && exit 1 ;;
esac

# What else ran on the recorded CPUs.
cp -r "${CSPROF_MACHINE:-${XDG_CACHE_HOME:-$HOME/.cache}/csprof/machine}/image/root/." symfs

quiet_kernel() { ! grep -E 'WARNING:|BUG:' dmesg && echo "no warning"; }
# Both perfs take the trace IDs from version 1 of AUXTRACE_INFO, and perf of this machine reads no other.
read_by() { # PERF NAME
    "$1" script -i "$2.data" --symfs symfs --itrace=b -F ip,addr 2>/dev/null | grep -c .
}
expect "the kernel's log" quiet_kernel
expect "doctor finds free-running" grep "can record with --strategy free-running" doctor.txt
recordings="single strobe pid threads all cpus one stagger stagger_pid stagger_cpus stagger_all strobe_pid strobe_cpus strobe_all calls"
expect "every stitched window is true" pauses single 1
expect "strobed runs are true" decode runs strobe 2
expect "an attached process" pauses pid 3
expect "threads on two CPUs" pauses threads 4
expect "system-wide" decode windows all 5
expect "two CPUs" decode windows cpus 6
expect "one CPU of two" decode windows one 8
set_off() { # how far apart the counters are, as csprof itself measured
    python3 -c 'import json; r = json.load(open("stagger.json")); print(r["least_phase"], r["most_phase"])
assert 5003 <= r["least_phase"] <= r["most_phase"] < 7000'
}
expect "counters set off against each other" set_off
expect "user-stagger" pauses stagger 9
expect "user-stagger, an attached process" decode windows stagger_pid 17
expect "user-stagger, two CPUs" decode windows stagger_cpus 18
expect "user-stagger, system-wide" decode windows stagger_all 19
expect "strobe, an attached process" decode runs strobe_pid 20
expect "strobe, two CPUs" decode runs strobe_cpus 21
expect "strobe, system-wide" decode runs strobe_all 22
expect "tracepoints" pauses calls 26
if [ -e extout_standin.ko ]; then
    recordings="$recordings pulse pulse_pid pulse_cpus pulse_all"
    expect "the pulse" pauses pulse 7
    expect "the pulse, an attached process" pauses pulse_pid 23
    expect "the pulse, two CPUs" decode windows pulse_cpus 24
    expect "the pulse, system-wide" decode windows pulse_all 25
fi
perfs=
! command -v perf >/dev/null || perfs="perf"
"$machine/host-perf" --version >/dev/null && perfs="$perfs $machine/host-perf"
for perf in $perfs; do
    for name in $recordings; do
        expect "$("$perf" --version) reads $name" read_by "$perf" $name
    done
done
exit $failed
