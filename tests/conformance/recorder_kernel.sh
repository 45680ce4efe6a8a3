#!/usr/bin/env bash
# csprof collect meets a kernel whose perf is played (tests/kernel/README.md): a TRBE on each of 24 CPUs and
# 20,000 windows a second. What the rings could hold is in the recording, and all that was lost is counted.
source "${CSPROF_SOURCE:?}/tests/script.sh"
needs clang-22 ld.lld-22 llvm-profdata-22 python3
needs_emulator
kernel=${CSPROF_BUILD:?}/tests/perf_kernel.so
[ -e "$kernel" ] || skip "this build has no perf_kernel.so"
cd "$work" || exit 1
clang-22 --target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling \
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-pie -no-pie -fuse-ld=lld-22 -o mill \
    "$CSPROF_SOURCE/demo/mill/unity.c" || exit 77
"$CSPROF" collect -q --emulate --protocol ete --fault trbe=64 --period 2003 --window 1000 -o one.data -- \
    ./mill "$CSPROF_SOURCE/demo/recorded.mill" >/dev/null || { fail "the recording to play"; exit 1; }
"$CSPROF_BUILD/tests/kernel_script" one.data script registers >/dev/null || { fail "the script"; exit 1; }
python3 - <<'END_OF_PYTHON'
import os
def put(path, text):
    path = 'tree/' + path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, 'w').write(text + '\n')
cpus = 24
devices = 'sys/bus/event_source/devices/'
put('proc/sys/kernel/arch', 'aarch64')
put('proc/sys/kernel/osrelease', '7.3.4')
put('proc/self/status', 'Name: csprof\nCapEff:\t000001ffffffffff')
for name, value in (('paranoid', -1), ('mlock_kb', 516), ('max_sample_rate', 100000)):
    put('proc/sys/kernel/perf_event_' + name, str(value))
put('proc/sys/kernel/perf_cpu_time_max_percent', '25')
put('sys/devices/system/cpu/online', '0-%d' % (cpus - 1))
put(devices + 'armv8_pmuv3_0/type', '8')
put(devices + 'armv8_pmuv3_0/cpus', '0-%d' % (cpus - 1))
put(devices + 'armv8_pmuv3_0/events/cpu_cycles', 'event=0x0011')
put(devices + 'armv8_pmuv3_0/events/trcextout1', 'event=0x4011')
put(devices + 'cs_etm/type', '9')
for name, bits in (('contextid', 'config:14'), ('timestamp', 'config:28'), ('preset', 'config:0-3'),
                   ('sinkid', 'config2:0-31'), ('configid', 'config2:32-63')):
    put(devices + 'cs_etm/format/' + name, bits)
put(devices + 'cs_etm/events/pmu_pulse', 'configid=0x5b2d0011')
for cpu in range(cpus):
    put('sys/devices/system/cpu/cpu%d/regs/identification/midr_el1' % cpu, '0x00000000410fd490')
    put(devices + 'cs_etm/sinks/trbe%d' % cpu, '0x1000')
    for line in open('registers'):
        name, value = line.split(' = ')
        put(devices + 'cs_etm/cpu%d/%s' % (cpu, name), value.strip())
END_OF_PYTHON
export PERF_KERNEL_TREE=$work/tree PERF_KERNEL_SCRIPT=$work/script PERF_KERNEL_LEDGER=$work/ledger

record() { # SETTING... -- OPTION...
    local settings=()
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    rm -f ledger
    env "${settings[@]}" LD_PRELOAD="$kernel" "$CSPROF" collect -a --json "$@" >told 2>messages
}
told() { python3 -c 'import json, sys; print(json.load(open("told"))[sys.argv[1]])' "$1"; }
played() { sed -n "s/^$1 //p" ledger; }
same() { # WHAT TOLD PLAYED...: what csprof tells is what was played
    local sum=0 name
    for name in "${@:3}"; do sum=$((sum + $(played "$name"))); done
    [ "$(told "$2")" = $sum ] || fail "$1: $2 is $(told "$2"), really $sum"
}
happens() { [ "$(played "$2")" -gt 0 ] || fail "$1: no $2: nothing was tried"; }
check() { # WHAT: the totals, of any recording
    same "$1" samples samples
    same "$1" lost_records records_lost
    same "$1" aux_bytes trace
    same "$1" trace_restarts times_disabled
    same "$1" throttled throttled
    [ "$(told torn)" = 0 ] || fail "$1: rings made no sense"
}
stitched() { # WHAT SHARE [OF]: of the windows, or what else, that were played, in hundredths
    local exact
    exact=$("$CSPROF" decode -q -i data --format none --json | sed -n 's/.*"stitched_exact": \([0-9]*\).*/\1/p')
    [ "${exact:-0}" -ge $(($(played "${3:-windows}") * $2 / 100)) ] || fail "$1: $exact windows of $(played windows) are stitched"
}

what="20,000 windows a second"
record -- -o data --duration 2 || fail "$what: $(cat messages)"
check "$what"
happens "$what" windows
[ "$(played records_lost)$(played trace_lost)" = 00 ] || fail "$what: something was lost"
stitched "$what" 99

