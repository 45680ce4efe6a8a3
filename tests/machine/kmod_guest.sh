# Runs in the machine: the module is loaded, each of its configurations records, and it is unloaded.
events() { echo $(ls /sys/bus/event_source/devices/cs_etm/events); }
syscfg=/sys/kernel/config/cs-syscfg
record() { # NUMBER NAME EVENT
    mark "$1"
    perf record -q -o "$2.data" -e "$3" -- ./bare 200 1 || echo "cannot record $3"
}
echo "events before: $(events)"
insmod csprof_pulse.ko || exit 1
echo "events: $(events)"
for feature in $syscfg/features/pulse_*; do
    echo "feature ${feature##*/}: $(cat $feature/matches | xargs)"
    for parameter in $feature/params/*/value; do
        [ ! -e "$parameter" ] || echo "parameter ${parameter#$syscfg/features/}: $(cat $parameter)"
    done
done
for configuration in $syscfg/configurations/pmu_pulse*; do
    echo "configuration ${configuration##*/}: $(cat $configuration/feature_refs | xargs)"
done
echo $(cat $syscfg/configurations/pmu_pulse_counter/preset3/values)
record 1 always cs_etm/pmu_pulse/u
record 2 preset cs_etm/pmu_pulse_counter,preset=3/u
echo 499 >$syscfg/features/pulse_counter/params/reload/value
record 3 reload cs_etm/pmu_pulse_counter/u
record 4 strobe cs_etm/pmu_pulse_strobe,preset=1/u
rmmod csprof_pulse || exit 1
echo "events after: $(events)"
echo "features after: $(ls $syscfg/features | grep -c pulse)"
