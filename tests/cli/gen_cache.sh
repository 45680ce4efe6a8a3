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
expect "recordings" "$(entries recordings)" 99
expect "recordings not opened, the first time" "$(grep -c 'not opened' first.messages)" 0
gen second "${inputs[@]}"
same second without
expect "profiles, the second time" "$(entries profiles)" 1
expect "recordings not opened, the second time" "$(grep -c 'not opened' second.messages)" 99

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
"$csprof" gen -q -i data1 -o none 2>messages && fail "… nor with a recording that is known"
cp aside program

# So it is where the recording need not be opened: by all that it mapped, too.
looks_at() { # NAME ARGUMENT...: opened once, and what opening it told is told again
    gen "$1" "${@:2}"
    gen "$1-again" "${@:2}"
    gen "$1-without" --no-cache "${@:2}"
    same "$1" "$1-without"
    same "$1-again" "$1-without"
    expect "$1: opened" "$(grep -c 'not opened' "$1.messages")" 0
    expect "$1: opened again" "$(grep -c 'not opened' "$1-again.messages")" 1
}
head -c -50 data1 >cut
looks_at cut-short -i cut
grep -q 'warning: cut: ' cut-short-again.messages || fail "what opening a damaged recording told is not told again"
looks_at json --json -i data2
looks_at named -b program -i data2
cp program longer && printf x >>longer && cp longer program
looks_at longer-program -i data1
looks_at longer-named -b program -i data2
cp aside program
gen as-before -i data1
expect "the program as it was: opened" "$(grep -c 'not opened' as-before.messages)" 1
cp data2 data1-other && cp data1 data1-kept && cp data1-other data1
looks_at other-recording -i data1
cmp -s other-recording as-before && fail "another recording at the same place makes no difference"
cp data1-kept data1
mkdir files && cp program files
looks_at symfs --symfs files -i data1
rm files/program
"$csprof" gen -q --symfs files -i data1 -o none 2>messages && fail "a program that is gone makes no difference"
rm -r files
"$csprof" gen -q --symfs files -i data1 -o none 2>messages && fail "a folder that is gone makes no difference"
"$csprof" gen -q -o from-pipe -i <(cat data1) || fail "a recording from a pipe"
cmp from-pipe <("$csprof" gen -q -i data1 -o -) || fail "a recording from a pipe: another profile"
if [ -d /usr/aarch64-linux-gnu/include ]; then
    echo 'int twice(int n) { for (int i = 0; i < 3; i++) __asm__ volatile("" : "+r"(n)); return n * 2; }' >twice.c
    echo 'int twice(int); int main(void) { volatile int s = 0; for (int i = 0; i < 9000; i++) s += twice(i); return 0; }' >calls.c
    both=(--target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling -fuse-ld=lld-22
        -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -Wl,--build-id)
    clang-22 "${both[@]}" -shared -fPIC -o libtwice.so twice.c || exit 1
    clang-22 "${both[@]}" -o calls calls.c -L. -ltwice -Wl,-rpath,"$work" || exit 1
    record data-calls 1 ./calls
    looks_at library -i data-calls
    cp libtwice.so kept.so && printf x >>libtwice.so
    looks_at longer-library -i data-calls
    rm libtwice.so
    looks_at no-library -i data-calls
    grep -q 'libtwice.so.* was not found' no-library-again.messages || fail "a library that is gone is not told"
    cp kept.so libtwice.so
    gen library-back -i data-calls
    expect "the library as it was: opened" "$(grep -c 'not opened' library-back.messages)" 1
    same library-back library-again
else
    echo "left out: libraries, because libc6-dev-arm64-cross is not installed"
fi

# Damage is told once, and makes no difference.
for kind in recordings profiles aggregates; do
    [ $kind != aggregates ] || rm -r cache/profiles
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
rm -r cache/recordings
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
    # Filled, and read-only since: what is there serves, and what is not there is made each time.
    gen filled -i data1 -i data2
    gen plain --no-cache -i data4 -i data5
    read_only_serves() {
        gen served -i data1 -i data2
        cmp served filled || fail "read-only and filled: another result"
        expect "read-only and filled: messages" "$(grep -c 'warning' served.messages)" 0
        gen unkept -i data4 -i data5
        cmp unkept plain || fail "read-only, and something new: another result"
        expect "read-only, and something new: messages" \
            "$(grep -c 'warning: .*Read-only file system.*going on without it' unkept.messages)" 1
    }
    unshare -m bash -c "mount --bind cache cache && mount -o remount,bind,ro cache &&
        $(declare -f gen expect fail read_only_serves)
        failed=0; read_only_serves; exit \$failed" || failed=1
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
