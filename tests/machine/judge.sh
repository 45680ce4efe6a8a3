# Sourced by the tests of the machine: what was recorded in it beside what really ran, `truth`, with the programs
# in `symfs`. $engine is another engine than the usual one.
tests=${CSPROF_SOURCE:?}/tests
engine=

expect() { # TEXT COMMAND...
    local text=$1
    shift
    if printed=$("$@" 2>&1); then
        echo "ok: $text: $(tail -n 1 <<<"$printed")"
    else
        echo "FAILED: $text:"
        echo "$printed"
        failed=1
    fi
}
decode() { # KIND NAME MARK [BELOW]: of compare.py
    local format=script
    case $1 in samples | stacks | windows) format=samples ;; esac
    "$CSPROF" decode -i "$2.data" ${engine:+--engine $engine} --symfs symfs --format $format -q |
        python3 "$tests/machine/compare.py" "$1" truth "$3" "${@:4}"
}
missing_callers() { # of how many stacks csprof itself says that a caller is missing, in its JSON
    sed -n 's/.*"callchains_missing_a_caller": \([0-9]*\).*/\1/p'
}
# perf records no link register, and csprof's may not tell the caller either.
pauses() { # NAME MARK
    local missing
    missing=$("$CSPROF" decode -i "$1.data" --symfs symfs --format none --json -q | missing_callers)
    decode stacks "$1" "$2" "$missing"
}
