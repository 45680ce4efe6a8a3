#!/usr/bin/env bash
# Without the cache, csprof gen makes counters of the samples of a recording as they come and forgets
# them; an aggregate keeps them all. Whatever the mode, the number of threads and of recordings: the
# profile is the same, and so is every statistic, also of many more samples than are held at a time
# (up to a million distinct ones, beyond which their number is an estimate, and said to be one).
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 python3
needs_emulator
cd "$work" || exit 1
. "$CSPROF_SOURCE/tests/cli/small_program.sh"
sed -i 's/i < 3000/i < 100000/' program.c
build program
record_emulated data1 ./program --seed 1 --period 67 --window 60
record_emulated data2 ./program --seed 2 --period 101 --window 100

without_callchains 30000 <data1 >some
without_callchains 1000000000 <data1 >none

# gen NAME ARGUMENT...: NAME, and NAME.json
gen() {
    local name=$1
    shift
    "$csprof" gen --no-cache --json -b program --format text -o "$name.prof" "$@" 2>messages |
        sed "s/\"$name.prof\"/\"OUT\"/" >"$name.json"
    [ -s "$name.prof" ] || fail "$name: $(cat messages)"
}

# same_in_batches MODES RECORDING...: counted as they come, and of their aggregate
same_in_batches() {
    local modes=$1 mode threads
    shift
    "$csprof" gen -q --no-cache -b program --format aggregate -o kept "${@/#/--perfdata=}" || fail "no aggregate of $*"
    for mode in $modes; do
        gen kept --mode "$mode" --aggregate kept
        for threads in 1 2 7; do
            gen folded --mode "$mode" --threads "$threads" "${@/#/--perfdata=}"
            cmp folded.prof kept.prof || fail "$mode, $*, $threads threads: another profile"
            diff folded.json kept.json || fail "$mode, $*, $threads threads: other statistics"
        done
    done
}

same_in_batches 'auto flat dwarf-cs dwarf-flat' data1
used=$(sed -n 's/.*"used": \([0-9]*\),$/\1/p' kept.json)
[ "$used" -gt 100000 ] || fail "$used samples are too few for five batches of each of two threads"
same_in_batches 'cs flat dwarf-cs dwarf-flat' data2 data1
same_in_batches 'auto cs flat' some
same_in_batches 'auto flat dwarf-flat' none
same_in_batches 'auto' some none
same_in_batches 'auto' none some
exit "$failed"
