#!/usr/bin/env bash
# Every snapshot of the corpus decodes to the same elements, line for line, by the two builds of
# segments: for processors with AVX2, and for any other (tests/tools/without_avx2.c).
set -uo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
tools=${CSPROF_BUILD:?}/tests
needs_corpus
grep -q '\<avx2\>' /proc/cpuinfo || skip "this processor has no AVX2, so there is nothing to compare"

compared=0 taken=0
for snapshot in "$CSPROF_CORPUS"/opencsd/* "$CSPROF_CORPUS"/ricsec/snapshots/*; do
    [ -e "$snapshot/snapshot.ini" ] || continue
    name=$(basename "$snapshot")
    with=$("$tools/trace_elements" native "$snapshot" 2>"$work/messages" | cksum) ||
        { fail "$name: $(cat "$work/messages")"; continue; }
    without=$("$tools/trace_elements_without_avx2" native "$snapshot" 2>"$work/messages" | cksum) ||
        { fail "$name without AVX2: $(cat "$work/messages")"; continue; }
    [ "$with" = "$without" ] || fail "$name: other elements without AVX2"
    compared=$((compared + 1))
    calls=$(sed -n 's/ calls without AVX2//p' "$work/messages")
    taken=$((taken + (calls > 0)))
done
[ $compared -ge 15 ] || fail "only $compared snapshots"
# They are for trace without a return stack, speculation and markers between all atoms: not for
# juno-ret-stck, ete_spec_1, maxspec78_commopt0 and ts_marker.
[ $taken -ge $((compared - 4)) ] || fail "segments were taken in $taken of $compared snapshots"
echo "$compared snapshots compared, segments taken in $taken"
exit $failed
