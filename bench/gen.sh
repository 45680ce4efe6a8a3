#!/bin/bash
# Making a profile, beside the peers, as Markdown: bench/gen.sh [--text MB] [--rounds N] [PROGRAM...]
#
# PROGRAMs are those of bench/programs (sqlite, lua, cpython; by default sqlite): built for
# AArch64 and recorded in the emulator, again with other seeds until the text has so many MB (64, which
# one recording of 27 MB has; 1000 for 160 MB of recordings). The same recordings, and a small one of 1 in
# 16 as many windows, are what perf decodes too. The columns are processor time (user and system, the least
# of N rounds, 3; the tools take turns), wall time of the same round, and the largest memory of any process.
# Ratios are to llvm-profgen on the same text, or to `perf script | llvm-profgen` on the same recordings,
# whose profile has no contexts: perf pairs no callchain with what it decodes. Nothing is taken from csprof's
# cache.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
csprof=${CSPROF_BUILD:-$root/build/release}/csprof
megabytes=64 rounds=3
while [ $# -gt 0 ]; do
    case $1 in
    --text) megabytes=$2 && shift 2 ;;
    --rounds) rounds=$2 && shift 2 ;;
    -*) sed -n '2,11s/^# //p' "$0" >&2 && exit 2 ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || set -- sqlite
work=$(mktemp -d "${TMPDIR:-/tmp}/csprof-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

# record NAME PERIOD SEED: NAME.data
record() {
    local input=$root/bench/programs/inputs/recorded
    case $program in
    sqlite) set -- "$@" "$binary" :memory: ".read $input.sql" ;;
    lua) set -- "$@" "$binary" "$input.lua" ;;
    *)
        export PYTHONPATH=${binary%/*/*}/source/Lib PYTHONHASHSEED=0
        set -- "$@" "$binary" -S "$input.py"
        ;;
    esac
    local name=$1 period=$2 seed=$3
    shift 3
    "$csprof" collect -q --emulate --period "$period" --seed "$seed" -o "$name.data" -- "$@" >/dev/null
}

# Appends recordings to `text` until it is large enough; `datas` are their names.
record_text() {
    local seed=0
    : >text
    datas=()
    while [ "$(stat -c %s text)" -lt $((megabytes * 1000000)) ]; do
        seed=$((seed + 1))
        record "part$seed" 2003 $seed
        "$csprof" decode -q -i "part$seed.data" --format script -o part.text
        cat part.text >>text
        datas+=("part$seed.data")
    done
    rm -f part.text
}

# measure NAME COMMAND: once; keeps the least processor time
measure() {
    local name=$1 took processor
    if ! /usr/bin/time -o times -f '%U %S %e %M' sh -c "$2" >log 2>&1; then
        echo "failed: $(tail -n 1 log | cut -c 1-60)" >"result.$name"
        return
    fi
    took=$(tail -n 1 times)
    processor=$(echo "$took" | awk '{ print $1 + $2 }')
    if [ ! -e "result.$name" ] || awk "BEGIN { exit !($processor < $(cut -d ' ' -f 1 "result.$name")) }"; then
        echo "$took" | awk '{ printf "%.2f %.2f %d\n", $1 + $2, $3, $4 / 1024 }' >"result.$name"
    fi
}

# measure_perf NAME RECORDING...: `perf script | llvm-profgen`.
# Without ip: perf 6.1 prints callers as offsets in files, which are no addresses to llvm-profgen.
measure_perf() {
    local name=$1
    shift
    measure "$name" "for data in $*; do perf --buildid-dir builds script -i \$data $itrace -F brstack --show-mmap-events 2>/dev/null || exit; done >perf.text && $profgen --perfscript=perf.text && test -s out"
}

# row TITLE NAME REFERENCE
row() {
    local result
    result=$(cat "result.$2")
    case $result in
    failed*) printf '| %s | %s | | | |\n' "$1" "$result" ;;
    *) printf '| %s | %s |\n' "$1" "$(paste "result.$2" "result.$3" |
        awk '{ printf "%s | %s | %s | %.1f× time, %.2f× memory", $1, $2, $3, ($4 / $1), ($3 / $6) }')" ;;
    esac
}

bench() {
    binary=$("$root/bench/programs/$program")
    record_text
    record small 32051 1
    rm -f result.*
    local gen="$csprof gen -q --no-cache --threads 1 -b $binary -o out" profgen="llvm-profgen-22 --binary=$binary --output=out"
    local itrace=--itrace=i1000il64
    for _ in $(seq "$rounds"); do
        measure text1 "$gen --perfscript text"
        measure text2 "$gen --perfscript text --threads 2"
        measure compat "$gen --perfscript text --compat llvm-profgen-22"
        measure profgen "$profgen --perfscript=text"
        measure large1 "$gen ${datas[*]/#/-i }"
        measure large2 "$gen ${datas[*]/#/-i } --threads 2"
        measure_perf large "${datas[@]}"
        measure data1 "$gen -i small.data"
        measure data2 "$gen -i small.data --threads 2"
        measure_perf perf small.data
        measure perf2bolt "perf2bolt-22 -p small.data $itrace -o out $binary"
        measure autofdo "perf --buildid-dir builds inject -f -i small.data $itrace --strip -o injected && create_llvm_prof --binary=$binary --profile=injected --out=out"
    done
    printf '### %s: %d MB of text, %d samples; recordings of %d and %d MB\n\n' "$program" \
        $(($(stat -c %s text) / 1000000)) "$(grep -c '^ 0x' text)" \
        $(($(cat "${datas[@]}" | wc -c) / 1000000)) $(($(stat -c %s small.data) / 1000000))
    printf '| | processor s | wall s | MB | beside the reference |\n|---|---|---|---|---|\n'
    row 'text: csprof gen' text1 profgen
    row 'text: csprof gen --threads 2' text2 profgen
    row 'text: csprof gen --compat llvm-profgen-22' compat profgen
    row 'text: llvm-profgen-22 (reference)' profgen profgen
    row 'recordings: csprof gen' large1 large
    row 'recordings: csprof gen --threads 2' large2 large
    row 'recordings: perf script, llvm-profgen-22 (reference)' large large
    row 'small recording: csprof gen' data1 perf
    row 'small recording: csprof gen --threads 2' data2 perf
    row 'small recording: perf script, llvm-profgen-22 (reference)' perf perf
    row 'small recording: perf2bolt-22' perf2bolt perf
    row 'small recording: perf inject, create_llvm_prof' autofdo perf
    echo
}

for program; do
    bench
done
