# For the tests of what a command cannot use; sourced after `command` was set. They run in $work.
csprof=${CSPROF:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work
cd "$work" || exit 1
failed=0

expect() { # EXIT PATTERN ARGUMENT...: that exit code, one message with the pattern, and no output
    local exit=$1 pattern=$2
    shift 2
    rm -f output
    "$csprof" $command -o output "$@" >printed 2>messages
    local got=$?
    [ $got = "$exit" ] || { echo "FAILED: $command $*: exit $got, not $exit"; failed=1; }
    grep -q -- "$pattern" messages || { echo "FAILED: $command $*: no '$pattern' in:"; failed=1; cat messages; }
    [ "$(grep -vc ': warning: ' messages)" = 1 ] || { echo "FAILED: $command $*: not one message:"; failed=1; cat messages; }
    [ ! -e output ] || { echo "FAILED: $command $*: left an output"; failed=1; }
    [ ! -s printed ] || { echo "FAILED: $command $*: printed something"; failed=1; }
}
