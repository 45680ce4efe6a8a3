#!/usr/bin/env bash
# A function of another compile unit: the compiler cannot inline it, so its counts are its own and not of a
# context that nobody will look at; compiled with LTO it can.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22
needs_emulator
cd "$work" || exit 1

cat >one.c <<'END'
int work(int n);
__attribute__((noinline)) static int here(int n) { __asm__ volatile("" : "+r"(n)); return n * 5; }
static void exit_now(void) { __asm__ volatile("mov x8, #94\n mov x0, #0\n svc #0"); }
void _start(void) { volatile int s = 0; for (int i = 0; i < 100000; i++) s += work(i) + here(i); exit_now(); }
END
cat >two.c <<'END'
__attribute__((noinline)) static int below(int n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
int work(int n) { return n & 1 ? below(n) : n; }
END
# profile NAME FLAG...: which functions are nested in which, in NAME
profile() {
    local name=$1
    shift
    build_probed "$@" -o "$name" one.c two.c
    record_emulated "$name.data" "./$name"
    nesting "$name"
}
nesting() { # NAME OPTION...
    local name=$1
    shift
    "$csprof" gen -i "$name.data" --format text -o "$name.prof" "$@" 2>messages || fail "$name: $(cat messages)"
    sed -nE 's/^( *)([0-9.]+: )?_?(ZL[0-9]+)?(_start|work|here|below)[A-Za-z]*[^:]*:[0-9:]+$/\1\4/p' "$name.prof"
}
expect() { # WHAT, with what is expected on standard input
    diff - nested && echo "ok: $1" || fail "$1"
}

profile apart >nested
expect "file by file" <<'END'
_start
 here
work
 below
END
grep -q '1 context is a call into other compile units' messages || fail "nothing is said of it: $(cat messages)"
nesting apart --preinline-across-units >nested
expect "file by file, to be compiled with LTO" <<'END'
_start
 work
  below
 here
END
for lto in full thin; do
    profile $lto -flto=$lto >nested
    expect "LTO, $lto" <<'END'
_start
 work
  below
 here
END
done
exit $failed
