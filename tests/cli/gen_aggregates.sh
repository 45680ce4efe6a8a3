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
    record data$seed $seed
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
for format in fdata preagg; do
    "$csprof" gen -q -b program --format $format -o want -i data1 -i data2 --perfscript text3 &&
        "$csprof" gen -q -b program --format $format -o got --aggregate merged && cmp want got &&
        [ "$(wc -l <want)" -gt 5 ] || fail "$format, for BOLT, of aggregates"
done

# Any order, and in steps: the same file.
"$csprof" merge -q -o other aggregate4 aggregate1 aggregate2 && cmp merged other || fail "another order"
"$csprof" merge -q -o two aggregate2 aggregate4 && "$csprof" merge -q -o other two aggregate1 &&
    cmp merged other || fail "in two steps"
"$csprof" gen -q -i data1 -i data2 --perfscript text3 -b program --format aggregate -o other &&
    cmp merged other || fail "at once"
"$csprof" merge --json -o other aggregate1 aggregate2 aggregate4 >json && grep -q '"inputs": 3' json ||
    fail "merge --json: $(cat json)"

# By several threads: the same file, and the same complaint.
mkdir many
for number in {01..30}; do
    { cat text3; echo "# $number"; } >many/text
    "$csprof" gen -q --perfscript many/text -b program --format aggregate -o "many/$number" || fail "one of many"
