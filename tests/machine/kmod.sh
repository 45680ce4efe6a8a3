#!/usr/bin/env bash
# The module of kmod/ on a real Linux (docs/machine.md): built for Debian's kernels, loaded, its
# configurations listed; enabled, the driver writes these registers, and the trace unit's output 1 pulses
# so often; unloaded again.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
machine=$CSPROF_SOURCE/emulate/machine tests=$CSPROF_SOURCE/tests plugin=${CSPROF_BUILD:?}/csprof-machine.so
[ -e "$plugin" ] || skip "this build has no machine"
needs aarch64-linux-gnu-gcc
cd "$work" || exit 1
"$tests/programs/build.sh" . bare mark || skip "the programs cannot be built (see above)"
"$CSPROF_SOURCE/kmod/build" --debian . >built 2>messages
case $? in
0) ;;
4 | 75) skip "the module cannot be built here: $(cat messages)" ;;
*) fail "it does not compile: $(cat messages)" && exit 1 ;;
esac
! grep -v '^machine: fetching' messages || fail "the compiler complains"
echo "built: $(sed 's|.*/||' built | xargs)"

cp csprof_pulse-7.3.ko csprof_pulse.ko
cp "$tests/machine/kmod_guest.sh" guest.sh
"$machine/run" --plugin "$plugin" --truth truth --dmesg dmesg --log registers -- sh guest.sh >output 2>errors
case $? in
0) ;;
4 | 75) skip "the machine cannot be run: $(cat errors)" ;;
*) fail "in the machine: $(cat output errors)" && exit 1 ;;
esac
diff - <(grep -v '^[0-9]*$' output) <<'END' || fail "what the guest sees of it"
events before: autofdo panicstop
events: autofdo panicstop pmu_pulse pmu_pulse_counter pmu_pulse_strobe
feature pulse_always: SRC_ETMV4
feature pulse_counter: SRC_ETMV4
parameter pulse_counter/params/reload/value: 0x9
feature pulse_window_end: SRC_ETMV4
configuration pmu_pulse: pulse_always
configuration pmu_pulse_counter: pulse_counter
configuration pmu_pulse_strobe: strobing pulse_window_end
pulse_counter.reload = 0x63
events after: autofdo panicstop
features after: 0
END
grep -E 'WARNING:|BUG:' dmesg && fail "the kernel warns"

# Each time that a unit is enabled anew: TRCEVENTCTL0R, then reload value and control of counter 1, then
# selectors 2 to 4 (selector 2 and counter 0 are the driver's own, for timestamps, but where it strobes).
registers() {
    awk '{ split($3, at, "+"); value[at[2]] = $5 }
        $3 ~ /^etm[0-9]*[+]210$/ {
            print "event", value["020"], "counter 1", value["144"], value["154"],
                "selectors", value["208"], value["20c"], value["210"]
        }' registers | uniq
}
diff - <(registers) <<'END' || fail "the registers"
event 00000100 counter 1 00000000 00000000 selectors 00020001 00000000 00000000
event 00000400 counter 1 00000063 00010001 selectors 00020001 00000000 00020002
event 00000400 counter 1 000001f3 00010001 selectors 00020001 00000000 00020002
event 00008100 counter 1 00000014 00008102 selectors 00020001 00020002 00000000
END

# Pulses in all windows, and the cycles at EL0 that each of them stands for.
pulses() { # MARK
    awk -v mark="$1" '$1 == "mark" { wanted = $2 == mark }
        wanted && $1 == "output" { pulses += $2; cycles += $3 }
        END { print pulses + 0, cycles + 0 }' truth
}
expect_pulses() { # MARK NAME CYCLES
    local pulses cycles
    read -r pulses cycles < <(pulses "$1")
    echo "$2: $pulses pulses in $cycles cycles"
    [ "$cycles" -gt 50000 ] && [ $((pulses * $3)) -ge $((cycles - 3 * $3)) ] &&
        [ $((pulses * $3)) -le $((cycles + 3 * $3)) ] || fail "$2: not one in $3 cycles"
}
expect_pulses 1 "every cycle" 1
expect_pulses 2 "preset 3" 100
expect_pulses 3 "reload 499" 500
expect_pulses 4 "windows of 1000 cycles, one in 20" 20000
exit $failed
