#!/usr/bin/env bash
# A recording that is decoded slice by slice while it goes on (csprof collect --live) gives the profile
# that recording it whole gives: wherever it is cut, and whatever sink the trace comes from.
source "${CSPROF_SOURCE:?}/tests/script.sh"
needs clang-22 ld.lld-22
needs_emulator
cd "$work" || exit 1
clang-22 --target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling \
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-pie -no-pie -fuse-ld=lld-22 -o mill \
    "$CSPROF_SOURCE/demo/mill/unity.c" || exit 77

check() { # WHAT SLICES COLLECT-OPTION...
    local what=$1 fewest=$2
    shift 2
    "$CSPROF" collect -q --emulate --period 2003 --window 300 -o data "$@" -- \
        ./mill "$CSPROF_SOURCE/demo/recorded.mill" >/dev/null || { fail "$what: collect"; return; }
    "$CSPROF" gen -q -i data -b mill -o whole.prof || { fail "$what: gen"; return; }
    for size in 20000 100000 1000000; do
        "$CSPROF_BUILD/tests/live_replay" data mill $size live.prof >told 2>&1 ||
            { fail "$what: $size bytes a slice: $(cat told)"; continue; }
        cmp -s whole.prof live.prof || fail "$what: $size bytes a slice: another profile: $(cat told)"
        [ $size != 20000 ] || [ "$(cut -d ' ' -f 2 told)" -ge "$fewest" ] || fail "$what: hardly cut: $(cat told)"
    done
}
check "an ETR drained at each window" 20
check "an ETR without timestamps" 20 --timestamp-interval 1T
check "a TRBE" 20 --protocol ete --fault trbe=4096
check "a TRBE cut within packets" 20 --protocol ete --fault mid-packet=3001
check "lost samples" 20 --fault lost-samples=0.2
check "an ETR of several owners" 4 --fault undrained=40
exit $failed
