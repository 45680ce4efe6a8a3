#!/bin/bash
# Recordings of other people's, made by perf on a Neoverse N1 and by simpleperf on phones, decode to
# what others say of them: OpenCSD 1.8's listing, perf's own synthesis, simpleperf's inject.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
. "$(dirname "$0")/decode_lib.sh"
needs_corpus
needs zstd
export HOME=$work/home # neither perf nor we shall find anything in the user's cache
mkdir -p "$HOME"

sort=$CSPROF_CORPUS/arm-perf-e2e/sort_single_thread
program=/home/gergom01/target/bubblesort_singlethread/sort # as recorded

json_number() { # KEY FILE
    sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" "$2"
}

expect_number() { # KEY VALUE FILE
    local value
    value=$(json_number "$1" "$3")
    [ "$value" = "$2" ] || fail "$4: $1 is $value, not $2"
}

# The listing knows the program but not the vdso, which adds 78 instructions.
sort_ranges() {
    listed_ranges "$sort/decode.ppl.zst" >"$work/expected"
    "$csprof" decode -i "$sort/perf.data" --symfs "$sort" --engine both --format ranges --json \
        -o "$work/got" >"$work/json" || { fail "sort: exit $?"; return; }
    grep -v ^ffff "$work/got" | cmp -s - "$work/expected" || fail "sort: ranges differ"
    expect_number instructions 61432 "$work/json" sort
    expect_number discontinuities 28 "$work/json" sort
    expect_number runs 28 "$work/json" sort
    expect_number windows 1 "$work/json" sort
    expect_number unmapped_ranges 0 "$work/json" sort
    expect_number bad_packets 0 "$work/json" sort
    expect_number lost_bytes 0 "$work/json" sort
    local what
    for what in trace_bytes stored_bytes announced_bytes; do
        expect_number $what 37392 "$work/json" sort
    done
    for what in missing_bytes unannounced_bytes repeated_bytes; do
        expect_number $what 0 "$work/json" sort
    done
}

# Without the vdso every other range is still there, and the missing file is named.
sort_without_vdso() {
    "$csprof" decode -i "$sort/perf.data" --code "sort=$sort/sort_single_thread.elf" \
        --symfs "$work" --format ranges -o "$work/got" 2>"$work/messages" ||
        fail "sort without vdso: exit $?"
    cmp -s "$work/got" "$work/expected" || fail "sort without vdso: ranges differ"
    [ "$(grep -c 'vdso.*45b38da7572540b8ed90880cd60ebcf2fc328f05' "$work/messages")" = 1 ] ||
        { fail "sort without vdso: not named once"; cat "$work/messages"; }
}

in_perf_cache() { # FILE NAME BUILD-ID
    mkdir -p "$HOME/.debug/.build-id/${3:0:2}" "$work/cached/$3"
    cp "$1" "$work/cached/$3/$2"
    ln -s "$work/cached/$3" "$HOME/.debug/.build-id/${3:0:2}/${3:2}"
}

# perf gives one sample per run, with its newest 1024 branches. Ours differ in two ways, undone here:
# a run without branches has no line, and where an exception came between a branch and the first
# instruction of its target, perf leaves that branch out (simpleperf, below, does not).
sort_runs_as_perf() {
    command -v perf >/dev/null || { echo "skipped: there is no perf to compare runs with"; return; }
    in_perf_cache "$sort/sort_single_thread.elf" elf ea6ce2d9fb131cbdc1775806f2b40306b871d5c0
    in_perf_cache "$sort/vdso.so" vdso 45b38da7572540b8ed90880cd60ebcf2fc328f05
    perf script -i "$sort/perf.data" --itrace=i1000000000il1024 -F ip,brstack \
        2>"$work/messages" >"$work/perf"
    [ "$(wc -l <"$work/perf")" = 28 ] ||
        { echo "skipped: this perf cannot decode CoreSight"; head -3 "$work/messages"; return; }
    awk 'NF > 1 { $1 = $1; gsub(/\/P\/-\/-\/0\/?/, ""); print }' "$work/perf" >"$work/theirs"
    # Without --symfs we find both where perf does.
    "$csprof" decode -i "$sort/perf.data" --format script -q -o "$work/script" ||
        fail "sort script: exit $?"
    grep -v ^PERF_RECORD "$work/script" |
        awk '{
            $1 = $1
            gsub(/\/P\/-\/-\/0/, "")
            split($2, newest, "/")
            if (newest[1] == "0x" $1) { # the branch is the last instruction that ran
                $2 = ""
                $0 = $0
                $1 = $1
            }
            NF = NF > 1025 ? 1025 : NF
            if (NF > 1) print
        }' >"$work/ours"
    diff "$work/theirs" "$work/ours" >"$work/diff" ||
        { fail "sort: runs differ from perf's"; cut -c1-200 "$work/diff" | head -6; }
    grep -q "^PERF_RECORD_MMAP2 265475/265475: \[0x400000(0x77000) @ 0x0 .*\]: r-xp $program\$" \
        "$work/script" || fail "sort script: the program's mapping is not there"
}

