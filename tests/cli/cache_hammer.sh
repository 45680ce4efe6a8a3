#!/usr/bin/env bash
# 32 processes at once use one cache, whose entries are meanwhile damaged, cut, swapped and deleted,
# and some of which are killed: every result is right, and nobody waits for anybody.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22
needs_emulator
cd "$work" || exit 1
. "$CSPROF_SOURCE/tests/cli/small_program.sh"
processes=32 rounds=${1:-6} recordings=6
build program
for i in $(seq $recordings); do
    record data$i $i
    "$csprof" gen -q --no-cache -i data$i -i data1 --allow-duplicates -o right$i || exit 1
done
export CSPROF_CACHE=$work/cache

use() { # PROCESS: one in four of its runs is killed at some point, and then run again
    local process=$1 round i out=out$1
    RANDOM=$process
    for round in $(seq $rounds); do
        i=$((RANDOM % recordings + 1))
        if [ $((RANDOM % 4)) = 0 ]; then
            timeout -s KILL 0.0$((RANDOM % 90 + 10)) "$csprof" gen -q -i data$i -i data1 --allow-duplicates -o $out.killed
            [ ! -e $out.killed ] || cmp $out.killed right$i || echo "wrong, and killed" >>wrong
            rm -f $out.killed
        fi
        timeout 120 "$csprof" gen -q -i data$i -i data1 --allow-duplicates -o $out 2>>messages
        echo $? >>exits
        cmp $out right$i >>wrong 2>&1
        rm -f $out
    done 2>/dev/null
}
spoil() {
    local entries=() entry
    RANDOM=1000
    while [ ! -e done ]; do
        mapfile -t entries < <(find cache -type f 2>/dev/null)
        [ ${#entries[@]} -gt 0 ] || continue
        entry=${entries[RANDOM % ${#entries[@]}]}
        case $((RANDOM % 5)) in
        0) printf x | dd of="$entry" bs=1 seek=$((RANDOM % 3000)) conv=notrunc status=none ;;
        1) truncate -s $((RANDOM % 3000)) "$entry" ;;
        2) rm -f "$entry" ;;
        3) cp "${entries[RANDOM % ${#entries[@]}]}" "$entry" ;;
        4) "$csprof" cache -q $([ $((RANDOM % 2)) = 0 ] && echo verify || echo prune --size 200k) ;;
        esac
        echo >>spoilt
    done 2>/dev/null >&2
}
touch wrong exits messages spoilt
spoil &
spoiler=$!
users=()
for process in $(seq $processes); do
    use $process &
    users+=($!)
done
wait "${users[@]}"
touch done
wait $spoiler

[ ! -s wrong ] || fail "wrong results: $(sort wrong | uniq -c | head)"
[ "$(sort -u exits)" = 0 ] || fail "exit codes (124: waited for ever): $(sort exits | uniq -c)"
[ "$(wc -l <exits)" = $((processes * rounds)) ] || fail "only $(wc -l <exits) results"
[ "$(wc -l <spoilt)" -ge 20 ] || fail "hardly anything was spoilt: $(wc -l <spoilt) times"
grep -q 'made again' messages || fail "no damage was met"
grep -vE 'made again' messages | head -n 3 | grep . && fail "other messages"
# Whatever is there is an entry, or what a killed process was writing: no lock, and nothing that the
# next one minds.
find cache -type f | grep -vE '^cache/[a-z]+/[0-9a-f]{2}/[0-9a-f]{30}(\.[A-Za-z0-9]{6})?$' && fail "something else is left"
find cache -type f -name '*.*' | xargs -r touch -d '2 hours ago'
"$csprof" cache -q verify 2>/dev/null
"$csprof" cache -q prune
[ -z "$(find cache -type f -name '*.*')" ] || fail "unfinished files are left"
for i in $(seq $recordings); do
    for run in 1 2; do
        "$csprof" gen -q -i data$i -i data1 --allow-duplicates -o out && cmp out right$i || fail "afterwards: $i"
    done
done
echo "$(wc -l <exits) results, $(wc -l <spoilt) entries spoilt, $(grep -c 'made again' messages) times noticed"
exit $failed
