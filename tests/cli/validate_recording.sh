#!/usr/bin/env bash
# csprof validate of recordings that a real Linux made in the machine (docs/machine.md): what it says of
# samples adds up and is what decode says; thresholds; recordings that have nothing to validate.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?} recordings=${CSPROF_SOURCE:?}/tests/machine/recordings
needs zstd python3
cd "$work" || exit 1
for file in bare pause.data pause_threads.data strobe16.data; do
    zstd -qd "$recordings/$file.zst" -o "$file" || exit 1
done

# validate WANTED-EXIT OPTION...
validate() {
    local want=$1 got
    shift
    "$csprof" validate --symfs . "$@" >output 2>messages
    got=$?
    [ $got = "$want" ] || fail "validate $*: exit $got, not $want: $(cat messages)"
}

for recording in pause pause_threads; do
    validate 0 -i $recording.data --json
    "$csprof" decode -q --json --format none --symfs . -i $recording.data >decoded 2>/dev/null
    python3 - output decoded <<'PY' || fail "$recording: the totals"
import json, sys
found, decoded = (json.load(open(path)) for path in sys.argv[1:])
all = found["all"]
def same(what, a, b):
    if a != b:
        sys.exit(f"{what}: {a}, and decode says {b}")
same("samples", all["samples"], decoded["pause_samples"])
for verdict in "exact", "time", "order":
    same(verdict, all[verdict], decoded["stitched_" + verdict])
same("reasons", all["unstitched_reasons"], decoded["unstitched_reasons"])
same("windows", found["windows"]["number"], decoded["windows"])
for table in "threads", "files":
    same(table, sum(row["samples"] for row in found[table]), all["samples"])
rate = all["stitched"]
same("stitched", rate["count"], all["exact"] + all["time"] + all["order"])
if not (0 < rate["low"] < rate["rate"] <= rate["high"] <= 1):
    sys.exit(f"an interval: {rate}")
if not 0 < found["windows"]["duty"] < 1:
    sys.exit(f"duty: {found['windows']}")
same("contradictions", found["bogus"]["count"], 0)
same("functions", sum(row["samples"] for row in found["functions"]), found["covered"]["of"])
PY
done
validate 0 -i pause.data
for line in '^with a history ' '^begin at the resume.s PC ' '^trace unit on ' '^planned, ' '^contradictory samples  *0 ' \
    '^hot code ' '  function$'; do
    grep -q "$line" output || fail "no line '$line' in $(cat output)"
done
validate 0 -i pause.data --min-stitched 20 --max-bogus 0
validate 5 -i pause.data --min-stitched 100
grep -q 'the share of samples with a history is [0-9.]*%, less than the 100% asked for (--min-stitched)' \
    messages || fail "$(cat messages)"
# Sampled by interrupts at any moment, some are in prologues: not wrong, but a rule can say so.
validate 5 -i pause.data --rules all --max-bogus 0
grep -q 'the share of contradictory samples is ' messages || fail "$(cat messages)"

# Without its program, what the samples say can still be told.
mkdir empty
"$csprof" validate --symfs empty -i pause.data >output 2>messages
grep -q 'the program that was recorded is not known or not found' messages || fail "$(cat messages)"
grep -q '^contradictory' output && fail "contradictions without a program: $(cat output)"

validate 3 -i strobe16.data
grep -q 'has no samples with a branch history' messages || fail "$(cat messages)"
validate 3 -i missing.data
validate 3 -i pause.data -b strobe16.data
validate 2 --min-stitched many
validate 2 --rules leafs
validate 2 nonsense
exit $failed