# simpleperf: `start-last:count` of ranges, `from->to:count` of branches. It writes 0 for a target
# outside of the file, and for that of a return, which we do know.
simpleperf() { # RECORDING EXPECTED RANGES BASE OFFSET: of the mapping, and of linked addresses
    local folder=$CSPROF_CORPUS/simpleperf
    "$csprof" decode -i "$folder/$1" --symfs "$folder" --engine both --format ranges -q \
        -o "$work/got" || { fail "$1: exit $?"; return; }
    [ "$(wc -l <"$work/got")" = "$3" ] || fail "$1: $(wc -l <"$work/got") ranges, not $3"
    local base=$((16#$4)) offset=$((16#$5))
    while read -r start end _; do
        printf '%x-%x\n' $((16#$start - base)) $((16#$end - 4 - base))
    done <"$work/got" | sort | uniq -c | awk '{ print $2 ":" $1 }' | sort >"$work/ranges"
    grep -- '^[0-9a-f]*-[0-9a-f]*:' "$folder/$2" | sort >"$work/expected"
    diff "$work/expected" "$work/ranges" >"$work/diff" ||
        { fail "$1: ranges differ"; head -5 "$work/diff"; }
    "$csprof" decode -i "$folder/$1" --symfs "$folder" --format preagg -q -o "$work/preagg" ||
        { fail "$1: preagg: exit $?"; return; }
    sed -n 's/^B [0-9a-f]*:\([0-9a-f]*\) [0-9a-f]*:\([0-9a-f]*\) \([0-9]*\) 0$/\1 \2 \3/p' \
        "$work/preagg" | while read -r from to count; do
        printf '%x->%x:%u\n' $((16#$from - offset)) $((16#$to - offset)) "$count"
    done | sort >"$work/all"
    sed -n 's/->0:.*/->/p' "$folder/$2" >"$work/to_nowhere"
    grep -v -F -f "$work/to_nowhere" "$work/all" >"$work/branches"
    grep -- '->' "$folder/$2" | grep -v -- '->0:' | sort >"$work/expected"
    diff "$work/expected" "$work/branches" >"$work/diff" ||
        { fail "$1: branches differ"; head -5 "$work/diff"; }
}

# Trace that was lost when the file was written: explained, and no failure.
missing_trace() {
    local name=perf_with_missing_aux_data.data
    "$csprof" decode -i "$CSPROF_CORPUS/simpleperf/$name" -o "$work/none" 2>"$work/messages" ||
        fail "$name: exit $?"
    [ "$(wc -l <"$work/messages")" = 1 ] && grep -q 'announce 1535344 bytes.*not in the file' "$work/messages" ||
        { fail "$name: what is missing is not told"; cat "$work/messages"; }
    [ ! -e "$work/none" ] || fail "$name: left an output"
}

sort_ranges
sort_without_vdso
sort_runs_as_perf
simpleperf perf_etm.data perf_inject.data 208 582b2b0000 0
simpleperf perf_for_small_binary.data perf_inject_small.data 8246 \
    "$("$csprof" decode -i "$CSPROF_CORPUS/simpleperf/perf_for_small_binary.data" \
        --symfs "$CSPROF_CORPUS/simpleperf" --format script -q |
        sed -n 's/^PERF_RECORD_MMAP2 .*\[0x\([0-9a-f]*\)(.* @ 0x0 .*r-xp .*etm_test_loop_small$/\1/p' | head -1)" 1000
missing_trace
exit $failed
