#!/usr/bin/env bash
# csprof gen --format preagg and fdata of the demo's program: BOLT reads both without a mismatch,
# perf2bolt makes of the one what csprof writes as the other, and the program that BOLT lays out anew
# takes fewer branches.
set -euo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?} demo=${CSPROF_SOURCE:?}/demo
needs clang-22 ld.lld-22 perf2bolt-22 llvm-bolt-22 llvm-readelf-22
needs_emulator
cd "$work"
. "$demo/counts.sh"
fail() { echo "FAILED: $*" >&2; exit 1; }

clang-22 --target=aarch64-linux-gnu -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-pie \
    -no-pie -fuse-ld=lld-22 -Wl,--emit-relocs -Wl,--build-id -o mill "$demo/mill/unity.c"
"$csprof" collect -q --emulate -o data -- ./mill "$demo/recorded.mill" 2 >recorded
for format in preagg fdata; do
    "$csprof" gen -q -i data --format $format -o csprof.$format
done
"$csprof" gen -q --threads 2 -i data --format fdata -o again
cmp again csprof.fdata || fail "another number of threads, other bytes"

mismatches() { sed -n 's/.*traces mismatching disassembled function contents: \([0-9]*\).*/\1/p' "$1"; }
perf2bolt-22 mill -pa -p csprof.preagg -o from-preagg.fdata >preagg.log 2>&1 || fail "perf2bolt -pa: $(tail -n 3 preagg.log)"
[ "$(mismatches preagg.log)" = 0 ] || fail "perf2bolt -pa: $(grep mismatching preagg.log)"
if perf2bolt-22 mill -p data --itrace=i1000il64 -o own.fdata >own.log 2>&1; then
    [ "$(mismatches own.log)" -ge 0 ] || fail "perf2bolt: $(cat own.log)"
    echo "mismatches: 0; of perf2bolt's own conversion: $(mismatches own.log)"
else # it asks perf, which must be able to decode the trace
    echo "not compared with perf2bolt's own conversion: $(tail -n 1 own.log)"
fi
[ "$(wc -l <csprof.fdata)" -gt 500 ] || fail "only $(wc -l <csprof.fdata) lines of fdata"
diff <(sort from-preagg.fdata) <(sort csprof.fdata) >difference ||
    fail "perf2bolt makes another fdata of the preagg: $(head -n 5 difference)"

executed "$csprof" plain ./mill "$demo/unseen.mill" 1
before=$taken_branches
for format in preagg fdata; do
    input=(-data csprof.fdata)
    [ $format = fdata ] || input=(-pa -p csprof.preagg)
    llvm-bolt-22 mill "${input[@]}" -o mill.$format -reorder-blocks=ext-tsp -reorder-functions=cdsort \
        >bolt.log 2>&1 || fail "llvm-bolt with $format: $(tail -n 3 bolt.log)"
    ! grep -iE 'stale|mismatching[^:]*: [1-9]' bolt.log || fail "llvm-bolt does not trust the $format"
    executed "$csprof" bolted ./mill.$format "$demo/unseen.mill" 1
    cmp plain.output bolted.output || fail "what llvm-bolt made with $format prints something else"
    [ "$taken_branches" -lt "$before" ] || fail "$format: $taken_branches branches taken, $before before"
    echo "$format: $taken_branches branches taken on another input, $before before"
done
