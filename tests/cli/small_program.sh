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
    build_probed -o "$@" "${source:-program.c}"
}
record() { # NAME SEED [PROGRAM]
    record_emulated "$1" "${3:-./program}" --seed "$2"
}
