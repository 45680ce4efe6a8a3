#!/usr/bin/env bash
# Emulated recordings, damaged in every way that is known, decoded and stitched: no pair called exact
# or timed is wrong, what can be paired is, and everything that is lost has its name. One line a kind.
#
# CSPROF_ADVERSARY_PAUSES=200000 takes so many pauses for each kind instead of a few thousand, and then some
# gigabytes in $TMPDIR. CSPROF_ADVERSARY_ROWS takes only the kinds whose name matches the regular expression,
# 'free: TRBE, truncated' say; CSPROF_ADVERSARY_SEED=2 has other luck. CSPROF_ADVERSARY_TABLE names a file for the
# table of docs/adversary.md.
set -uo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
pauses=${CSPROF_ADVERSARY_PAUSES:-2000}
rows=${CSPROF_ADVERSARY_ROWS:-.}
seed=${CSPROF_ADVERSARY_SEED:-1}
table=() # the judge's option
if [ -n "${CSPROF_ADVERSARY_TABLE:-}" ]; then
    table=(--table "$(realpath -m "$CSPROF_ADVERSARY_TABLE")")
    cat >"${table[1]}" <<'HEAD' || exit 1
| run | what is wrong | pauses | exact | time | order | ambiguous | none | wrong exact, time | wrong order | misnamed | undecided | recall % | time by |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
HEAD
fi
cd "$work" || exit 1

needs_emulator
"$CSPROF_SOURCE/tests/programs/build.sh" . threads || exit $?
"${CLANG:-clang-22}" --target=aarch64-linux-gnu -fuse-ld=lld-22 -O2 -g -fno-omit-frame-pointer \
    -mno-omit-leaf-frame-pointer "$CSPROF_SOURCE/demo/mill/unity.c" -o mill || exit 1

judged=0

run() { # NAME PROGRAM ARGUMENT...: its journal and truth, when a kind of them is wanted the first time
    local name=$1
    shift
    [ ! -e "$name.journal" ] || return 0
    "$CSPROF" collect -q --emulate -o plain.data --keep-journal "$name.journal" \
        --truth "$name.truth" --seed "$seed" --window 200 --skid 20 --timestamp-interval 0 \
        "${options[@]}" -- "$@" >/dev/null || { echo "$name: cannot be recorded"; exit 1; }
}

# remake JOURNAL NUMBER FAULT...: a recording, and what was damaged in it
remake() {
    local journal=$1 number=$2 faults=() fault
    shift 2
    for fault; do faults+=(--fault "$fault"); done
    "$CSPROF_BUILD/tests/remake_recording" "${faults[@]}" --seed $((seed + number - 1)) \
        --ledger "ledger.$number" "$journal.journal" "damaged.$number"
}

# 30 million instructions each time. Free-running, most pauses find the trace off. "short" is for many
# short recordings: of some CPUs there are a few windows only.
record() { # JOURNAL
    options=(--period 1003)
    case $1 in
    one)
        [ "$pauses" -ge 30000 ] || options=(--period $((30000000 / pauses)))
        run one ./mill "$CSPROF_SOURCE/demo/unseen.mill" $((1 + pauses / 24000))
        ;;
    threads) run threads ./threads $((1 + pauses / 2700)) ;;
    free)
        options=(--strategy free-running --window 1013 --period 2652)
        run free ./threads $((1 + pauses / 2700))
        ;;
    short) run short ./threads 1 ;;
    esac
}
declare -A count=([one]=1 [threads]=1 [free]=1 [short]=$((1 + pauses / 2700)))

# kind JOURNAL NAME "JUDGE'S OPTIONS" FAULT...
kind() {
    local journal=$1 name=$2 judge=$3 recordings=() number
    shift 3
    [[ "$journal: $name" =~ $rows ]] || return 0
    judged=$((judged + 1))
    record "$journal"
    for ((number = 1; number <= ${count[$journal]}; number++)); do
        remake "$journal" "$number" "$@" || failed=1
        recordings+=("ledger.$number" "damaged.$number")
    done
    # shellcheck disable=SC2086 # the judge's options are words
    "$CSPROF_BUILD/tests/judge_stitching" $judge "${table[@]}" "$journal: $name" "$journal.truth" \
        "${recordings[@]}" || { echo "$journal: $name FAILED"; failed=1; }
}