what="counters that are set off against each other" # each CPU's, from that CPU, and none before
record -- -o data --duration 2 --strategy user-stagger --window 20000 || fail "$what: $(cat messages)"
check "$what"
happens "$what" windows
[ "$(played staggered)" -ge 24 ] && [ "$(played set_elsewhere)" = 0 ] || fail "$what: $(cat ledger)"
[ "$(played least_phase)" -ge 20000 ] && [ "$(told least_phase)" -ge 20000 ] || fail "$what: $(told least_phase), really $(played least_phase)"

what="auto" # the best that there is: for whole CPUs, for a program; and why none better
chosen() { # STRATEGY REASON OPTION...
    env LD_PRELOAD="$kernel" "$CSPROF" collect --json --dry-run "${@:3}" >told 2>messages
    [ "$(told strategy)" = "$1" ] && grep -q "$2" messages || fail "$what ${*:3}: not $1: $(told strategy), $(cat messages)"
}
pulse_config=tree/sys/bus/event_source/devices/cs_etm/events/pmu_pulse
chosen pulse "branch-stack would be better, but these cores" -a
mv $pulse_config aside
chosen user-stagger "pulse would be better, but no CoreSight configuration" -a
chosen free-running "pulse would be better, but no CoreSight configuration" -- true
mv aside $pulse_config

what="trace in the samples"
record -- -o data --duration 1 --strategy aux-sample
[ $? = 4 ] && grep -q "cannot put trace into samples" messages || fail "$what: without snapshots: $(cat messages)"
record PERF_KERNEL_SNAPSHOTS=1 -- -o data --duration 2 --strategy aux-sample || fail "$what: $(cat messages)"
same "$what" samples samples
happens "$what" samples
[ "$(told aux_bytes)" = 0 ] || fail "$what: $(told aux_bytes) bytes of trace besides the samples"
stitched "$what" 99 samples
record PERF_KERNEL_SNAPSHOTS=1 PERF_KERNEL_RATE=1000 -- -C 0-3 --strategy aux-sample --live --live-cpu 10000 -b mill -o live.prof --duration 3 ||
    fail "$what: live: $(cat messages)"
[ "$(told counted_samples)" = "$(played windows)" ] || fail "$what: live: $(told counted_samples) of $(played windows) samples"
[ "$(told stitched)" -ge $(($(played windows) * 99 / 100)) ] || fail "$what: live: $(told stitched) are stitched"

what="a reader that is 50 ms late"
record PERF_KERNEL_STALL_MS=50 -- -o data --duration 2 || fail "$what: $(cat messages)"
check "$what"
[ "$(played records_lost)$(played trace_lost)" = 00 ] || fail "$what: something was lost"

what="rings that wrap every few windows"
record -- -o data --duration 2 --buffer 16384 --trace-buffer 16384 || fail "$what: $(cat messages)"
check "$what"
stitched "$what" 98

count_exact() { # of all files
    local file own
    exact=0
    for file in many.*; do
        own=$("$CSPROF" decode -q -i "$file" --format none --json 2>/dev/null | sed -n 's/.*"stitched_exact": \([0-9]*\).*/\1/p')
        exact=$((exact + ${own:-0})) # nothing in the last one, perhaps
    done
}

# Each file has the trace of its own samples, also what the kernel would not have told of yet.
what="file after file"
record -- -C 0-3 -o many --duration 3 --max-size 1M --rotate 100 || fail "$what: $(cat messages)"
check "$what"
[ "$(told files)" -ge 3 ] || fail "$what: $(told files) files"
count_exact
[ $exact -ge $(($(played windows) * 98 / 100)) ] || fail "$what: $exact windows of $(played windows) are stitched"

# Records alone are compressed: trace is as it was, and where it was among them.
what="compressed"
record -- -o data --duration 2 -z || fail "$what: $(cat messages)"
check "$what"
happens "$what" windows
stitched "$what" 99
[ $(($(told record_bytes_compressed) * 3)) -lt "$(told record_bytes_before_compression)" ] || fail "$what: $(cat told)"
[ "$(told bytes)" -lt $(($(told aux_bytes) + $(told record_bytes_before_compression))) ] || fail "$what: $(cat told)"
rm -f many.*
record -- -C 0-3 -o many --duration 4 --max-size 1M --rotate 100 -z || fail "$what, file after file: $(cat messages)"
check "$what, file after file"
[ "$(told files)" -ge 2 ] || fail "$what, file after file: $(told files) files"
count_exact
[ $exact -ge $(($(played windows) * 98 / 100)) ] || fail "$what, file after file: $exact windows of $(played windows) are stitched"

what="rings of records that are full"
record PERF_KERNEL_STALL_MS=300 -- -o data --duration 3 --buffer 16384 || fail "$what: $(cat messages)"
check "$what"
happens "$what" records_lost
grep -q "the kernel dropped $(told lost_records) records" messages || fail "$what: not a word: $(cat messages)"

