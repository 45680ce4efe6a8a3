#!/usr/bin/env bash
# A program that makes a system call every 200 instructions: samples keep the history from before each
# of them, as far back as their window goes, and no further.
set -euo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work"
needs_emulator
"$CSPROF_SOURCE/tests/programs/build.sh" . calls_kernel || exit $?

check() { # OPTION...
    "$CSPROF" collect --emulate -q --truth truth "$@" -- ./calls_kernel 2000 >output &&
        "$CSPROF" decode -q --format samples -o samples &&
        echo "$*: $(python3 "$here/compare_truth.py" truth histories samples)" || failed=1
}
check --window 1000 --period 1000 --skid 0 # a window opens where the one before it ended
check --window 1000 --period 5003
check --window 1000 --period 5003 --protocol ete
exit $failed