# With good time hardly a reason is not told apart: none, where it can be seen that every resume worked, for
# which a few thousand windows are too few.
tiny=0.004 mix=0.015
[ "$pauses" -lt 100000 ] || tiny=0.0001
# Where a record was lost at a seam between two, it may have told of a hole: of a window that fits its pause at
# both ends it is not known then that it is whole. A hole at a seam may have joined two windows.
seams="--recall 0.995 --undecided 0.004"
good="--recall 0.995 --undecided $tiny" fitted="--recall 0.97 --undecided 0.003"
mixed="--recall 0.97 --wrong-order 0.2 --undecided $mix"
# Without any time, a lost window beside a lost sample looks like a window that ended elsewhere, unless the
# resume tells that it was opened elsewhere, too. Whose window was given to another, by order, has none left.
blind="--recall 0.97 --wrong-order 0.01 --undecided $mix"
for journal in one threads; do
    kind $journal "nothing wrong" "$good"
    kind $journal "lost samples" "$good" lost-samples
    kind $journal "full ring" "$good" full-ring
    kind $journal "throttling" "$good" throttling
    kind $journal "lost windows" "$good" lost-windows
    kind $journal "lost AUX" "$good" lost-aux
    kind $journal "truncated AUX" "$good" truncated=0.05
    kind $journal "undrained" "$good" undrained
    kind $journal "undrained, overwritten" "$good" undrained=300 overwritten=12000
    kind $journal "TRBE" "$good" trbe=8192
    kind $journal "TRBE, mid-packet" "$good" mid-packet=999
    kind $journal "TRBE, lost AUX" "$good" mid-packet=4097 lost-aux
    kind $journal "TRBE, truncated" "$good" mid-packet=4097 truncated=0.1
    kind $journal "TRBE, collision" "$seams" mid-packet=4097 collision=0.05
    kind $journal "TRBE, full ring" "$seams" mid-packet=4097 full-ring=0.02
    kind $journal "trace in samples" "$good" aux-samples lost-samples lost-windows
    kind $journal "trace in samples, TRBE" "$good" aux-samples trbe lost-samples lost-windows no-context
    kind $journal "trace in samples, no time" "$blind" aux-samples no-time lost-samples lost-windows
    kind $journal "skid" "$good" skid
    kind $journal "clock offset" "$fitted" clock-offset=1000000 lost-samples
    kind $journal "clock offset, TRBE" "$fitted" clock-offset=-123456 trbe lost-samples
    kind $journal "clock drift" "$fitted" clock-drift=100 lost-samples
    kind $journal "unknown clock" "$fitted" unknown-clock lost-samples lost-windows
    kind $journal "no time" "$good" no-time lost-samples lost-windows
    kind $journal "no time, TRBE" "$blind" no-time trbe lost-samples=0.02 lost-windows=0.02
    kind $journal "no context IDs" "$good" no-context lost-samples lost-windows
    for version in 0 1 2; do
        kind $journal "AUXTRACE_INFO version $version" "$good" info-version=$version
    done
    kind $journal "repeated trace IDs" "$good" repeated-ids=3 lost-samples
    kind $journal "all, ETR" "$good" lost-samples full-ring throttling lost-windows lost-aux truncated \
        skid info-version=2
    kind $journal "all, ETR shared" "$good" lost-samples full-ring throttling lost-windows truncated \
        undrained overwritten skid repeated-ids
    kind $journal "all, TRBE, drift" "$mixed" lost-samples full-ring throttling lost-windows lost-aux \
        truncated collision mid-packet skid clock-offset=54321 clock-drift=50
done
kind free "nothing wrong" "$good"
kind free "no context IDs" "$good" no-context lost-samples lost-windows
kind free "no time" "$good" no-time lost-samples lost-windows
kind free "TRBE, truncated" "$good" mid-packet=4097 truncated=0.1
kind free "all, ETR shared" "$good" lost-samples full-ring throttling lost-windows truncated undrained \
    overwritten skid repeated-ids
kind free "all, TRBE, drift" "$mixed" lost-samples full-ring throttling lost-windows lost-aux truncated \
    collision mid-packet skid clock-offset=54321 clock-drift=50
kind short "nothing wrong" "$good"
kind short "full ring" "$good" full-ring=0.3 lost-samples
kind short "TRBE, full rings" "$seams" trbe=200000 full-ring=0.5 # of some, all AUX records are lost
kind short "TRBE, offset" "$mixed" mid-packet=999 lost-samples full-ring lost-windows clock-offset=54321
kind short "all, TRBE, drift" "$mixed" lost-samples full-ring throttling lost-windows lost-aux truncated \
    collision mid-packet skid clock-offset=54321 clock-drift=50
[ "$judged" -gt 0 ] || fail "no kind matches '$rows'"
exit $failed
