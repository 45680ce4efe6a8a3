#!/usr/bin/env bash
# csprof validate profile A -b BINARY: a program of 300 functions is recorded, ten of them are edited,
# and exactly those ten are found. Edits that leave the control flow alone are none of them.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 python3
needs_emulator
cd "$work" || exit 1

# program EDITS: functions f0 … f299; EDITS is `flow` or `data` followed by the numbers of those edited
program() {
    python3 - "$@" <<'PY'
import sys
kind, edited = sys.argv[1], set(map(int, sys.argv[2:]))
print('#include "start.h"')
for i in range(300):
    step = 8 if i in edited and kind == "data" else 7
    print(f"__attribute__((noinline)) unsigned f{i}(unsigned n) {{\n  unsigned s = {i};")
    for k in range(1 + i % 4):
        print(f"  if ((n >> {k}) & 1) s += n * {step}; else s ^= use(s);")
    if i in edited and kind == "flow":
        print("  for (unsigned k = 0; k < (s & 3); k++) s = use(s + k);")
    print("  return s;\n}")
print("int program(void) {\n  unsigned s = 0;\n  for (unsigned n = 0; n < 40; n++) {")
for i in range(300):
    print(f"    s += f{i}(n + {i});")
print("  }\n  return s == 1;\n}")
PY
}
cat >start.h <<'END2'
__attribute__((noinline)) static unsigned use(unsigned n) { __asm__ volatile("" : "+r"(n)); return n; }
int program(void);
__attribute__((used)) void begin(void)
{
    register long code __asm__("x0") = program();
    register long call __asm__("x8") = 93;
    __asm__ volatile("svc 0" : : "r"(code), "r"(call));
}
__asm__(".globl _start\n_start: mov x29, 0\n mov x30, 0\n bl begin\n");
END2
build() { # NAME EDITS...: from files of one name, which static functions get into theirs
    local name=$1
    shift
    program "$@" >program.c
    build_probed -ffreestanding -I. -o "$name" program.c
}
ten=(3 29 77 101 128 150 199 222 256 299)
build before none
build after flow "${ten[@]}"
build retuned data "${ten[@]}"
record_emulated data ./before --truth truth
"$csprof" gen -q -i data -b before -o prof --mode flat --fill-zero-for-all-funcs || exit 1

# fit WANTED-EXIT BINARY OPTION...
fit() {
    local want=$1 got
    shift
    "$csprof" validate profile prof -b "$@" >output 2>messages
    got=$?
    [ $got = "$want" ] || fail "$*: exit $got, not $want: $(cat messages output)"
}
fit 0 before
grep -q '^changed  *0 functions' output || fail "the program itself: $(cat output)"
grep -qx 'The profile fits this program.' output || fail "the verdict: $(cat output)"
fit 0 retuned
grep -q '^changed  *0 functions' output || fail "edits of data: $(cat output)"

fit 0 after --json
found=$(sed -n '/not_the_same/,$p' output | sed -n 's/.*"name": "f\([0-9]*\)".*/\1/p' | sort -n | tr '\n' ' ')
[ "$found" = "${ten[*]} " ] || fail "edited: ${ten[*]}; found: $found"
[ "$(grep -c '"why": "changed"' output)" = 10 ] || fail "not all are changed: $(cat output)"
fit 5 after --max-lost 1
grep -qx 'The profile does not fit this program: make a new one.' output || fail "the verdict: $(cat output)"
grep -q 'what the program would lose of the profile is [0-9.]*%, more than the 1% allowed' messages ||
    fail "$(cat messages)"

# What the same run counted exactly overlaps with the profile, and with no other program's.
"$csprof" validate profile prof truth -b before --min-overlap 90 >output 2>&1 || fail "exact counts: $(cat output)"
"$csprof" validate profile prof truth -b after >output 2>&1
[ $? = 3 ] && grep -q 'has no counts of after: is it the program that ran?' output ||
    fail "exact counts of another program: $(cat output)"
head -n 20 truth >cut
"$csprof" validate profile prof cut -b before >output 2>&1
[ $? = 3 ] && grep -q 'does not end in `done`' output || fail "a truth file that was cut off: $(cat output)"
exit $failed
