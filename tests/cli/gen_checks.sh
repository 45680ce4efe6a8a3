#!/usr/bin/env bash
# Samples that contradict themselves: which rule each of them breaks, what --validate rejects, and
# what --max-bogus makes of it.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 llvm-nm-22 llvm-objdump-22
cd "$work" || exit 1

cat >program.c <<'END'
__attribute__((noinline)) int inner(int n) { __asm__ volatile("nop\n nop" : "+r"(n)); return n; }
__attribute__((noinline)) int outer(int n) { n = inner(n); n += inner(n + 1); __asm__ volatile("" : "+r"(n)); return n; }
void _start(void) { for (volatile int i = 0;; i++) outer(i); }
END
build_probed -o program program.c
symbol() { llvm-nm-22 program | sed -n "s/^0*\([0-9a-f]*\) . $1\$/\1/p"; }
insns() { llvm-objdump-22 -d --no-show-raw-insn --disassemble-symbols=$1 program | sed -n "s/^ *\([0-9a-f]*\):.*\t$2\b.*/\1/p"; }
inner=$(symbol inner) body=$(insns inner nop | head -n 1) return=$(insns inner ret)
read -r -d '' first second < <(insns outer bl)
after() { printf '%x' $((0x$1 + 4)); }

# sample COUNT LEAF CALLER BRANCH...: in outer's second call of inner, unless told otherwise
sample() {
    local count=$1 leaf=$2 caller=$3
    shift 3
    printf '%s\n\t%s\n\t%s\n' "$count" "$leaf" "$caller"
    for branch; do printf ' 0x%s/P/-/-/0' "${branch/\//\/0x}"; done
    printf '\n\n'
}
good=("$second/$inner" "$return/$(after "$first")" "$first/$inner")
{
    sample 80 "$body" "$(after "$second")" "${good[@]}"
    sample 7 "$(symbol outer)" "$(after "$second")" "${good[@]}"                                   # leaf
    sample 1 "$body" "$(after "$first")" "${good[@]}"                                             # stack
    sample 2 "$body" "$(after "$second")" "$second/$inner" "$first/$(symbol outer)"               # over a call
    sample 3 "$body" "$(after "$second")" "$second/$inner" "$return/$(after "$first")" "$first/$body" # not there
    sample 4 "$body" "$(after "$second")" "$second/$inner" "$return/$second" "$first/$inner"      # return
    sample 3 123456789 "$(after "$second")" "${good[@]}"                                          # outside
} >script

# gen WANTED-EXIT OPTION...
gen() {
    local want=$1 got
    shift
    rm -f output
    "$csprof" gen --json --perfscript script -b program -o output "$@" >json 2>messages
    got=$?
    [ $got = "$want" ] || fail "gen $*: exit $got, not $want: $(cat messages)"
}
counts() { tr -d ' \n' <json | sed -n 's/.*"checks":{\([^}]*}\).*/\1/p'; }
expect() { # WHAT WANTED
    [ "$(counts)" = "$2" ] || { fail "$1: $(counts)"; echo "  expected: $2"; }
}

broken='"broken":{"leaf":7,"stack":1,"fall-through":2,"branch":5,"return":4,"external":3,"prologue":7}'
gen 0
expect "the default" "\"checked\":100,\"rejected\":7,$broken"
gen 0 --validate none
expect "none" "\"checked\":100,\"rejected\":0,$broken"
gen 0 --validate all
expect "all" "\"checked\":100,\"rejected\":20,$broken"
gen 0 --validate=return,stack
expect "two rules" "\"checked\":100,\"rejected\":5,$broken"
gen 0 --max-bogus 7
gen 5 --max-bogus 6.5
[ -s output ] || fail "--max-bogus: there is no profile"
grep -q '7.00% of the samples contradict themselves, and no more than 6.5% may' messages ||
    fail "--max-bogus: $(cat messages)"
gen 2 --validate leafs
grep -q "cannot be 'leafs': it is one of leaf, stack, fall-through" messages ||
    fail "an unknown rule: $(cat messages)"
"$csprof" gen -v --perfscript script -b program -o output 2>messages
grep -q '7.00% of the samples contradict themselves, rejected: leaf 7' messages &&
    grep -q 'kept.* stack 1 .*external 3' messages || fail "the summary: $(cat messages)"

# A profile of contradictions alone is none.
sample 5 "$(symbol outer)" "$(after "$second")" "${good[@]}" >script
gen 3
grep -q '5 of 5 samples were taken in another function than' messages ||
    fail "nothing but contradictions: $(cat messages)"
exit $failed
