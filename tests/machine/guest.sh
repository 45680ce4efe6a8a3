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
