#!/usr/bin/env bash
# Aggregates: the profile of several is the profile of all their inputs, however they were merged;
# nothing is counted twice by accident; files that are none are refused.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22
needs_emulator
cd "$work" || exit 1

. "$CSPROF_SOURCE/tests/cli/small_program.sh"
build program
for seed in 1 2 3; do
    "$csprof" collect -q --emulate --seed $seed --window 300 --period 997 -o data$seed -- ./program ||
        exit 1
    "$csprof" gen -q -i data$seed --format aggregate -o aggregate$seed || exit 1
done
# The third one as text, whose last samples have no callchain.
"$csprof" decode -q -i data3 --format script -o text
awk '/^ 0x/ && n++ < 20 { print }' text >flat
cat text flat >text3
"$csprof" gen -q --perfscript text3 -b program --format aggregate -o aggregate4 || exit 1
for threads in 1 3; do
    "$csprof" gen -q --threads $threads --perfscript text3 -b program --format aggregate -o again &&
        cmp aggregate4 again || fail "$threads threads"
done

# same WHAT WANT ARGUMENT...: in each mode, the profile of these
same() {
    local what=$1 want=$2
    shift 2
    for mode in auto cs flat dwarf-cs dwarf-flat; do
        "$csprof" gen -q -b program --mode $mode --format text -o got "$@" || fail "$what, $mode"
        [ -e "$want.$mode" ] || { mv got "$want.$mode"; continue; }
        cmp got "$want.$mode" && continue
        fail "$what, $mode: not the profile of the inputs themselves"
    done
    rm -f got
}
same "inputs" all -i data1 -i data2 --perfscript text3
same "aggregates" all --aggregate aggregate1 --aggregate aggregate2 --aggregate aggregate4
same "aggregates, backwards" all --aggregate aggregate4 --aggregate aggregate2 --aggregate aggregate1
same "an aggregate and inputs" all --aggregate aggregate2 --perfscript text3 -i data1 --threads 3
"$csprof" merge -q -o merged aggregate1 aggregate2 aggregate4 || fail "merge"
same "merged" all --aggregate merged
[ "$(grep -c '^ *[0-9]*:' all.cs)" -gt 5 ] || fail "hardly anything was compared"
cmp -s all.cs all.flat && fail "contexts make no difference: little was compared"

# Any order, and in steps: the same file.
"$csprof" merge -q -o other aggregate4 aggregate1 aggregate2 && cmp merged other || fail "another order"
"$csprof" merge -q -o two aggregate2 aggregate4 && "$csprof" merge -q -o other two aggregate1 &&
    cmp merged other || fail "in two steps"
"$csprof" gen -q -i data1 -i data2 --perfscript text3 -b program --format aggregate -o other &&
    cmp merged other || fail "at once"
"$csprof" merge --json -o other aggregate1 aggregate2 aggregate4 >json && grep -q '"inputs": 3' json ||
    fail "merge --json: $(cat json)"

# expect EXIT PATTERN COMMAND...
expect() {
    local want=$1 pattern=$2 got
    shift 2
    rm -f output
    "$csprof" "$@" >printed 2>messages
    got=$?
    [ $got = "$want" ] || fail "$*: exit $got, not $want: $(cat messages)"
    grep -q -e "$pattern" messages || fail "$*: no '$pattern' in: $(cat messages)"
    [ "$want" = 0 ] || [ ! -e output ] || fail "$*: left an output"
}
expect 3 'aggregate1: 1 of its 1 inputs were counted already.*--allow-duplicates' \
    merge -o output aggregate2 aggregate1 aggregate1
expect 3 'merged: 2 of its 3 inputs were counted already' merge -o output two merged
expect 3 'data1: 1 of its 1 inputs were counted' gen -o output --aggregate aggregate1 -i data1 -b program
expect 3 'data1: 1 of its 1 inputs were counted' gen -o output -i data1 -i data1
expect 0 ^ merge --allow-duplicates -o output aggregate1 aggregate1
"$csprof" gen -q -b program --mode flat --format text -o once --aggregate aggregate1
"$csprof" gen -q -b program --mode flat --format text -o twice --aggregate output
awk -F '[: ]+' 'NR == FNR { if (/^[^ ]/) once[$1] = $2; next } /^[^ ]/ && $2 != 2 * once[$1] { print; bad = 1 } END { exit bad }' \
    once twice || fail "twice is not two times once"

mkdir other-build && build other-build/program -DOTHER -O1
"$csprof" collect -q --emulate --window 300 --period 997 -o data-other -- other-build/program
"$csprof" gen -q -i data-other -b other-build/program --format aggregate -o aggregate-other || fail "the other build"
expect 3 'is of program with build-id [0-9a-f]*, and not of program with' merge -o output aggregate1 aggregate-other
expect 3 'is of another program than program: its build-id is' gen -o output --aggregate aggregate-other -b program

expect 2 'takes -o FILE' merge aggregate1
expect 2 'takes -o FILE' merge -o output
expect 2 "unexpected argument '--bogus'" merge --bogus
expect 2 'needs the binary too' gen --aggregate aggregate1
expect 2 'do not go with --compat' gen --aggregate aggregate1 -b program --compat llvm-profgen-22
expect 3 'nowhere: No such file' merge -o output nowhere
expect 3 'program is no aggregate.*at offset 0' merge -o output program

# Damage, wherever it is, is told with an offset, and never a crash.
size=$(stat -c %s merged)
head -c $((size - 1)) merged >cut
expect 3 'cut: offset 32: .* cut short' merge -o output cut
damage() { # OFFSET: that byte is another
    cp merged damaged
    printf "\\x$(printf %02x $((0x$(od -An -tx1 -j $1 -N1 merged | tr -d ' ') ^ 0xff)))" |
        dd of=damaged bs=1 seek=$1 conv=notrunc status=none
}
damage 8 && expect 3 'damaged: offset 8: version' merge -o output damaged
for offset in 12 17 25 33 41; do
    damage $offset
    expect 3 'damaged: offset [0-9]*: ' merge -o output damaged
done
for offset in 48 60 $((size / 2)) $((size - 5)); do
    damage $offset
    expect 3 'damaged: offset \(24\|48\): ' merge -o output damaged
done
exit $failed
