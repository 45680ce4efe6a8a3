#!/usr/bin/env bash
# csprof doctor --calibrate: which pulse configuration a PMU counts as it should, told by a played kernel
# whose PMU does (tests/kernel/README.md), counts levels once, or counts what it should not.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
kernel=${CSPROF_BUILD:?}/tests/perf_kernel.so
[ -e "$kernel" ] || skip "this build has no perf_kernel.so"
cd "$work" || exit 1

"$CSPROF" doctor --calibrate >output 2>messages
[ $? = 4 ] && grep -q 'nothing to calibrate: ' messages || echo "this machine has a trace unit: $(cat output)"
"$CSPROF" doctor --calibrate --sysfs . >output 2>messages
[ $? = 2 ] && grep -q 'measures this machine' messages || fail "of another machine: $(cat messages)"

put() { mkdir -p "tree/$(dirname "$1")" && echo "$2" >"tree/$1"; }
devices=sys/bus/event_source/devices
put proc/sys/kernel/arch aarch64
put proc/sys/kernel/osrelease 7.3.4
put sys/devices/system/cpu/online 0
put $devices/armv8_pmuv3_0/type 8
put $devices/armv8_pmuv3_0/cpus 0
put $devices/armv8_pmuv3_0/events/cpu_cycles event=0x0011
put $devices/cs_etm/type 9
for field in contextid=config:14 timestamp=config:28 preset=config:0-3 sinkid=config2:0-31 configid=config2:32-63; do
    put $devices/cs_etm/format/${field%%=*} "${field#*=}"
done
put $devices/cs_etm/cpu0/trcidr/trcidr1 0x4100f403
put $devices/cs_etm/sinks/tmc_etr0 0x1000
export PERF_KERNEL_TREE=$work/tree PERF_KERNEL_SCRIPT=none
calibrate() { # EXIT [SETTING...]
    local want=$1 got
    shift
    env "$@" LD_PRELOAD="$kernel" "$CSPROF" doctor --calibrate >output 2>messages
    got=$?
    [ $got = "$want" ] || fail "$*: exit $got, not $want: $(cat output messages)"
    sed -n '/^Calibration/,$p' output | sed -E 's/  +/ /g; s/in [0-9]{5,} cycles/in many cycles/; s/wrong: [0-9]{5,} pulses/wrong: many pulses/; s/ (99[0-9]|100[0-9]) cycles/ 1000 cycles/; s/ (99|101) cycles/ 100 cycles/' >table
}

calibrate 4
grep -q 'nothing to calibrate: no configuration that pulses is loaded' messages || fail "no module: $(cat messages)"
put $devices/cs_etm/events/pmu_pulse configid=0x5b2d0011
put $devices/cs_etm/events/pmu_pulse_counter configid=0x5b2d0022
calibrate 4
grep -q 'does not offer trcextout1' messages || fail "no event: $(cat messages)"
put $devices/armv8_pmuv3_0/events/trcextout1 event=0x4011

expect() { diff - table && echo "ok: $1" || fail "$1"; }
calibrate 0
expect "a PMU that counts each cycle" <<'END'
Calibration: trcextout1 counted beside cycles, in user space
 CPU 0 armv8_pmuv3_0 pmu_pulse right: a pulse in 1.00 cycles, none while the trace unit is off
 CPU 0 armv8_pmuv3_0 pmu_pulse_counter,preset=1 right: a pulse in 1.00 cycles, none while the trace unit is off
 CPU 0 armv8_pmuv3_0 pmu_pulse_counter,preset=2 right: a pulse in 10 cycles, none while the trace unit is off
 CPU 0 armv8_pmuv3_0 pmu_pulse_counter,preset=3 right: a pulse in 100 cycles, none while the trace unit is off
 CPU 0 armv8_pmuv3_0 pmu_pulse_counter,preset=4 right: a pulse in 1000 cycles, none while the trace unit is off
Record with --strategy pulse: it counts right on all kinds of cores.
END
calibrate 0 PERF_KERNEL_PULSE=level
expect "a PMU that counts an output which never falls once" <<'END'
Calibration: trcextout1 counted beside cycles, in user space
 CPU 0 armv8_pmuv3_0 pmu_pulse wrong: 1 pulses in many cycles: this PMU does not count them
 CPU 0 armv8_pmuv3_0 pmu_pulse_counter,preset=1 wrong: 1 pulses in many cycles: this PMU does not count them
 CPU 0 armv8_pmuv3_0 pmu_pulse_counter,preset=2 right: a pulse in 10 cycles, none while the trace unit is off
 CPU 0 armv8_pmuv3_0 pmu_pulse_counter,preset=3 right: a pulse in 100 cycles, none while the trace unit is off
 CPU 0 armv8_pmuv3_0 pmu_pulse_counter,preset=4 right: a pulse in 1000 cycles, none while the trace unit is off
Record with --strategy pulse --pulse pmu_pulse_counter,preset=2: it counts right on all kinds of cores.
END
calibrate 5 PERF_KERNEL_PULSE=always
grep -q 'pmu_pulse wrong: many pulses while the trace unit was off' table || fail "always: $(cat table)"
env LD_PRELOAD="$kernel" "$CSPROF" doctor --calibrate --json | python3 -c '
import json, sys
calibration = json.load(sys.stdin)["calibration"]
assert calibration["pulse"] == "pmu_pulse" and len(calibration["checks"]) == 5, calibration
assert all(c["verdict"] == "right" and c["pulses_off"] == 0 for c in calibration["checks"]), calibration' ||
    fail "--json"

# What was found is used: windows of 1000 cycles are 100 pulses of ten.
"$CSPROF" collect --sysfs tree --dry-run --strategy pulse --pulse pmu_pulse_counter,preset=2 >output 2>messages
grep -q 'pmu_pulse_counter,preset=2,aux-action=start-paused' output && grep -q 'trcextout1,aux-action=pause,period=100,' output &&
    grep -q 'after 1000 cycles' output || fail "--pulse: $(cat output messages)"
"$CSPROF" collect --pulse pmu_pulse_counter -- true 2>messages
[ $? = 2 ] || fail "an unknown pulse: $(cat messages)"
exit $failed
