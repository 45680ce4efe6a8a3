# For the tests of what a command cannot use; sourced after `command` was set. They run in $work.
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
export HOME=$work
cd "$work" || exit 1

expect() { # EXIT PATTERN ARGUMENT...: that exit code, one message with the pattern, and no output
    local exit=$1 pattern=$2
    shift 2
    rm -f output
    "$csprof" $command -o output "$@" >printed 2>messages
    local got=$?
    [ $got = "$exit" ] || fail "$command $*: exit $got, not $exit"
    grep -q -- "$pattern" messages || { fail "$command $*: no '$pattern' in:"; cat messages; }
    [ "$(grep -vc ': warning: ' messages)" = 1 ] || { fail "$command $*: not one message:"; cat messages; }
    [ ! -e output ] || fail "$command $*: left an output"
    [ ! -s printed ] || fail "$command $*: printed something"
}
