#!/usr/bin/env bash
# Recordings that a real Linux made (emulate/machine), each with the truth: what csprof, with both
# engines, and perf find in them must have run. The machine itself need not run for that.
set -euo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
. "$CSPROF_SOURCE/tests/machine/judge.sh"
cd "$work"
for file in "$tests"/machine/recordings/*.zst; do
    zstd -q -d "$file" -o "$(basename "$file" .zst)"
done
mkdir -p symfs/share
cp bare symfs/share
below=0x1000000 # where the program is; system-wide recordings have others, too

check() { # KIND NAME MARK ENGINE
    local format=script
    [ "$1" != samples ] || format=samples
    if printed=$("$CSPROF" decode -q -i "$2.data" --symfs symfs --format $format --engine "$4" |
        python3 "$tests/machine/compare.py" "$1" "$2.truth" "$3" $below); then
        echo "ok: $2, $4 engine: $(tail -n 1 <<<"$printed")"
    else
        echo "FAILED: $2, $4 engine:"
        echo "$printed"
        failed=1
    fi
}
for engine in opencsd both; do
    check runs single 1 $engine
    check runs threads 2 $engine
    check runs strobe16 9 $engine
    check samples pause 4 $engine
    check runs system 3 $engine
done

# perf records no registers with a callchain that one event alone asks for. So in a prologue, when not
# even a call is in the window, nobody can tell the caller; csprof knows that it is missing.
"$CSPROF" decode -q -i pause_threads.data --symfs symfs --format samples -o samples --json >json
missing=$(missing_callers <json)
if printed=$(python3 "$tests/machine/compare.py" stacks pause_threads.truth 6 "$missing" <samples); then
    echo "ok: pause_threads: $(tail -n 1 <<<"$printed"), $missing known to lack a caller"
else
    echo "FAILED: pause_threads:"
    echo "$printed"
    failed=1
fi

# perf 6.1 reads neither the attributes nor the trace IDs of perf 7 as they are.
older_perf() { # NAME MARK
    "$CSPROF_BUILD/tests/perfdata_copy" "$1.data" "$1.copy" >/dev/null
    python3 "$tests/machine/as_version_1.py" "$1.copy" "$1.version1"
    if printed=$(perf script -i "$1.version1" --symfs symfs --itrace=b -F ip,addr,flags 2>/dev/null |
        python3 "$tests/machine/compare.py" branches "$1.truth" "$2"); then
        echo "ok: $1, perf: $(tail -n 1 <<<"$printed")"
    else
        echo "FAILED: $1, perf:"
        echo "$printed"
        failed=1
    fi
}
if command -v perf >/dev/null; then
    older_perf single 1
    older_perf threads 2
else
    echo "skipped: comparison with perf: it is not installed"
fi
exit $failed
