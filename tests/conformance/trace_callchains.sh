#!/usr/bin/env bash
# Callchains that were followed along the trace, of recordings without samples: of an emulated program
# they equal its shadow stack; of a Neoverse N1's trace perf 7 finds their inner parts.
set -euo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/decode_lib.sh"
cd "$work"

emulated() { # PROGRAM ARGUMENT
    "$CSPROF_SOURCE/tests/programs/build.sh" . "$1" || return $?
    # One window that no pause ends; each resume event interrupts it.
    "$CSPROF" collect --emulate -q --truth truth --window 1000000000 --period 20011 -- "./$1" "$2" \
        >output 2>&1
    "$CSPROF" decode -q --format samples -o samples
    echo "$1: $(python3 "$here/compare_truth.py" truth cut samples)"
}
if command -v qemu-aarch64 >/dev/null && [ -e "$CSPROF_BUILD/csprof-emulate.so" ]; then
    emulated deep_recursion 1 || { [ $? = 77 ] || fail "deep_recursion"; }
else
    echo "skipped in part: there is no emulator"
fi

needs_corpus
needs zstd
sort=$CSPROF_CORPUS/arm-perf-e2e/sort_single_thread
export CSPROF_MACHINE=${CSPROF_MACHINE:-${XDG_CACHE_HOME:-$HOME/.cache}/csprof/machine}
in_perf_cache() { # FILE NAME BUILD-ID
    mkdir -p "home/.debug/.build-id/${3:0:2}/${3:2}"
    cp "$1" "home/.debug/.build-id/${3:0:2}/${3:2}/$2"
}
if "$CSPROF_SOURCE/emulate/machine/host-perf" --version; then
    in_perf_cache "$sort/sort_single_thread.elf" elf ea6ce2d9fb131cbdc1775806f2b40306b871d5c0
    in_perf_cache "$sort/vdso.so" vdso 45b38da7572540b8ed90880cd60ebcf2fc328f05
    HOME=$work/home "$CSPROF_SOURCE/emulate/machine/host-perf" script -i "$sort/perf.data" \
        --itrace=g127i1000i -F ip 2>/dev/null >theirs
    "$CSPROF" decode -q -i "$sort/perf.data" --symfs "$sort" --format samples --period 1000 -o ours
    printed=$(python3 "$here/prefix_chains.py" theirs ours 2>&1) || fail "sort_single_thread"
    echo "sort_single_thread: $printed"
else
    echo "skipped in part: comparison with perf 7: its packages cannot be had"
fi
exit $failed
