#!/usr/bin/env bash
# csprof validate profile: two profiles whose overlap can be worked out by hand, what llvm-profdata
# says of them, thresholds, and profiles that cannot be compared.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
cd "$work" || exit 1

# validate WANTED-EXIT ARGUMENT...
validate() {
    local want=$1 got
    shift
    "$csprof" validate profile "$@" >output 2>messages
    got=$?
    [ $got = "$want" ] || fail "validate profile $*: exit $got, not $want: $(cat messages)"
}
expect() { # WHAT LINE
    grep -qxF -- "$2" output || { fail "$1: there is no line '$2' in"; cat output messages; }
}
number() { sed -n "s/.*\"$1\": *\([0-9.e-]*\).*/\1/p" output | head -n 1; }

profile() { # FILE: from standard input, with one checksum for all functions but the one named
    cat >"$1"
}
# Shares of blocks:     A             B           smaller
#   main 1           100 / 400     100 / 400       25 %
#   main 2           100 / 400      60 / 400       15 %
#   work 1           200 / 400     160 / 400       40 %
#   late 1                          80 / 400        0 %
profile a <<'END2'
work:200:200
 1: 200
 !CFGChecksum: 22
main:200:100
 1: 100
 2: 100 work:100
 !CFGChecksum: 11
END2
profile b <<'END2'
main:160:100
 1: 100
 2: 60 work:60
 !CFGChecksum: 11
work:160:160
 1: 160
 !CFGChecksum: 23
late:80:80
 1: 80
 !CFGChecksum: 33
END2
validate 0 a b --top 2
expect "functions: 40 + 40" "overlap by functions   80.000%"
# Within functions: main has 100 and 60 of 160, and A says half and half: 80 + 60; work 160; late 0.
expect "blocks: 25 + 15 + 40" "overlap by blocks      80.000% (within functions: 75.000%)"
expect "one is missing" "missing functions      1, 20.000% of the counts of B"
expect "none is too many" "spurious functions     0, 0.000% of the counts of A"
expect "one changed" "changed functions      1, 50.000% of the counts of A: their blocks are not the same"
expect "the largest difference" "  0.000%  20.000%  late"
expect "the next" " 25.000%  15.000%  main:2"
validate 0 a a
expect "a profile and itself" "overlap by contexts    100.000%"
validate 0 a b --min-overlap 80 --min-function-overlap 80
validate 5 a b --min-overlap 80.1
grep -q 'the overlap by blocks is 80.000%, less than the 80.1% asked for (--min-overlap)' messages ||
    fail "a threshold: $(cat messages)"
validate 5 --json a b --min-context-overlap 90
[ "$(number block_overlap)" = 0.8 ] || fail "JSON: $(cat output)"

# llvm-profdata adds the smaller counts up too, but divides by the sum of the larger ones. With equal
# totals an overlap of x is x / (2 - x) there: 0.8 / 1.2.
if command -v llvm-profdata-22 >/dev/null; then
    llvm-profdata-22 overlap --sample a b >judge 2>&1
    grep -q 'Whole program sample overlap: 66.667%' judge || fail "llvm-profdata: $(cat judge)"
fi

# Contexts: B has work called from another place, and half of main:2's work is in none.
profile c <<'END2'
[main]:100:100
 1: 100
 !CFGChecksum: 11
[main:2 @ work]:300:300
 1: 300
 !CFGChecksum: 22
END2
profile d <<'END2'
[main]:100:100
 1: 100
 !CFGChecksum: 11
[main:2 @ work]:150:150
 1: 150
 !CFGChecksum: 22
[main:3 @ work]:50:50
 1: 50
 !CFGChecksum: 22
[start:1 @ main:2 @ work]:100:100
 1: 100
 !CFGChecksum: 22
END2
validate 0 c d
expect "blocks know no contexts" "overlap by blocks      100.000% (within functions: 100.000%)"
expect "contexts do" "overlap by contexts    62.500%"
expect "two are missing" "missing contexts       2, 37.500% of the counts of B"
expect "named" "  0.000%  25.000%  start:1 @ main:2 @ work"
validate 0 c d --context-depth 1
expect "with one caller" "overlap by contexts    87.500%"
validate 0 c d --context-depth 0
expect "with none" "overlap by contexts    100.000%"

# A nested callee's calls count where they are called, as if it were not nested.
profile nested <<'END2'
main:400:100
 1: 100
 2: work:300
  1: 300
  !CFGChecksum: 22
 !CFGChecksum: 11
END2
profile flat <<'END2'
main:400:100
 1: 100
 2: 300 work:300
 !CFGChecksum: 11
work:300:300
 1: 300
 !CFGChecksum: 22
END2
validate 0 nested flat
expect "nested and flat" "overlap by blocks      100.000% (within functions: 100.000%)"

profile lines <<'END2'
main:100:100
 1: 100
END2
validate 3 a lines
grep -q 'one profile is by pseudo-probes and the other by lines' messages || fail "$(cat messages)"
echo nonsense >nonsense
validate 3 a nonsense
validate 3 a missing

# Damage that libLLVM's reader does not survive: where the sections of a profile are.
llvm-profdata-22 merge --sample --extbinary -o ext a
for ((offset = 16; offset < 200; offset += 4)); do
    cp ext damaged
    printf '\xf0\xf0\xf0' | dd of=damaged bs=1 seek=$offset conv=notrunc status=none
    "$csprof" validate profile damaged a >output 2>messages
    case $? in
    0 | 3) cat messages >>all-messages ;;
    *) fail "damage at $offset: $(cat messages)" ;;
    esac
done
grep -q 'damaged: libLLVM dies of reading it: the profile is damaged' all-messages || fail "libLLVM survives all damage"

validate 2 a
validate 2 a b c
validate 2 a b --min-overlap 101
validate 2 a b --max-lost 3
printf 'csprof-truth 1\ncounts\ncode 1000 1010 5\n' >truth
validate 2 a truth
grep -q 'holds counts by address: name the binary (-b)' messages || fail "$(cat messages)"

# An instrumented profile: how often each function was entered, wherever it was inlined.
cat >instrumented.text <<'END'
:fe
main
24
1
1

main.c:local
25
2
300
7

outer
26
1
100
END
llvm-profdata-22 merge -o instrumented instrumented.text
profile sampled.text <<'END'
main:200:0
 1: 0
 3: local:200
  1: 200
  !CFGChecksum: 7
 !CFGChecksum: 5
local:101:101
 1: 101
 !CFGChecksum: 7
outer:97:97
 1: 97
 !CFGChecksum: 6
END
# Of 398 entries main has 0, local 301, outer 97; of 401 really 1, 300, 100: 0 + 300 / 401 + 97 / 398.
validate 0 sampled.text instrumented
expect "an instrumented profile" 'overlap by functions   99.185% (of how often each was entered)'
! grep -q blocks output || fail "an instrumented profile: $(cat output)"
validate 5 sampled.text instrumented --min-function-overlap 99.9
validate 2 sampled.text instrumented --min-overlap 90
printf ':ir\nmain\n24\n1\n1\n' >edges.text
llvm-profdata-22 merge -o edges edges.text
validate 3 sampled.text edges
grep -q 'instrument with -fprofile-instr-generate, or with' messages || fail "counters of edges: $(cat messages)"
exit $failed