done
rm many/text
for threads in 1 2 3; do
    "$csprof" merge -q --threads $threads -o "by$threads" many/* merged || fail "by $threads threads"
    cmp by1 "by$threads" || fail "by $threads threads: another file"
    "$csprof" merge -q --threads $threads --memory 1 -o other many/* merged && cmp by1 other ||
        fail "by $threads threads in little memory"
    "$csprof" merge -q --threads $threads -o other many/* many/03 2>"twice$threads" && fail "twice, by $threads threads"
    cmp twice1 "twice$threads" || fail "twice: $(cat "twice$threads")"
    head -c 100 many/20 >damaged
    "$csprof" merge -q --threads $threads -o other many/* damaged many/03 2>"bad$threads" && fail "damaged"
    cmp bad1 "bad$threads" || fail "damaged, by $threads threads: $(cat "bad$threads")"
done
many=()
for number in {01..30}; do many+=(--aggregate "many/$number"); done
"$csprof" gen -q -b program --format text -o want --aggregate by1 || fail "gen of what was merged"
for threads in 1 2 3; do
    "$csprof" gen -q --threads $threads -b program --format text -o got "${many[@]}" --aggregate merged &&
        cmp want got || fail "gen by $threads threads: not the profile of what was merged"
    "$csprof" gen -q --threads $threads -b program -o got "${many[@]}" --aggregate many/03 2>gen_twice && fail "gen, twice"
    grep -q 'many/03: 1 of its 1 inputs were counted already' gen_twice || fail "gen, twice: $(cat gen_twice)"
done
grep -q 'many/03: 1 of its 1 inputs were counted already' twice3 || fail "twice: $(cat twice3)"
grep -q 'damaged: ' bad3 || fail "damaged: $(cat bad3)"

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
expect 3 'data1: 1 of its 1 inputs were counted' merge -o output aggregate1 data1
expect 0 ^ merge --allow-duplicates -o output aggregate1 aggregate1
"$csprof" gen -q -b program --mode flat --format text -o once --aggregate aggregate1
"$csprof" gen -q -b program --mode flat --format text -o twice --aggregate output
awk -F '[: ]+' 'NR == FNR { if (/^[^ ]/) once[$1] = $2; next } /^[^ ]/ && $2 != 2 * once[$1] { print; bad = 1 } END { exit bad }' \
    once twice || fail "twice is not two times once"

mkdir other-build && build other-build/program -DOTHER -O1
record_emulated data-other other-build/program
"$csprof" gen -q -i data-other -b other-build/program --format aggregate -o aggregate-other || fail "the other build"
expect 3 'is of program with build-id [0-9a-f]*, and not of program with' merge -o output aggregate1 aggregate-other
expect 3 'is of another program than program: its build-id is' gen -o output --aggregate aggregate-other -b program

expect 2 'takes -o FILE' merge aggregate1
expect 2 'takes -o FILE' merge -o output
expect 2 "there is no option '--bogus'" merge --bogus
expect 2 'needs the binary too' gen --aggregate aggregate1
expect 2 'do not go with --compat' gen --aggregate aggregate1 -b program --compat llvm-profgen-22
expect 3 'nowhere: No such file' merge -o output nowhere
expect 3 'program' merge -o output program
expect 3 'program is no aggregate.*at offset 0' gen -o output --aggregate program -b program

# Any mix of recordings and aggregates, in any order, with hardly any memory, from a list.
"$csprof" gen -q --perfscript text3 -b program --format aggregate -o of-text3 || fail "text3"
mix() { # ARGUMENT...: what merges to the same file
    "$csprof" merge -q -o other "$@" && cmp merged other || fail "merge $*"
}
mix data1 aggregate2 of-text3
mix of-text3 data2 aggregate1 -b program
mix --memory 1k aggregate1 aggregate2 of-text3
mix --memory 1k of-text3 data2 data1
printf 'aggregate1\ndata2\n\nof-text3' >list
mix @list
same "a recording, and aggregates by -i" all -i aggregate2 -i data1 -i of-text3
"$csprof" merge -q --weighted-input 2,aggregate1 -o weighted &&
    "$csprof" merge -q --allow-duplicates -o other aggregate1 aggregate1 && cmp weighted other || fail "weights"
"$csprof" merge -q --weighted-input 18446744073709551615,aggregate1 -o saturated 2>messages
grep -q 'warning: .* counts would have been above' messages || fail "saturation: $(cat messages)"
expect 2 "weighted-input cannot be '0,x'" merge -o output --weighted-input 0,x
expect 2 "memory cannot be 'much'" merge -o output --memory much aggregate1
if [ "$(id -u)" != 0 ] || mkdir nowhere-to-write; then
    TMPDIR=$work/missing expect 75 'cannot create a file for what does not fit' \
        merge --memory 1k -o output aggregate1 aggregate2
fi

# --resume leaves what is done, and only that.
cp merged other
expect 0 'other is there already' merge --resume -o other aggregate4 aggregate1 aggregate2
cmp merged other || fail "resumed"
"$csprof" merge -q --resume -o other aggregate1 aggregate2 && cmp -s merged other && fail "resumed with another input"
head -c 2000 merged >other
"$csprof" merge -q --resume -o other aggregate1 aggregate2 aggregate4 && cmp merged other || fail "resumed what was cut"
expect 0 'aggregate1 is there already' gen --resume -i data1 --format aggregate -o aggregate1
"$csprof" gen -q --resume -i data2 --format aggregate -o aggregate1 && cmp aggregate1 aggregate2 || fail "resumed another"
"$csprof" gen -q --resume -i data1 --format aggregate -o aggregate1
expect 2 'resume is for --format aggregate' gen --resume -i data1 -o output
expect 2 'resume cannot tell' merge --resume --weighted-input 2,aggregate1 -o output

# Across builds: functions count together where their control flow is the same, and what is left out is told.
mkdir next relinked
sed 's/return (n \* 7) % 11;/return n > 4 ? (n * 7) % 11 : n \& 1 ? n * 3 : n;/' program.c >next/program.c
(cd next && build program) && record data-next 1 next/program
"$csprof" gen -q -i data-next -b next/program --format aggregate -o aggregate-next || fail "the next build"
"$csprof" merge -v --across-builds -b next/program -b program -o across aggregate-next aggregate1 aggregate2 2>messages ||
    fail "across builds: $(cat messages)"
grep -q 'leaf.* of program is left out: its control flow is another now' messages || fail "leaf: $(cat messages)"
grep -q 'program: 1 of [0-9]* functions are left out, with [1-9][0-9.]*% of the counts' messages || fail "left out: $(cat messages)"
"$csprof" merge --json --across-builds -b next/program -b program -o again aggregate2 aggregate-next aggregate1 >json 2>/dev/null
grep -q '"functions_left_out": 1,' json || fail "json: $(cat json)"
cmp across again || fail "across builds in another order"
# The same code at other addresses: the profile of both is that of all recorded in one.
build relinked/program -Wl,--image-base=0x900000
record relinked1 1 relinked/program
record relinked2 2 relinked/program
"$csprof" gen -q -i relinked1 --format aggregate -o aggregate-relinked || fail "relinked"
"$csprof" gen -q -b relinked/program -o want -i relinked1 -i relinked2 || fail "relinked, both"
"$csprof" merge --across-builds -b relinked/program -b program -o across aggregate2 aggregate-relinked 2>messages &&
    cmp across want || fail "the same code at other addresses: $(cat messages)"
grep -q ' 0 of [1-9][0-9]* functions are left out\| 0 of [1-9] functions are left out' messages || fail "relinked: $(cat messages)"
expect 2 'several -b are for --across-builds' merge -b program -b next/program -o output aggregate1
expect 2 'takes aggregates and a -b for each build' merge --across-builds -b program -o output aggregate1
expect 3 'there is no aggregate of program' merge --across-builds -b next/program -b program -o output aggregate-next
expect 3 'aggregate-other is of a build of program .* that no -b names' \
    merge --across-builds -b next/program -b program -o output aggregate-other aggregate1

# Damage, wherever it is, is told with an offset, and never a crash; unit.aggregate tries every byte.
size=$(stat -c %s merged)
head -c $((size - 1)) merged >cut
expect 3 'cut: offset [0-9]*: .* cut short' merge -o output cut
cp merged longer && echo >>longer
expect 3 "longer: offset $size: .*appended" merge -o output longer
printf '\001' | dd of=longer bs=1 seek=8 conv=notrunc status=none
expect 3 'longer: offset 8: version' merge -o output longer
exit $failed
