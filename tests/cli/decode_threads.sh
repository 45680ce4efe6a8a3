#!/usr/bin/env bash
# Whatever the number of threads, `csprof decode` writes the same bytes: every format, of several
# sources, of one that is cut where windows begin, and of trace without any place to cut.
set -uo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"

same() { # NAME ARGUMENT...: all formats by 1, 2 and 7 threads
    local name=$1 format threads
    shift
    for format in script samples preagg ranges none; do
        for threads in 1 2 7; do
            "$CSPROF" decode -q "$@" --threads $threads --format $format -o "$work/$threads" --json \
                >"$work/$threads.json" 2>"$work/$threads.messages" ||
                { fail "$name, $format, $threads threads: exit $?"; cat "$work/$threads.messages"; return; }
            sed -i /seconds/d "$work/$threads.json"
        done
        for threads in 2 7; do
            for what in '' .json .messages; do
                cmp "$work/1$what" "$work/$threads$what" ||
                    fail "$name, $format, $threads threads: not what one thread writes$what"
            done
        done
        [ $format = none ] || [ "$1 $format" = "--snapshot samples" ] || [ -s "$work/1" ] || fail "$name, $format: nothing was written"
    done
    same_counts "$name" "$@"
}

# Who asks for counts alone gets them without each branch being decoded: they are the same, and so
# is what became of the samples.
same_counts() { # NAME ARGUMENT...
    local name=$1 threads
    shift
    "$CSPROF" decode "$@" --format preagg -o "$work/whole" 2>"$work/whole.messages"
    grep -q 'bytes of trace: .* branches' "$work/whole.messages" || fail "$name: no counts to compare"
    for threads in 1 2 7; do
        "$CSPROF" decode "$@" --threads $threads --format none -o "$work/counts" 2>"$work/counts.messages"
        diff "$work/whole.messages" "$work/counts.messages" || fail "$name, $threads threads: other counts"
    done
}

at_least() { # KEY COUNT: in the last statistics, so that there is something to share out
    local count
    count=$(sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" "$work/1.json")
    [ "${count:-0}" -ge "$2" ] || fail "only ${count:-no} $1"
}

if [ -d "${CSPROF_CORPUS:-}" ]; then
    recording=$CSPROF_CORPUS/arm-perf-e2e/sort_single_thread
    same "one AUX record" -i "$recording/perf.data" --symfs "$recording"
    same "six sources in frames" --snapshot "$CSPROF_CORPUS/opencsd/juno_r1_1"
    same "raw trace" --snapshot "$CSPROF_CORPUS/opencsd/001-ack_test"
else
    echo "skipped in part: no corpus at CSPROF_CORPUS=${CSPROF_CORPUS:-}"
fi

skip() {
    echo "skipped in part: $1"
    exit $((failed ? 1 : 77))
}
command -v qemu-aarch64 >/dev/null || skip "no qemu-aarch64"
[ -e "$CSPROF_BUILD/csprof-emulate.so" ] || skip "no emulator in this build"
"$CSPROF_SOURCE/tests/programs/build.sh" "$work" threads deep_recursion || skip "no AArch64 programs"
record() { # NAME "PROGRAM [ARGUMENT...]" OPTION...
    local name=$1 program=$2
    shift 2
    "$CSPROF" collect -q --emulate "$@" -o "$work/$name" -- "$work/"$program >/dev/null 2>&1 ||
        { echo "FAILED: collect $name"; exit 1; }
}
record etmv4 threads --period 5003
same "several threads, an AUX record for each window" -i "$work/etmv4"
at_least stitched_exact 100
at_least sources 2
record ete deep_recursion --protocol ete --period 1009 --window 500
same "many windows in an AUX record" -i "$work/ete"
at_least stitched_exact 100
at_least trace_bytes 300000
# Windows that are more than is held at once: what was decoded is taken in between. No sample loses its
# window by it.
record long-ete "deep_recursion 50" --protocol ete --period 301000 --window 300000
record long-etmv4 "deep_recursion 50" --fault undrained=1000 --trace-buffer 64Mi --period 9010000 --window 9000000
for name in long-ete long-etmv4; do
    same "long windows in an AUX record, $name" -i "$work/$name"
    at_least branches 3400000
    pauses=$(sed -n 's/^ *"pause_samples": \([0-9]*\).*/\1/p' "$work/1.json")
    [ "${pauses:-0}" -gt 0 ] || fail "$name: no samples"
    at_least stitched_exact "$pauses"
done
exit $failed
