#!/bin/bash
# csprof decode keeps what it found out about code: the same output with it, without it, and when it
# is damaged or cannot be kept.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
corpus=${CSPROF_CORPUS:?}/arm-perf-e2e/sort_single_thread
needs_corpus arm-perf-e2e
unset CSPROF_CACHE
export XDG_CACHE_HOME=$work/caches HOME=$work

decode() { # NAME [OPTION...]
    local name=$1
    shift
    "$csprof" decode -q -i "$corpus/perf.data" --symfs "$corpus" --format ranges \
        -o "$work/$name" "$@" 2>"$work/$name.messages" ||
        { fail "$name: exit $?"; cat "$work/$name.messages"; }
    cmp -s "$work/$name" "$work/off" || fail "$name: another output"
}
expect() { # WHAT COMMAND...
    local what=$1
    shift
    "$@" || fail "$what"
}
entries() { find "$work/caches" -type f 2>/dev/null | wc -l; }

decode off --no-cache
expect "nothing is kept with --no-cache" [ "$(entries)" = 0 ]
CSPROF_CACHE=off decode variable
expect "nothing is kept with CSPROF_CACHE=off" [ "$(entries)" = 0 ]
decode first
kept=$(entries)
expect "blocks are kept" [ "$kept" -ge 1 ]
cp -r "$work/caches" "$work/before"
decode second
expect "what is kept is used, and not written again" diff -r "$work/before" "$work/caches"
expect "no messages" [ ! -s "$work/second.messages" ]

while read -r entry; do
    printf 'x' | dd of="$entry" bs=1 seek=100 conv=notrunc status=none
done < <(find "$work/caches" -type f)
decode damaged
expect "damage is told once" [ "$(grep -c 'made again' "$work/damaged.messages")" = 1 ]
expect "and mended" diff -r "$work/before" "$work/caches"

echo >"$work/file"
CSPROF_CACHE=$work/file/below decode unwritable
expect "a cache that cannot be written is told once" \
    [ "$(grep -c 'going on without it' "$work/unwritable.messages")" = 1 ]
exit $failed
