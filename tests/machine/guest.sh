# Runs in the machine: unmodified perf records, each recording after a mark in the truth.
set -e
record() { # NUMBER NAME ARGUMENT...
    mark "$1"
    shift
    out=$1.data
    shift
    perf record -q -o "$out" "$@" 2>>perf.log
}
# Free-running windows: R mod P is 0.618 P, so that pauses fall evenly into the resume period. Periods
# as docs/machine.md wants them.
free_running() { # NUMBER NAME COMMAND...
    number=$1 name=$2
    shift 2
    record "$number" "$name" -e cs_etm/aux-action=start-paused,timestamp=8/u \
        -e cycles/aux-action=resume,period=66226/u \
        -e cycles/aux-action=pause,period=10007,call-graph=fp/u -- "$@"
}

record 1 single -e cs_etm//u -- ./bare 200 1
record 2 threads -e cs_etm//u -- ./bare 200 2
record 3 system -a -e cs_etm//u -- ./bare 200 2
free_running 4 pause ./bare 10000 1
free_running 5 pause_signals ./signals
free_running 6 pause_threads ./bare 5000 2
record 7 all -m,8M -e cs_etm/timestamp=15/u -- ./bare 6000 1
record 8 strobe2 -m,8M -e cs_etm/autofdo,preset=1/u -- ./bare 6000 1
record 9 strobe16 -m,8M -e cs_etm/autofdo,preset=4/u -- ./bare 6000 1
# The numbers go on with letters: mark takes one character. A ring that is too small, and a filter.
record A small -m,64K -e cs_etm//u -- ./bare 4000 1
record B filter -e cs_etm//u --filter 'filter descend @ ./bare' -- ./bare 300 1
# What else the trace unit does.
record C retstack -e cs_etm/retstack/u -- ./bare 400 1
record D cycacc -e cs_etm/cycacc/u -- ./bare 400 1
record E branch_broadcast -e cs_etm/branch_broadcast/u -- ./bare 400 1
# One record that spans an execve; and code that is no file.
record F execve -e cs_etm//u -- sh -c 'for i in 1 2 3 4 5 6 7 8; do :; done; exec ./bare 200 1'
record G vdso -e cs_etm//u -- ./signals 20
# The pulse: windows of a fixed number of cycles, with the module that stands in for TRCEXTOUT1.
if [ -e extout_standin.ko ]; then
    insmod extout_standin.ko
    record 0 pulse -e cs_etm/aux-action=start-paused,timestamp=8/u \
        -e cycles/aux-action=resume,period=105002/u \
        -e cycles/aux-action=pause,period=4000,call-graph=fp/u -- ./bare 10000 1
fi
