#!/usr/bin/env bash
# Samples that do not belong to their windows are found, whatever is wrong with them (bench/bogus.c): on
# the demo's program here; by bench/bogus.c on larger ones.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?} bench=${CSPROF_BUILD:?}/bench/bench_bogus
needs clang-22 ld.lld-22
needs_emulator
cd "$work" || exit 1
clang-22 --target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling \
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-pie -no-pie -fuse-ld=lld-22 -o mill \
    "${CSPROF_SOURCE:?}/demo/mill/unity.c" || exit 77
check() { # WHAT COLLECT-OPTION...
    local what=$1 rows=0
    shift
    "$csprof" collect -q --emulate --period 2003 --window 300 -o data "$@" -- \
        ./mill "$CSPROF_SOURCE/demo/recorded.mill" >/dev/null || { echo "FAILED: collect"; exit 1; }
    "$bench" data ./mill >table || { fail "$what: no table"; return; }
    while read -r kind _ _ spoiled _ _ false recall precision; do
        case $kind in
        none) [ "$false" = 0 ] || fail "$what: $false clean samples are rejected" ;;
        skid | sibling | other)
            rows=$((rows + 1))
            [ "$spoiled" -ge 20 ] || fail "$what: only $spoiled samples are spoiled by $kind"
            awk "BEGIN { exit !(${recall%\%} >= 99 && ${precision%\%} >= 99) }" ||
                fail "$what: $kind: recall $recall, precision $precision"
            ;;
        esac
    done <table
    [ $rows = 3 ] || fail "$what: $rows rows of 3"
    [ $failed = 0 ] || cat table
}
check "an ETR drained at each window, with timestamps"
check "one piece of raw trace, without" --protocol ete --timestamp-interval 1T
check "damaged" --fault mid-packet=4096 --fault lost-samples --fault lost-windows --fault full-ring \
    --fault truncated
exit $failed
