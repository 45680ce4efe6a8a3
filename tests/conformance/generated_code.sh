#!/usr/bin/env bash
# A program that runs code which no file has (tests/programs/generated.c), recorded in the emulator: all
# that ran in known code is told, up to each jump into the other and again from the first address behind
# it, and nothing else; how often execution went where there is no code is counted, and said. csprof reads
# neither perf's maps of generated code nor its jitdump files.
set -uo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
here=$(cd "$(dirname "$0")" && pwd)
needs_emulator
"$CSPROF_SOURCE/tests/programs/build.sh" "$work" generated || exit $?
cd "$work" || exit 1

number() { # KEY
    sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" json
}

check() { # ENGINE
    local count
    "$CSPROF" decode -i csprof.data --engine "$1" --format ranges --json -o ranges >json 2>messages ||
        { fail "$1: $(cat messages)"; return; }
    python3 "$here/compare_truth.py" truth ranges ranges || fail "$1: ranges"
    count=$(python3 "$here/compare_truth.py" truth unknown "$(number unmapped_ranges)") ||
        fail "$1: $count"
    echo "$count"
    [ "$(number bad_packets) $(number lost_bytes)" = "0 0" ] || fail "$1: trace was lost"
    grep -q '^csprof decode: warning: //anon is memory without a file (generated code?): trace went there' \
        messages || fail "$1: generated code is not told: $(cat messages)"
    # The emulator's code by which a signal handler returns.
    grep -q 'is in no mapping that was recorded: trace went to such places [0-9]* times' messages ||
        fail "$1: code that nobody mapped is not told: $(cat messages)"
}

for protocol in etmv4 ete; do
    "$CSPROF" collect -q --emulate --truth truth --protocol $protocol --period 2003 --window 600 \
        -- ./generated 300 >output || fail "$protocol: collect"
    for engine in native opencsd; do
        echo "-- $protocol, $engine"
        check $engine
    done
    "$CSPROF" decode -q -i csprof.data --format samples -o samples 2>messages || fail "$protocol: samples"
    python3 "$here/compare_truth.py" truth gaps samples || fail "$protocol: samples"
done
exit $failed
