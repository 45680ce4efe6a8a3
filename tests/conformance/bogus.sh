#!/usr/bin/env bash
# Samples that do not belong to their windows are found, whatever is wrong with them (bench/bogus.c): on
# the demo's program here; by bench/bogus.c on larger ones.
set -u
csprof=${CSPROF:?} bench=${CSPROF_BUILD:?}/bench/bench_bogus
for tool in clang-22 ld.lld-22 qemu-aarch64; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
[ -e "$CSPROF_BUILD/csprof-emulate.so" ] || { echo "skipped: built without the emulator"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
clang-22 --target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling \
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-pie -no-pie -fuse-ld=lld-22 -o mill \
    "${CSPROF_SOURCE:?}/demo/mill/unity.c" || exit 77
failed=0
check() { # WHAT COLLECT-OPTION...
    local what=$1 rows=0
    shift
    "$csprof" collect -q --emulate --period 2003 --window 300 -o data "$@" -- \
        ./mill "$CSPROF_SOURCE/demo/recorded.mill" >/dev/null || { echo "FAILED: collect"; exit 1; }
    "$bench" data ./mill >table || { echo "FAILED: $what: no table"; failed=1; return; }
    while read -r kind _ spoiled _ _ false recall precision; do
        case $kind in
        none) [ "$false" = 0 ] || { echo "FAILED: $what: $false clean samples are rejected"; failed=1; } ;;
        skid | sibling | other)
            rows=$((rows + 1))
            [ "$spoiled" -ge 20 ] || { echo "FAILED: $what: only $spoiled samples are spoiled by $kind"; failed=1; }
            awk "BEGIN { exit !(${recall%\%} >= 99 && ${precision%\%} >= 99) }" ||
                { echo "FAILED: $what: $kind: recall $recall, precision $precision"; failed=1; }
            ;;
        esac
    done <table
    [ $rows = 3 ] || { echo "FAILED: $what: $rows rows of 3"; failed=1; }
    [ $failed = 0 ] || cat table
}
check "an ETR drained at each window, with timestamps"
check "one piece of raw trace, without" --protocol ete --timestamp-interval 1T
exit $failed
