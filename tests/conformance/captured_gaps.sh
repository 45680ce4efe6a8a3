#!/usr/bin/env bash
# How trace of real processors is cut at its gaps: a Neoverse N1 traced by perf, and a phone's ETE by
# simpleperf. One line a run: first address, one past the last, how it ended, the exception and where
# it returns to; `joins` when the next run is the same stretch of execution.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
. "$(dirname "$0")/decode_lib.sh"
needs_corpus
needs zstd
runs=$CSPROF_BUILD/tests/recording_runs

expect() { # NAME RECORDING SYMFS, expected on standard input
    local printed
    if printed=$(diff - <("$runs" "$2" "$3" 2>/dev/null)); then
        echo "ok: $1"
    else
        fail "$1:"
        echo "$printed"
    fi
}

# An interrupt ended the second window where the third begins: the trace unit was turned off and on in
# between, and nobody knows for how long. Equal addresses make no join of it.
expect "ETE: an interrupt, then an enabling at the same address" \
    "$CSPROF_CORPUS/simpleperf/perf_for_small_binary.data" "$CSPROF_CORPUS/simpleperf" <<'END'
window enabled
run 7442273000 7442273000 exception b 7442273000 -
window enabled
run 571faf44b4 571faf4650 off 0 0 -
run 571faf456c 571faf45f8 exception e 571faf45f8 -
window enabled
run 571faf45f8 571faf4590 off 0 0 -
END

# Eleven system calls (2), sixteen faults of data (c) and instructions (b), one trap (3). All leave a
# gap, and after each execution goes on where it was, but for two: the kernel carried out the instruction
# that trapped, and the last system call was exit.
sort=$CSPROF_CORPUS/arm-perf-e2e/sort_single_thread
expect "N1: one window with 28 gaps" "$sort/perf.data" "$sort" <<'END'
window enabled
run 400570 400964 exception c 400964 joins
run 400964 4009b4 exception c 4009b4 joins
run 4009b4 4009c0 exception c 4009c0 joins
run 4009c0 421530 exception b 421530 joins
run 421530 42153c exception c 42153c joins
run 42153c 421874 exception c 421874 joins
run 421874 421100 exception c 421100 joins
run 421100 400a68 exception 3 400a68 -
run 400a6c 41b890 exception b 41b890 joins
run 41b890 43aff8 exception b 43aff8 joins
run 43aff8 43c5ac exception 2 43c5ac joins
run 43c5ac 43c5ac exception 2 43c5ac joins
run 43c5ac 41cb40 exception c 41cb40 joins
run 41cb40 4224ac exception c 4224ac joins
run 4224ac 43c368 exception 2 43c368 joins
run 43c368 444ec0 exception b 444ec0 joins
run 444ec0 444ef4 exception 2 444ef4 joins
run 444ef4 4189b8 exception c 4189b8 joins
run 4189b8 43c5ac exception 2 43c5ac joins
run 43c5ac 43c5ac exception 2 43c5ac joins
run 43c5ac 41689c exception c 41689c joins
run 41689c 421940 exception c 421940 joins
run 421940 41f808 exception 2 41f808 joins
run 41f808 ffffb1b72570 exception c ffffb1b72570 joins
run ffffb1b72570 41e898 exception 2 41e898 joins
run 41e898 41eb18 exception 2 41eb18 joins
run 41eb18 41eb18 exception 2 41eb18 joins
run 41eb18 41e3f4 exception 2 41e3f4 -
END
exit $failed