what="rings of trace that are full: the kernel disables the event"
record PERF_KERNEL_STALL_MS=300 -- -o data --duration 3 --trace-buffer 16384 || fail "$what: $(cat messages)"
check "$what"
happens "$what" times_disabled
grep -q "tracing stopped $(told trace_restarts) times" messages || fail "$what: not a word: $(cat messages)"
stitched "$what" 95

what="throttling"
record PERF_KERNEL_THROTTLE=100 -- -o data --duration 2 || fail "$what: $(cat messages)"
check "$what"
happens "$what" throttled
grep -q "throttled sampling $(told throttled) times" messages || fail "$what: not a word: $(cat messages)"

what="no trace ID left"
record PERF_KERNEL_TRACE_IDS=10 -- -o data --duration 2
[ $? = 4 ] && grep -q "CPU 10 no ring of trace.*no trace ID" messages || fail "$what: $(cat messages)"

# All that is played, recorded and decoded live: one profile. Each CPU plays the whole script.
what="live"
record PERF_KERNEL_RATE=40000 -- -C 0-7 -o data --duration 4 || fail "$what: recording: $(cat messages)"
windows=$(played windows)
"$CSPROF" gen -q -i data -b mill -o recorded.prof || fail "$what: gen"
record PERF_KERNEL_RATE=40000 -- -C 0-7 --live --live-cpu 10000 -b mill -o live.prof --duration 4 ||
    fail "$what: $(cat messages)"
check "$what"
if [ "$windows" = "$(played windows)" ]; then
    [ "$(told counted_samples)" = "$windows" ] || fail "$what: $(told counted_samples) of $windows windows count"
    [ "$(told slices)" -gt 1 ] || fail "$what: one slice"
    cmp -s recorded.prof live.prof || fail "$what: the profile is another one than that of the recording"
else
    echo "skipped in part: this machine was too busy to play all"
fi

what="live, cut while it goes on"
rm -f live.prof cut.prof
env LD_PRELOAD="$kernel" "$CSPROF" collect -a -C 0-3 --live --live-cpu 10000 --live-slice 1M -b mill -o live.prof --duration 6 2>messages &
pid=$!
for _ in $(seq 50); do # as soon as there is something to tell
    sleep 0.2
    kill -USR2 $pid 2>/dev/null || break
    [ ! -e live.prof ] || { cp live.prof cut.prof && break; }
done
wait $pid || fail "$what: $(cat messages)"
grep -q 'live.prof: what [0-9]* samples* tells* so far' messages || fail "$what: not a word: $(cat messages)"
for profile in cut live; do
    llvm-profdata-22 show --sample --all-functions $profile.prof 2>&1 | grep -q '^Function: ' || fail "$what: $profile.prof is no profile"
done

what="live, until it is stable" # the program has phases, whose halves are not much alike
started=$SECONDS
record PERF_KERNEL_RATE=40000 -- -C 0-3 --live --live-cpu 10000 --live-slice 1M --until-stable 30 -b mill -o live.prof --duration 60 ||
    fail "$what: $(cat messages)"
[ $((SECONDS - started)) -lt 50 ] || fail "$what: it did not end by itself"
grep -q 'the profile is stable: both halves of the samples overlap by' messages || fail "$what: not a word: $(cat messages)"

what="live, with little processor time"
record -- --live --live-cpu 0.1 --live-slice 2M -b mill -o live.prof --duration 5 || fail "$what: $(cat messages)"
[ "$(told dropped_slices)" -gt 0 ] || fail "$what: nothing was dropped"
[ $(($(told taken_samples) + $(told dropped_samples))) = "$(told samples)" ] ||
    fail "$what: $(told taken_samples) samples taken, $(told dropped_samples) of $(told samples) dropped"

# Under sudo a profile is made as the user who called, who must be able to read the program.
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    what="live, under sudo"
    caller=(SUDO_UID="$(id -u nobody)" SUDO_GID="$(id -g nobody)")
    chmod 711 "$work"
    mkdir -m 777 users
    record "${caller[@]}" -- -C 0-3 --live --live-cpu 10000 -b mill -o users/live.prof --duration 2 ||
        fail "$what: $(cat messages)"
    [ "$(told became_user)" = True ] && [ "$(told counted_samples)" = "$(played windows)" ] || fail "$what: $(cat told)"
    [ "$(stat -c %U users/live.prof)" = nobody ] || fail "$what: $(ls -l users)"
    chmod 700 mill
    record "${caller[@]}" -- -C 0-3 --live --live-cpu 10000 -b mill -o users/live.prof --duration 2 ||
        fail "$what: $(cat messages)"
    [ "$(told became_user)" = False ] && grep -q "goes on as root.* may not read the program" messages ||
        fail "$what, of an unreadable program: $(cat messages)"
    chmod 755 mill
    record "${caller[@]}" -- -C 0-3 --live --live-cpu 10000 -o users/live.prof --duration 2
    grep -q "goes on as root.*(-b names it)" messages || fail "$what, of any program: $(cat messages)"
fi
exit $failed
