# For scripts that need many recordings of one program: sourced, in the folder to work in, after
# tests/script.sh. Makes program.c.

cat >program.c <<'END'
static __attribute__((noinline)) long leaf(long n) { return (n * 7) % 11; }
static __attribute__((noinline)) long even(long n) { return n & 3 ? leaf(n) + 1 : leaf(n + 1); }
static __attribute__((noinline)) long odd(long n) { long r = 0; for (long i = 0; i < (n & 7); i++) r += even(i); return r; }
static void exit_now(void) { __asm__ volatile("mov x8, #94\n mov x0, #0\n svc #0"); }
void _start(void) { volatile long s = 0; for (long i = 0; i < 3000; i++) s += i & 1 ? odd(i) : even(i & 7); exit_now(); }
END

build() { # NAME FLAG...
    clang-22 --target=aarch64-linux-gnu -O2 -fuse-ld=lld-22 -nostdlib -static -Wl,--build-id \
        -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -gmlt -fdebug-info-for-profiling \
        -fpseudo-probe-for-profiling -o "$@" "${source:-program.c}" || exit 1
}
record() { # NAME SEED [PROGRAM]
    "$csprof" collect -q --emulate --seed "$2" --window 300 --period 997 -o "$1" -- "${3:-./program}" ||
        exit 1
}
