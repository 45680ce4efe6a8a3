#!/usr/bin/env bash
# csprof decode --format perfdata: perf finds in the file the branch stacks that --format script prints,
# csprof gen makes the same profile of it, and perf2bolt reads it without a mismatch.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?} demo=$CSPROF_SOURCE/demo
needs clang-22 ld.lld-22 perf perf2bolt-22
needs_emulator
cd "$work" || exit 1
clang-22 --target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling \
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-pie -no-pie -fuse-ld=lld-22 \
    -Wl,--emit-relocs -Wl,--build-id -o mill "$demo/mill/unity.c" || exit 1

# What one stack is, without what else the two print of it. (perf 6.1 prints the callchain's addresses as
# places in their files, so these are compared by the profile.)
stacks() { grep '^ *0x' | sed -E 's|/P/-/-/0[^ ]*||g; s/  */ /g; s/ $//' | sort; }
compare() { # WHAT COLLECT-OPTION...
    local what=$1
    shift
    "$csprof" collect -q --emulate --window 300 -o data "$@" -- ./mill "$demo/recorded.mill" >/dev/null || exit 1
    "$csprof" decode -q -i data --format script -o script || exit 1
    for threads in 1 3; do
        "$csprof" decode -q -i data --format perfdata --threads $threads -o $threads.data || exit 1
    done
    cmp 1.data 3.data || fail "$what: other bytes with other threads"
    perf script -i 1.data -F brstack 2>complaints | stacks >theirs
    [ ! -s complaints ] || fail "$what: perf complains: $(head -n 3 complaints)"
    stacks <script >ours
    cmp ours theirs || fail "$what: perf sees other branch stacks"
    [ "$(wc -l <theirs)" -gt 1000 ] || fail "$what: only $(wc -l <theirs) samples"
    "$csprof" gen -q -i 1.data -b mill --format text -o from-file &&
        "$csprof" gen -q --perfscript script -b mill --format text -o from-script || exit 1
    cmp from-file from-script || fail "$what: another profile"
    echo "ok: $what: $(wc -l <theirs) samples"
}
compare "an ETR" --period 5003
compare "a TRBE" --period 7001 --protocol ete

if perf2bolt-22 -p 1.data -o fdata ./mill >log 2>&1 && grep -q 'mismatching disassembled function contents: 0 ' log; then
    echo "ok: perf2bolt: $(wc -l <fdata) lines"
else
    fail "perf2bolt: $(tail -n 5 log)"
fi

# Continuous trace, from which samples are cut.
"$CSPROF_SOURCE/tests/programs/build.sh" . deep_recursion || exit $?
"$csprof" collect -q --emulate --window 1000000000 --period 20011 -o data -- ./deep_recursion 1 >/dev/null 2>&1
[ $? = 5 ] || fail "no pause was recorded, and collect does not say so"
"$csprof" decode -q -i data --format perfdata -o cut.data || exit 1
[ "$(perf script -i cut.data -F ip 2>/dev/null | grep -c .)" -gt 1000 ] || fail "no samples were cut from the trace"
exit $failed
