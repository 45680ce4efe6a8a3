#!/usr/bin/env bash
# What simpleperf's inject wrote of three recordings, as csprof gen reads it: each range and each branch
# within the binary comes out again, with the binary's addresses instead of offsets in its file.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?} corpus=${CSPROF_CORPUS:?}/simpleperf
needs_corpus simpleperf

# same LIST BINARY BIAS PLT: of the code's addresses over its offsets; what is at PLT, in the table of
# procedure linkage, is outside
same() {
    local bias=$((16#$3)) from to count
    while IFS=':->' read -r from to count; do
        printf 'F %x %x %d\n' $((16#$from + bias)) $((16#$to + bias)) "$count"
    done < <(grep -E '^[0-9a-f]+-[0-9a-f]+:' "$corpus/$1") >"$work/expected"
    while read -r from to count; do
        printf 'B %x %x %d 0\n' $((16#$from + bias)) $((16#$to + bias)) "$count"
    done < <(sed -nE '/->0:/d; s/^([0-9a-f]+)->([0-9a-f]+):([0-9]+)$/\1 \2 \3/p' "$corpus/$1") >>"$work/expected"
    sed -i "/ $4 /d" "$work/expected"
    "$csprof" gen -q --branch-list "$corpus/$1" -b "$corpus/$2" --format preagg -o "$work/got" 2>"$work/messages" ||
        { fail "$1: $(cat "$work/messages")"; return; }
    diff <(sort "$work/expected") <(sort "$work/got") >"$work/difference" ||
        { fail "$1"; head -n 5 "$work/difference"; return; }
    echo "$1: $(wc -l <"$work/got") ranges and branches"
}
same lbr/inject_lbr.data lbr/lbr_test_loop 1000 none
same perf_inject.data etm_test_loop 0 10e0
same perf_inject_small.data etm_test_loop_small 1000 1640

# counts FILE: how often each instruction of the ranges ran
counts() {
    local kind from to count at
    while read -r kind from to count; do
        [ "$kind" = F ] || continue
        for ((at = 16#$from; at <= 16#$to; at += 4)); do printf '%x %d\n' "$at" "$count"; done
    done <"$1" | awk '{ runs[$1] += $2 } END { for (at in runs) print at, runs[at] }' | sort
}
# same_counts RECORDING LIST BINARY: the ETM recording itself, whose samples are cut from its trace
same_counts() {
    "$csprof" gen -q --branch-list "$corpus/$2" -b "$corpus/$3" --format preagg -o "$work/list" &&
        "$csprof" gen -q -i "$corpus/$1" --symfs "$corpus" -b "$corpus/$3" --format preagg -o "$work/cut" ||
        { fail "$1"; return; }
    diff <(counts "$work/list") <(counts "$work/cut") >"$work/difference" ||
        { fail "$1, instructions"; head -n 5 "$work/difference"; return; }
    # The list does not tell where returns went.
    diff <(grep ^B "$work/list" | sort) <(grep ^B "$work/cut" | sort) | grep '^<' && { fail "$1, branches"; return; }
    echo "$1: $(counts "$work/cut" | wc -l) instructions ran as often as simpleperf says"
}
same_counts perf_etm.data perf_inject.data etm_test_loop
same_counts perf_for_small_binary.data perf_inject_small.data etm_test_loop_small

"$csprof" gen -q -i "$corpus/perf_etm.data" --symfs "$corpus" -b "$corpus/etm_test_loop" --format fdata \
    -o "$work/none" 2>"$work/messages"
[ $? = 3 ] && grep -q 'no branch .* has a symbol for' "$work/messages" && [ ! -e "$work/none" ] ||
    fail "places by symbols of a binary without any: $(cat "$work/messages")"

"$csprof" gen -q --branch-list "$corpus/perf_inject.data" -b "$corpus/lbr/lbr_test_loop" --format preagg \
    -o "$work/none" 2>"$work/messages"
[ $? = 3 ] && grep -q 'tells of 1 binaries, and none of them is .*lbr_test_loop' "$work/messages" ||
    fail "another binary: $(cat "$work/messages")"
sed '2s/:.*/:many/' "$corpus/lbr/inject_lbr.data" >"$work/bad"
"$csprof" gen -q --branch-list "$work/bad" -b "$corpus/lbr/lbr_test_loop" --format preagg -o "$work/none" \
    2>"$work/messages"
[ $? = 3 ] && grep -q 'bad, line 2: expected a range FIRST-LAST:COUNT' "$work/messages" ||
    fail "a malformed line: $(cat "$work/messages")"
exit $failed
