#!/usr/bin/env bash
# csprof gen keeps what it found out: the second time nothing is decoded, with one new recording among
# a hundred only that one is; and the bytes, the messages and the JSON are those of a run without.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 llvm-strip-22
needs_emulator
cd "$work" || exit 1
. "$CSPROF_SOURCE/tests/cli/small_program.sh"
build program
inputs=()
for i in $(seq 99); do
    record data$i $i
    inputs+=(-i data$i)
done
unset XDG_CACHE_HOME
export HOME=$work/home CSPROF_CACHE=$work/cache

# gen NAME ARGUMENT...: NAME and NAME.messages; -v tells what was decoded
gen() {
    local name=$1
    shift
    "$csprof" gen -v --format text -o "$name" "$@" >"$name.printed" 2>"$name.messages" ||
        fail "$name: exit $?: $(cat "$name.messages")"
}
entries() { find cache -type f -path "*/$1/*" 2>/dev/null | wc -l; } # KIND
expect() { # WHAT GOT WANTED
    [ "$2" = "$3" ] || fail "$1: $2, not $3"
}
same() { # NAME NAME: apart from what is said of the cache and of the name of the output
    cmp "$1" "$2" || fail "$1 and $2 differ"
    local of
    for of in "$1" "$2"; do
        sed -e "s/ $of:/ OUT:/" -e '/in the cache$/d' "$of.messages" >"$of.said"
        sed "s/\"$of\"/\"OUT\"/" "$of.printed" >"$of.json"
    done
    diff "$1.said" "$2.said" || fail "$1 and $2 say something else"
    diff "$1.json" "$2.json" || fail "$1 and $2 print something else"
}

gen without --no-cache "${inputs[@]}"
expect "entries without" "$(find cache -type f 2>/dev/null | wc -l)" 0
gen first "${inputs[@]}"
same first without
expect "aggregates" "$(entries aggregates)" 99
expect "profiles" "$(entries profiles)" 1
gen second "${inputs[@]}"
same second without
expect "profiles, the second time" "$(entries profiles)" 1

record data100 100
inputs+=(-i data100)
gen hundred "${inputs[@]}"
expect "recordings not decoded" "$(grep -c 'not decoded' hundred.messages)" 99
expect "aggregates of a hundred" "$(entries aggregates)" 100
gen hundred-without --no-cache "${inputs[@]}"
same hundred hundred-without

# The aggregates serve every kind of result, each of which is kept for itself.
for options in "--mode flat" "--mode dwarf-cs" "--format aggregate" "--format preagg" "--json" "--csspgo-preinliner=0" \
    "--validate all"; do
    # shellcheck disable=SC2086
    for run in first again without; do
        gen "$run" $options -i data1 -i data2 $([ $run != without ] || echo --no-cache)
    done
    same first without
    same again without
done

# What the result depends on is looked at, not its name.
cp data1 moved
gen moved-data -i moved
gen data1-again -i data1
cmp moved-data data1-again || fail "a recording with another name"
expect "a recording with another name" "$(grep -c 'not decoded' moved-data.messages)" 1
cp program other && build program -DOTHER -O1 && record data-other 1
gen other-first -i data-other
cp program kept && cp other program
"$csprof" gen -q -i data-other -o none 2>messages && fail "another program at the same place is taken for the recorded one"
gen before -i data1
cp program aside && llvm-strip-22 -o program aside && cp data1 copied
"$csprof" gen -q -i copied -o none 2>messages && fail "a program that was stripped meanwhile makes no difference"
cp aside program

# Damage is told once, and makes no difference.
for kind in profiles aggregates; do
    [ $kind = profiles ] || rm -r cache/profiles
    find cache/$kind -type f | while read -r entry; do
        printf x | dd of="$entry" bs=1 seek=200 conv=notrunc status=none
    done
    gen damaged "${inputs[@]}"
    cmp damaged hundred || fail "damaged $kind make a difference"
    expect "messages of damaged $kind" "$(grep -c 'made again' damaged.messages)" 1
    gen mended "${inputs[@]}"
    cmp mended hundred || fail "mended $kind make a difference"
    expect "messages of mended $kind" "$(grep -c 'made again' mended.messages)" 0
