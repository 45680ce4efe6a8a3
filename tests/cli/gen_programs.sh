#!/usr/bin/env bash
# What programs are made of, and `csprof gen` takes in its stride: libraries (a profile each; a missing one
# is named), functions split into hot and cold parts, tail calls, static functions of one name; and what it
# cannot make good: code without frame pointers, kernel modules.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 llvm-nm-22 llvm-readelf-22
needs_emulator
[ -d /usr/aarch64-linux-gnu/include ] || skip "libc6-dev-arm64-cross is not installed"
cd "$work" || exit 1
export HOME=$work # perf's copies of files (~/.debug) would be found where one is missing

target=(--target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling)
frames=(-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer)
link=(-fuse-ld=lld-22 -Wl,--build-id)
compile() { clang-22 "${target[@]}" "${link[@]}" "$@" || exit 1; }
record() { record_emulated "$1.data" "./$1" >/dev/null; }
gen() { "$csprof" gen --format text -o profile "$@" 2>messages || fail "gen $*: $(cat messages)"; }
contexts=(--csspgo-preinliner=0 --gen-cs-nested-profile=0 --csprof-merge-cold-context=0)
has() { # WHAT PATTERN [FILE]
    grep -qE -- "$2" "${3:-profile}" && echo "ok: $1" || { fail "$1: there is no '$2' in"; cat "${3:-profile}"; }
}
has_no() {
    ! grep -qE -- "$2" "${3:-profile}" && echo "ok: $1" || { fail "$1: there is '$2' in"; cat "${3:-profile}"; }
}

