#!/bin/bash
# Decoding beside the peers, as Markdown: bench/decode.sh [--cpu] [--emulated BYTES] [SNAPSHOT... | PERF.DATA...]
#
# A snapshot: the native engine, cold, warm and on two threads, OpenCSD's full decoder and its packet
# reader, in one run. A perf.data: csprof on one thread and on two beside perf script on the same
# recording, with the peak of anonymous memory and how many windows a second that is. Without arguments:
# the corpus ($CSPROF_CORPUS, or ../shared/corpus beside the project). --emulated also records SQLite,
# CPython and Clang (bench/programs) in the emulator, until about so many bytes of trace each (1G), and
# measures those. --cpu measures processor time, for machines that do other things too. With FILES=local
# the programs of a PERF.DATA are where they were recorded, not beside it. A measurement takes $LIMIT
# seconds at most (600).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${CSPROF_BUILD:-$root/build/release}
csprof=$build/csprof
corpus=${CSPROF_CORPUS:-$root/../shared/corpus}
limit=${LIMIT:-600}
clock=
emulated=
while :; do
    case ${1:-} in
    --cpu) clock=--cpu ;;
    --emulated) emulated=$(numfmt --from=iec "$2"); shift ;;
    *) break ;;
    esac
    shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

children() { # PID...
    local pid
    for pid; do cat "/proc/$pid/task/$pid/children" 2>/dev/null || true; done
}

