#!/bin/bash
# Decoding beside the peers, as Markdown: bench/decode.sh [--cpu] [SNAPSHOT... | PERF.DATA...]
#
# A snapshot: the native engine, cold, warm and on two threads, OpenCSD's full decoder and its packet
# reader, in one run. A perf.data: csprof beside perf script on the same recording. Without
# arguments: the corpus ($CSPROF_CORPUS, or ../shared/corpus beside the project). --cpu measures
# processor time, for machines that do other things too.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${CSPROF_BUILD:-$root/build/release}
corpus=${CSPROF_CORPUS:-$root/../shared/corpus}
clock=
if [ "${1:-}" = --cpu ]; then
    clock=--cpu
    shift
fi

seconds() { # COMMAND...: of wall time, the fastest of three
    local best= took
    for _ in 1 2 3; do
        local began ended
        began=$(date +%s.%N)
        "$@" >/dev/null 2>&1 || true
        ended=$(date +%s.%N)
        took=$(echo "$ended - $began" | bc)
        if [ -z "$best" ] || [ "$(echo "$took < $best" | bc)" = 1 ]; then
            best=$took
        fi
    done
    echo "$best"
}

recording() { # PERF.DATA
    local folder csprof=$build/csprof
    folder=$(dirname "$1")
    printf '| %s | seconds |\n|---|---|\n' "$(basename "$folder")/$(basename "$1")"
    if command -v perf >/dev/null; then
        printf '| perf script --itrace=i1000il64 -F ip,brstack | %s |\n' \
            "$(seconds perf script -i "$1" --symfs "$folder" --itrace=i1000il64 -F ip,brstack)"
    fi
    printf '| csprof decode --format script | %s |\n' \
        "$(seconds "$csprof" decode -q -i "$1" --symfs "$folder" --format script -o /dev/null)"
    printf '| csprof decode --format none | %s |\n\n' \
        "$(seconds "$csprof" decode -q -i "$1" --symfs "$folder" --format none)"
}

if [ $# = 0 ]; then
    set -- "$corpus/opencsd/bugfix-exact-match" "$corpus/opencsd/001-ack_test" \
        "$corpus/arm-perf-e2e/sort_single_thread/perf.data"
fi
for input; do
    if [ -d "$input" ]; then
        printf '### %s\n\n' "$(basename "$input")"
        "$build/bench/bench_decode" $clock "$input" 31
        echo
    else
        recording "$input"
    fi
done