# ---- a program and its library ----
cat >library.c <<'END'
__attribute__((noinline)) static int inner(int n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
int library_work(int n) { int s = 0; for (int i = 0; i < (n & 7); i++) s += inner(n + i); return s; }
END
cat >program.c <<'END'
int library_work(int n);
__attribute__((noinline)) static int own(int n) { __asm__ volatile("" : "+r"(n)); return n * 5; }
int main(void) { volatile int s = 0; for (int i = 0; i < 20000; i++) s += library_work(i) + own(i); return 0; }
END
compile "${frames[@]}" -shared -fPIC -o libwork.so library.c
compile "${frames[@]}" -o program program.c -L. -lwork -Wl,-rpath,"$work"
record program
gen -i program.data
has "without -b: the program that was started, though all callchains are in the C library, too" '^main:'
has_no "its library is not in its profile" 'library_work:'
gen -i program.data -b libwork.so
has "the library's profile, of the same recording" '^library_work:'
has_no "the program is not in its library's profile" '^main:'

# ---- both at once: -o with a pattern ----
# In the C library samples were taken, too, but it has neither probes nor lines.
mkdir each
each() { "$csprof" gen -q -i program.data --format text "$@" 2>messages || fail "gen $*: $(cat messages)"; }
each -b program -b libwork.so -o 'each/%b.prof'
has "%b is the binary's name: the program's profile" '^main:' each/program.prof
has "... and its library's, of one run" '^library_work:' each/libwork.so.prof
gen -i program.data -b libwork.so
cmp profile each/libwork.so.prof && echo "ok: each is what a run of its own makes" || fail "not the same"
each -o 'each/all-%b' # those that samples were taken in
cmp each/program.prof each/all-program && cmp each/libwork.so.prof each/all-libwork.so &&
    echo "ok: without -b: all files that samples were taken in and that there is a profile of" || fail "not the same"
each -b program -o 'each/100%%-%i'
id=$(llvm-readelf-22 --notes program | sed -n 's/.*Build ID: //p')
cmp each/program.prof "each/100%-$id" && echo "ok: %i is the build-id, %% a percent sign" || ls each
"$csprof" gen --json -i program.data -b program -b libwork.so -o 'each/%b' >json 2>messages &&
    [ "$(grep -c '"output"' json)" = 2 ] && has "one object has all results" '^  "profiles": \[' json || cat json messages
refuses() { # WHAT PATTERN OPTION...
    local what=$1 pattern=$2
    shift 2
    "$csprof" gen -q -i program.data "$@" 2>messages && fail "$what: it did not fail"
    has "$what" "$pattern" messages
}
refuses "two binaries and one name" "-o needs %b" -b program -b libwork.so -o one
mkdir copy && cp libwork.so copy
refuses "two binaries of one name" 'would be written for libwork.so and for copy/libwork.so' -b libwork.so -b copy/libwork.so -o '%b.prof'
compile "${frames[@]}" -Wl,--build-id=none -shared -fPIC -o nameless.so library.c
refuses "a binary without build-id" 'nameless.so has no build-id' -b nameless.so -o '%i.prof'

mv libwork.so elsewhere.so
gen -i program.data
has "a missing library is named, with what it would have told" 'libwork.so .*was not found.*went there [0-9]+ times' messages
mv elsewhere.so libwork.so

# ---- a function whose cold part is elsewhere (by lines: Clang 22 cannot split one with probes for AArch64) ----
cat >split.c <<'END'
static volatile int sink;
__attribute__((noinline)) static int step(int n) {
    if (__builtin_expect((n & 255) > 253, 0)) {
        for (int i = 0; i < 8; i++)
            sink += i * n;
        sink ^= n;
    }
    return n * 3 + 1;
}
int main(void) { int s = 0; for (int i = 0; i < 60000; i++) s += step(i ^ (s & 1)); sink = s; return 0; }
END
target_of_lines=("${target[@]/-fpseudo-probe-for-profiling/}")
compile_lines() { clang-22 ${target_of_lines[*]} "${link[@]}" "${frames[@]}" "$@" 2>compiling || { cat compiling; exit 1; }; }
compile_lines -o whole split.c
record whole
gen -i whole.data --mode flat
"$csprof" gen -q -i whole.data --mode flat -o whole.profile 2>messages || exit 1
compile_lines -fprofile-sample-use=whole.profile -fsplit-machine-functions -mllvm -mfs-psi-cutoff=0 \
    -mllvm -mfs-count-threshold=10000 -o split split.c
llvm-nm-22 split | grep -q 'step\.cold$' || fail "the compiler did not split step"
record split
gen -i split.data --mode flat
has "a split function has one profile" '^step:'
has_no "its cold part has none of its own" 'cold'
has "the cold part's loop counts" '^ 3: 1[0-9]{3}$'
has "what follows it counts" '^ 4: 1[0-9]{2}$'

# ---- a tail call ----
cat >tail.c <<'END'
__attribute__((noinline)) int last(int n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
__attribute__((noinline)) int middle(int n) { if (n & 1) n += 2; return last(n); }
int main(void) { volatile int s = 0; for (int i = 0; i < 20000; i++) s += middle(i); return 0; }
END
compile "${frames[@]}" -o tail tail.c
record tail
gen -i tail.data "${contexts[@]}"
has "the frame that a tail call removed is in the context" '\[main:[0-9]+ @ middle:[0-9]+ @ last\]'
call=$(sed -nE 's/.* middle:([0-9]+) @ last\].*/\1/p' profile | head -n 1)
has "the tail call is counted" "^ $call: [1-9]"

# ---- static functions of one name ----
cat >one.c <<'END'
int two(int);
static __attribute__((noinline)) int helper(int n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
int main(void) { volatile int s = 0; for (int i = 0; i < 20000; i++) s += helper(i) + two(i); return 0; }
END
cat >two.c <<'END'
static __attribute__((noinline)) int helper(int n) { for (int i = 0; i < (n & 3); i++) { __asm__ volatile("" : "+r"(n)); n *= 3; } return n; }
int two(int n) { return helper(n) + 1; }
END
compile "${frames[@]}" -fno-unique-internal-linkage-names -o same one.c two.c
record same
gen -i same.data "${contexts[@]}"
has "one is called by main" '^\[main:[0-9]+ @ helper\]'
has "the other by two" '^\[main:[0-9]+ @ two:[0-9]+ @ helper\]'

# ---- files that are not where they were ----
refuses() { # WHAT PATTERN ARGUMENT...: exit code 3, that message, no profile
    local what=$1 pattern=$2
    shift 2
    "$csprof" gen -o none "$@" 2>messages
    [ $? = 3 ] && [ ! -e none ] || fail "$what: not refused"
    has "$what" "$pattern" messages
}
mkdir moved
gen -i program.data
mv profile before
mv program moved/renamed
refuses "a program that is gone is named" '/program, is not found here: name its file with -b' -i program.data
gen -i program.data -b moved/renamed
cmp -s before profile || fail "the program under another path and name gives another profile"
has_no "… whose code is decoded" 'not found' messages
"$csprof" validate -i program.data -b moved/renamed >trust || fail "validate -b of a moved program"
has "validate takes it, too" '^of .*moved/renamed' trust
"$csprof" merge -q -o moved.agg -b moved/renamed program.data || fail "merge -b of a moved program"
gen -i moved.agg -b moved/renamed
cmp -s before profile || fail "merge with a moved program gives another profile"
echo 'int main(void) { return 1; }' >rebuilt.c
compile "${frames[@]}" -o program rebuilt.c
refuses "one that was built again is told from one that is gone" 'is another here than was recorded' -i program.data
mv moved/renamed program

# ---- split debug information ----
compile "${frames[@]}" -g -gsplit-dwarf -c -o unit.o tail.c
compile "${frames[@]}" -g -gsplit-dwarf -o apart unit.o
record apart
gen -i apart.data
has_no "split debug information that is there: nothing to say" 'warning' messages
mv profile before
mv unit.dwo moved
gen -i apart.data
has "a missing .dwo file is told" 'debug information of 1 of 1 compile units is missing \(.*unit.dwo\)' messages
refuses "a --dwp that is not there is an error" 'nowhere.dwp: No such file' -i apart.data --dwp nowhere.dwp
if command -v llvm-dwp-22 >/dev/null; then
    llvm-dwp-22 -o moved/apart.dwp moved/unit.dwo || exit 1
    gen -i apart.data --dwp moved/apart.dwp
    cmp -s before profile || fail "a .dwp gives another profile than the .dwo file"
fi

# ---- what cannot be made good ----
for i in 1 2 3 4 5 6 7 8; do
    echo "__attribute__((noinline)) int f$i(int n) { return f$((i - 1))(n) + f$((i - 1))(n + $i); }"
done >functions
{
    echo '__attribute__((noinline)) int f0(int n) { __asm__ volatile("" : "+r"(n)); return n; }'
    cat functions
    echo 'int main(void) { volatile int s = 0; for (int i = 0; i < 200; i++) s += f8(i); return 0; }'
} >deep.c
compile "${frames[@]}" -w -o deep deep.c
record deep
gen -i deep.data
has_no "frame pointers: nothing to say" 'frame pointer' messages
compile -fomit-frame-pointer -w -o deep deep.c
record deep
gen -i deep.data
has "no frame pointers: told, with the flags" 'keep no frame pointer.*-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer' messages
gen -i deep.data --mode flat
has_no "a flat profile needs none" 'frame pointer' messages

clang-22 "${target[@]}" -c -o module.ko library.c || exit 1
"$csprof" gen -i program.data -b module.ko -o none 2>messages
[ $? = 3 ] && [ ! -e none ] || fail "a kernel module was taken"
has "a kernel module is not yet linked" 'module.ko is neither an executable nor a shared object' messages
exit $failed