# run COMMAND...: prints its seconds, of wall time or (--cpu) of the processor, and the peak of its
# anonymous memory in MiB
run() {
    local pid peak=0 now status=0
    TIMEFORMAT='%R %U %S'
    { time { timeout "$limit" "$@" >/dev/null 2>&1; }; } 2>"$work/time" &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        # The command itself is the child of timeout, which is the child of this.
        for child in $(children $(children $pid)); do
            now=$(sed -n 's/^RssAnon:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$child/status" 2>/dev/null) || now=
            [ "${now:-0}" -le $peak ] || peak=$now
        done
        sleep 0.02
    done
    wait $pid || status=$?
    [ $status = 0 ] || { echo "- -"; return; }
    awk -v cpu="$clock" -v peak=$peak \
        '{ printf "%.2f %.0f\n", cpu == "" ? $1 : $2 + $3, peak / 1024 }' "$work/time"
}

row() { # NAME COMMAND...: against $base, the seconds of perf script, where those are known
    local name=$1 seconds memory ratio=
    shift
    read -r seconds memory < <(run "$@")
    [ -z "$base" ] || [ "$seconds" = - ] ||
        ratio=$(awk -v a="$base" -v b="$seconds" 'BEGIN { if (b > 0) printf "%.1f", a / b }')
    last=$seconds
    printf '| %s | %s | %s | %s |\n' "$name" "$seconds" "$ratio" "$memory"
}

recording() { # PERF.DATA [local]: the files that were mapped are beside it, or where they were
    local file=$1 folder base= last= none= threads format options=()
    folder=$(dirname "$file")
    [ "${2:-${FILES:-}}" = local ] || options=(--symfs "$folder")
    printf '### %s\n\n' "$(basename "$folder")/$(basename "$file")"
    printf '%s bytes\n\n' "$(stat -Lc %s "$file")"
    printf '| decoder | seconds | times perf script | MiB of its own |\n|---|---|---|---|\n'
    cat "$file" >/dev/null
    if command -v perf >/dev/null; then
        row 'perf script --itrace=i1000il64 -F ip,brstack' \
            perf script -i "$file" "${options[@]}" --itrace=i1000il64 -F ip,brstack
        [ "$last" = - ] || base=$last
    fi
    for threads in 1 2; do
        for format in script none; do
            row "csprof decode --format $format, threads: $threads" \
                "$csprof" decode -q -i "$file" "${options[@]}" --threads $threads \
                --format $format -o /dev/null
            [ "$threads $format" != "1 none" ] || none=$last
        done
    done
    row 'csprof decode --engine opencsd --format none' \
        "$csprof" decode -q -i "$file" "${options[@]}" --engine opencsd --format none -o /dev/null
    echo
    count_windows "$none" -i "$file" "${options[@]}"
}

count_windows() { # SECONDS OPTION...: how many windows those were, how many distinct, and how fast
    local seconds=$1
    shift
    "$csprof" decode -q "$@" --format none --json 2>/dev/null | awk -F'[:,]' -v seconds="$seconds" '
        /"windows":/ { windows = $2 }
        /"distinct_windows":/ { distinct = $2 }
        END {
            if (windows && seconds > 0)
                printf "%d windows, %d of them distinct: %d thousand windows a second by one thread with --format none, %d thousand distinct ones\n\n",
                    windows, distinct, windows / seconds / 1e3, distinct / seconds / 1e3
        }'
}

# emulate NAME INPUT COMMAND...: a recording of about $emulated bytes of trace, of the command fed with
# the input as often as that takes. Windows of 1000 cycles open every 4001.
emulate() {
    local name=$1 input=$2 count=1 bytes
    shift 2
    mkdir -p "$work/$name"
    for pass in one all; do
        for ((i = 0; i < count; i++)); do cat "$input"; done >"$work/input"
        "$csprof" collect -q --json --emulate --period 4001 -o "$work/$name/csprof.data" -- "$@" \
            <"$work/input" >"$work/told" 2>"$work/messages" ||
            { echo "$name could not be recorded: $(tail -n 3 "$work/messages")" >&2; return; }
        bytes=$(sed -n 's/^ *"trace_bytes": \([0-9]*\).*/\1/p' "$work/told")
        count=$((emulated / bytes))
        [ $pass = one ] && [ $count -gt 1 ] || break
    done
    recording "$work/$name/csprof.data" local
    rm "$work/$name/csprof.data"
}

if [ $# = 0 ]; then
    set -- "$corpus/opencsd/bugfix-exact-match" "$corpus/opencsd/001-ack_test" \
        "$corpus/arm-perf-e2e/sort_single_thread/perf.data"
fi
for input; do
    if [ -d "$input" ]; then
        printf '### %s\n\n' "$(basename "$input")"
        "$build/bench/bench_decode" "$input"
        echo
    else
        recording "$input"
    fi
done
if [ -n "$emulated" ]; then
    { echo .open :memory: && cat "$root/bench/programs/inputs/recorded.sql"; } >"$work/sql"
    emulate sqlite "$work/sql" "$("$root/bench/programs/sqlite")" :memory:
    cat >"$work/python" <<'PYTHON'
words = [chr(97 + i * 7 % 26) * (i % 9 + 1) + str(i * 7919 % 1009) for i in range(4000)]
count = {}
for word in words: count[word] = count.get(word, 0) + len(word)

def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)

print(sorted(count.items(), key=lambda pair: (-pair[1], pair[0]))[:3], fib(17), sum(map(len, "".join(words).split("a"))))

PYTHON
    emulate cpython "$work/python" "$("$root/bench/programs/cpython")" -S -q -i
    cat >"$work/c" <<'C'
#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
unsigned NAMED(hash, __COUNTER__)(const unsigned char *text, unsigned long size, unsigned table[256]) {
    unsigned value = 5381;
    for (unsigned long i = 0; i < size; i++) {
        switch (text[i] % 7) {
        case 0: value = value * 33 + text[i]; break;
        case 1: value ^= value << 7 ^ table[text[i]]; break;
        case 2: table[value % 256] += text[i]; break;
        case 3: if (value > 1u << 30) return value - table[0]; value <<= 1; break;
        default: for (int k = 0; k < 8; k++) value += value >> 3 ^ table[k * 31] * text[i];
        }
    }
    return value;
}
double NAMED(solve, __COUNTER__)(double a[4][4], double b[4], int steps) {
    double sum = 0;
    while (steps-- > 0)
        for (int i = 0; i < 4; i++) {
            double rest = b[i];
            for (int k = 0; k < 4; k++) rest -= k == i ? 0 : a[i][k] * b[k];
            b[i] = a[i][i] != 0 ? rest / a[i][i] : rest;
            sum += b[i] > 0 ? b[i] : -b[i];
        }
    return sum;
}
C
    emulate clang "$work/c" "$("$root/bench/programs/clang")" -cc1 -triple aarch64-linux-gnu -O2 -emit-obj \
        -o "$work/object" -x c -
fi
