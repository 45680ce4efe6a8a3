#!/usr/bin/env bash
# Without the cache, csprof gen makes counters of the samples of a recording as they come and forgets
# them; an aggregate keeps them all. Whatever the mode, the number of threads and of recordings: the
# profile is the same, and so is every statistic, also of many more samples than are held at a time
# (up to a million distinct ones, beyond which their number is an estimate, and said to be one).
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22
needs_emulator
cd "$work" || exit 1
. "$CSPROF_SOURCE/tests/cli/small_program.sh"
sed -i 's/i < 3000/i < 60000/' program.c
build program
record_emulated data1 ./program --seed 1 --period 101 --window 40
record_emulated data2 ./program --seed 2 --period 211 --window 100

# gen NAME ARGUMENT...: NAME, and NAME.json
gen() {
    local name=$1
    shift
    "$csprof" gen --no-cache --json -b program --format text -o "$name.prof" "$@" 2>messages |
        sed "s/\"$name.prof\"/\"OUT\"/" >"$name.json"
    [ -s "$name.prof" ] || fail "$name: $(cat messages)"
}

"$csprof" gen -q --no-cache -b program --format aggregate -o one -i data1 || fail "no aggregate of one"
"$csprof" gen -q --no-cache -b program --format aggregate -o two -i data1 -i data2 || fail "no aggregate of two"
gen used --aggregate one
used=$(sed -n 's/.*"used": \([0-9]*\),$/\1/p' used.json)
[ "$used" -gt 20000 ] || fail "$used samples are too few for several batches"
for mode in cs flat dwarf-cs dwarf-flat; do
    for inputs in "one -i data1" "two -i data2 -i data1"; do
        aggregate=${inputs%% *}
        gen kept --mode "$mode" --aggregate "$aggregate"
        for threads in 1 2 7; do
            # shellcheck disable=SC2086
            gen folded --mode "$mode" --threads "$threads" ${inputs#* }
            cmp folded.prof kept.prof || fail "$mode, $inputs, $threads threads: another profile"
            diff folded.json kept.json || fail "$mode, $inputs, $threads threads: other statistics"
        done
    done
done
exit "$failed"