done
find cache/aggregates -type f | head -n 3 | while read -r entry; do truncate -s 100 "$entry"; done
"$csprof" cache verify >/dev/null 2>messages
expect "verify" "$?" 5
expect "verify's messages" "$(grep -c 'has the wrong size: removed' messages)" 3
"$csprof" cache --json verify >json || fail "verify, again"
grep -q '"damaged": 0' json || fail "verify, again: $(cat json)"

# A clock that was wrong, forwards or backwards.
find cache -type f | head -n 50 | xargs touch -d '2099-01-01'
find cache -type f | tail -n 50 | xargs touch -d '1971-01-01'
gen clock "${inputs[@]}"
cmp clock hundred || fail "the clock makes a difference"
CSPROF_CACHE_SIZE=100k "$csprof" cache --json prune >json && grep -q '"removed": [1-9]' json ||
    fail "prune: $(cat json)"
[ "$("$csprof" cache --json stats | sed -n 's/^  "bytes": \([0-9]*\).*/\1/p')" -le 100000 ] || fail "prune left more"
gen pruned "${inputs[@]}"
cmp pruned hundred || fail "pruning makes a difference"
"$csprof" cache clear 2>/dev/null
expect "entries after clear" "$(find cache -type f | wc -l)" 0

# Nowhere to keep anything: one warning, and the same result.
no_cache_is_no_harm() { # WHAT PATTERN
    gen nowhere -i data1 -i data2 -i data3
    cmp nowhere three || fail "$1: another result"
    expect "$1: messages" "$(grep -c "warning: .*$2" nowhere.messages)" 1
}
gen three --no-cache -i data1 -i data2 -i data3
echo >file
CSPROF_CACHE=$work/file/below no_cache_is_no_harm "a file in its place" 'Not a directory.*going on without it'
CSPROF_CACHE='' HOME='' no_cache_is_no_harm "no folder" 'there is no folder for the cache.*going on without it'
CSPROF_CACHE_SIZE=much no_cache_is_no_harm "no size" "CSPROF_CACHE_SIZE is 'much'"
# A read-only and a full file system need mounts of their own.
if unshare -m true 2>/dev/null && [ "$(id -u)" = 0 ]; then
    mkdir mounted
    in_mount() { # OPTIONS COMMAND...: the shell function, with $work/mounted a small file system
        local options=$1
        shift
        export csprof work
        unshare -m bash -c "mount -t tmpfs -o size=64k none $work/mounted && $options
            $(declare -f gen expect fail no_cache_is_no_harm)
            failed=0; cd $work; CSPROF_CACHE=$work/mounted/cache $(printf '%q ' "$@"); exit \$failed" || failed=1
    }
    in_mount "mount -o remount,ro $work/mounted;" no_cache_is_no_harm "read-only" 'Read-only file system.*going on without it'
    in_mount "{ head -c 64k /dev/zero >$work/mounted/fill 2>/dev/null; true; };" no_cache_is_no_harm "full" 'No space left.*going on without it'
else
    echo "left out: read-only and full file systems, because nothing can be mounted here"
fi

# usage EXIT PATTERN ARGUMENT...
usage() {
    local want=$1 pattern=$2
    shift 2
    "$csprof" cache "$@" >/dev/null 2>messages
    expect "cache $*" "$?" "$want"
    grep -q -e "$pattern" messages || fail "cache $*: no '$pattern' in: $(cat messages)"
}
usage 2 'one of stats, list, verify, prune, clear'
usage 2 'one of stats' bogus
usage 2 "unexpected argument 'more'" stats more
usage 2 "unexpected argument 'x'" prune --size x
usage 4 'there is no cache' --no-cache stats
exit $failed
