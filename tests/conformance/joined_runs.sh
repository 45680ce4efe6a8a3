#!/usr/bin/env bash
# A program that makes a system call every 200 instructions: samples keep the history from before each
# of them, as far back as their window goes, and no further.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
command -v qemu-aarch64 >/dev/null || { echo "skipped: there is no qemu-aarch64"; exit 77; }
[ -e "$CSPROF_BUILD/csprof-emulate.so" ] || { echo "skipped: this build has no emulator"; exit 77; }
"$CSPROF_SOURCE/tests/programs/build.sh" . calls_kernel || exit $?

failed=0
check() { # OPTION...
    "$CSPROF" collect --emulate -q --truth truth "$@" -- ./calls_kernel 2000 >output &&
        "$CSPROF" decode -q --format samples -o samples &&
        echo "$*: $(python3 "$here/compare_truth.py" truth histories samples)" || failed=1
}
check --window 1000 --period 1000 --skid 0 # a window opens where the one before it ended
check --window 1000 --period 5003
check --window 1000 --period 5003 --protocol ete
exit $failed
