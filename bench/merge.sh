#!/bin/bash
# Merging many aggregates, beside reading and decompressing them: bench/merge.sh [COUNT [SAMPLES]]
#
# Records SQLite (bench/programs) in the emulator with three seeds and draws COUNT (10000) aggregates of
# SAMPLES (1000) samples each from what was sampled. Prints processor time (user and system, the least of three
# rounds, in turns), wall time of that round and the largest memory.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${CSPROF_BUILD:-$root/build/release}
work=$(mktemp -d "${TMPDIR:-/tmp}/csprof-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
binary=$("$root/bench/programs/sqlite")
cd "$work"
for seed in 1 2 3; do
    "$build/csprof" collect -q --emulate --seed $seed --period 4001 -o $seed.data -- \
        "$binary" :memory: ".read $root/bench/programs/inputs/recorded.sql" >/dev/null
    "$build/csprof" gen -q -i $seed.data -b "$binary" --format aggregate -o $seed.agg
done
mkdir drawn
"$build/bench/draw_aggregates" "${1:-10000}" "${2:-1000}" drawn ./*.agg
find drawn -type f >list

measure() { # NAME COMMAND...
    local name=$1
    shift
    /usr/bin/time -a -o "$name" -f '%U %S %e %M' "$@" >/dev/null
}
for _ in 1 2 3; do
    measure read xargs -a list "$build/bench/read_aggregates"
    measure merge "$build/csprof" merge -q -o all.agg @list
done
echo "| | processor s | wall s | MB |"
echo "|---|---|---|---|"
for name in read merge; do
    awk -v name=$name '{ t = $1 + $2; if (!n++ || t < best) { best = t; wall = $3; memory = $4 / 1024 } }
        END { printf "| %s | %.2f | %.2f | %d |\n", name, best, wall, memory }' $name
done
