#!/usr/bin/env bash
# Samples and programs on which llvm-profgen 22 stops, crashes or loses counts: csprof makes of each
# the profile that it makes of the same samples without the difficulty.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 llvm-objcopy-22 llvm-strip-22 llvm-nm-22 llvm-objdump-22 llvm-readelf-22 python3
needs_emulator
cd "$work" || exit 1

cat >program.c <<'END'
#ifndef SECTION
#define SECTION
#endif
#ifdef EXPORTED
#define LOCAL
#else
#define LOCAL static
#endif
#ifdef INLINED
static __attribute__((always_inline)) inline long inlined_leaf(long n) { __asm__ volatile("nop" : "+r"(n)); return n ^ 5; }
#else
#define inlined_leaf(n) (n)
#endif
LOCAL __attribute__((noinline)) SECTION long callee(long n)
{
    long old;
    static long sum;
#ifdef NEWER
    __asm__ volatile("ldapr %0, [%1]\n ptrue p0.b\n cntd %0\n add z0.d, z0.d, z1.d" : "=r"(old) : "r"(&sum) : "memory", "z0", "p0");
    return inlined_leaf(n) * 3 + (old & 0);
#endif
#ifdef ATOMICS
    __asm__ volatile("ldadd %1, %0, [%2]" : "=r"(old) : "r"(n), "r"(&sum) : "memory");
#else
    old = *(volatile long *)&sum;
#endif
#ifdef DATA
    __asm__ volatile("b 1f\n .word 0x94000000, 0xd65f03c0\n 1:");
#endif
    return inlined_leaf(n) * 3 + (old & 0);
}
static void exit_now(void) { __asm__ volatile("mov x8, #94\n mov x0, #0\n svc #0"); }
void _start(void) { for (volatile long i = 0; i < 20000; i++) callee(i); exit_now(); }
END
build() { # DIRECTORY FLAG...
    local directory=$1
    mkdir -p "$directory"
    shift
    build_probed -march=armv8.2-a -o "$directory/program" "$@" program.c
}
record() { # DIRECTORY: its samples as text, with its mapping
    record_emulated "$1/data" "$1/program"
    "$csprof" decode -q -i "$1/data" --format script -o "$1/script" || exit 1
}
gen() { # OUTPUT ARGUMENT...
    local output=$1
    shift
    "$csprof" gen -q --format text --csspgo-preinliner=0 -o "$output" "$@" 2>messages ||
        fail "gen $*: $(cat messages)"
}
same() { # WHAT GOT WANT
    cmp -s "$2" "$3" && echo "$1: the same profile" && return
    fail "$1"
    diff "$3" "$2" | head -n 10
}

build plain
record plain
gen want --perfscript plain/script -b plain/program
grep -q 'callee' want || fail "no context in the plain profile"

awk '{ print } /^ 0x/ { print ""; print "" }' plain/script >blank
gen got --perfscript blank -b plain/program
same "blank lines between samples" got want

{ cat plain/script; printf '\n\t%s\n\n' "$(awk '/^[ \t]+[0-9a-f]+$/ { print $1; exit }' plain/script)"; } >no-branches
gen got --perfscript no-branches -b plain/program
same "a sample without a branch stack" got want

awk '/^ 0x/ { print " " $1; next } { print }' plain/script >shallow
gen got --perfscript shallow -b plain/program
grep -q callee got && echo "branch stacks of one branch: a profile" ||
    fail "branch stacks of one branch"

# Another process that has the program elsewhere: its samples count as much.
build pie -fPIE -Wl,-pie
record pie
gen once --perfscript pie/script -b pie/program
awk '
    function move(text,   out) {
        while (match(text, /0x[0-9a-f]+/)) {
            out = out substr(text, 1, RSTART - 1) "0x" shift(substr(text, RSTART + 2, RLENGTH - 2))
            text = substr(text, RSTART + RLENGTH)
        }
        return out text
    }
    # Addresses 64 TiB higher: only digits in front change.
    function shift(hex) {
        while (length(hex) < 12) hex = "0" hex
        return "4" substr(hex, 2)
    }
    /PERF_RECORD_MMAP/ { sub(/\[0x[0-9a-f]+/, "[0x" shift(substr($0, index($0, "[0x") + 3, index($0, "(") - index($0, "[0x") - 3))); print; next }
    /^ 0x/ { print move($0); next }
    /^[ \t]+[0-9a-f]+$/ { printf "\t%s\n", shift($1); next }
    { print }' pie/script >elsewhere
[ "$(grep -c '^ 0x4' elsewhere)" -gt "$(grep -c '^ 0x4' pie/script)" ] || fail "nothing moved"
cat pie/script elsewhere >two-processes
gen got --perfscript two-processes -b pie/program
first() { sed -n '1s/.*:\([0-9]*\):[0-9]*$/\1/p' "$1"; }
[ "$(first got)" = $((2 * $(first once))) ] && echo "two processes at different addresses: all samples" ||
    fail "two processes: $(first got), not twice $(first once)"

# Pages of 64 KiB: the mapping begins before the segment.
build large -Wl,-z,max-page-size=65536
record large
gen once --perfscript large/script -b large/program
read -r offset address < <(llvm-readelf-22 -lW large/program | awk '$1 == "LOAD" && /R E/ { print $2, $3; exit }')
printf 'x 1 PERF_RECORD_MMAP2 1/1: [0x%x(0x20000) @ 0x%x 08:01 1 1]: r-xp /a/program\n' \
    $((address & ~0xffff)) $((offset & ~0xffff)) >pages
sed '/PERF_RECORD_MMAP/d' large/script >>pages
gen got --perfscript pages -b large/program
same "pages of 64 KiB" got once

build atomics -DATOMICS -march=armv8.2-a+lse
record atomics
gen got --perfscript atomics/script -b atomics/program
grep -q 'callee' got && echo "LSE instructions: a profile" || fail "LSE"

build data -DDATA
record data
gen got --perfscript data/script -b data/program
grep -q 'callee' got && echo "data in the text: a profile" || fail "data in text"

# What else ARMv8 has got since.
build newer -DNEWER -march=armv8.2-a+lse+rcpc+sve
if qemu-aarch64 newer/program; then
    record newer
    gen got --perfscript newer/script -b newer/program
    grep -q 'callee' got && echo "RCPC and SVE instructions: a profile" || fail "RCPC and SVE"
else
    echo "left out: this QEMU runs no SVE"
fi

# No mapping is told of: addresses are the program's own. Or its path has no slash.
sed '/PERF_RECORD_MMAP/d' plain/script >unmapped
gen got --perfscript unmapped -b plain/program
same "a text without mappings" got want
sed 's|r-xp .*/|r-xp |' plain/script >no-slash
gen got --perfscript no-slash -b plain/program
same "a mapping without a folder" got want

# Two inputs are one profile.
awk -v RS= -v ORS='\n\n' 'NR % 2' plain/script >odd
{ grep PERF_RECORD_MMAP plain/script; echo; awk -v RS= -v ORS='\n\n' '!(NR % 2)' plain/script; } >even
gen got --perfscript odd --perfscript even -b plain/program
same "two texts" got want
gen got --perfscript even --perfscript odd -b plain/program
same "two texts, the other way round" got want

# A return to where no call is: its callers are not known, and those of all other samples are.
place() { # FUNCTION INSTRUCTION: its address
    llvm-objdump-22 -d --no-show-raw-insn --disassemble-symbols="$1" plain/program |
        sed -n "s/^ *\([0-9a-f]*\):.*\t$2\b.*/\1/p" | head -n 1
}
read -r callee _ symbol < <(llvm-nm-22 plain/program | grep ' callee')
callee=$(printf '%x' $((0x$callee))) call=$(place _start bl) return=$(place "$symbol" ret)
{
    cat plain/script
    printf '\n\t%s\n\t%x\n 0x%s/0x%s/P/-/-/0  0x%s/0x%s/P/-/-/0  0x%s/0x%s/P/-/-/0\n\n' "$callee" $((0x$call + 4)) \
        "$call" "$callee" "$return" "$call" "$call" "$callee"
} >no-call
gen got --perfscript no-call -b plain/program --gen-cs-nested-profile=0
gen once --perfscript plain/script -b plain/program --gen-cs-nested-profile=0
names() { sed -n 's/^\(\[.*\]\):[0-9]*:[0-9]*$/\1/p' "$1" | sort; }
[ -z "$(comm -23 <(names once) <(names got))" ] && [ "$(wc -l < <(names once))" -ge 2 ] &&
    "$csprof" gen --json --perfscript no-call -b plain/program -o output | grep -q '"returns_to_no_call": 1' &&
    echo "a return to where no call is: the other contexts are as before, and it is counted" ||
    { fail "a return to where no call is"; diff <(names once) <(names got); }

# Functions that control-flow integrity renamed.
mkdir -p cfi
build exported -DEXPORTED
record exported
llvm-objcopy-22 --redefine-sym callee=callee.cfi exported/program cfi/program
gen once --perfscript exported/script -b exported/program
gen got --perfscript exported/script -b cfi/program
same "a function's symbol ends in .cfi" got once

# What strip took away, in a file of its own.
mkdir -p stripped
build built -Wl,--build-id
record built
gen once --perfscript built/script -b built/program
llvm-objcopy-22 --only-keep-debug built/program built/program.debug
llvm-strip-22 -s -o stripped/program built/program
gen got --perfscript built/script -b stripped/program --debug-binary built/program.debug
same "probes, symbols and lines in the debug file" got once
build another -Wl,--build-id -DATOMICS -march=armv8.2-a+lse
"$csprof" gen -q --perfscript built/script -b stripped/program --debug-binary another/program -o output 2>messages
[ $? = 3 ] && grep -q 'its build-id is .*, that of the program' messages && echo "the debug file of another build: told" ||
    fail "the debug file of another build: $(cat messages)"

# Section headers in another order than the code.
mkdir -p reordered
build sections -DEXPORTED -DSECTION='__attribute__((section("other_text")))'
record sections
gen once --perfscript sections/script -b sections/program
python3 - sections/program reordered/program <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
table, = struct.unpack_from("<Q", data, 40)
size, count = struct.unpack_from("<HH", data, 58)
headers = [bytes(data[table + i * size:table + (i + 1) * size]) for i in range(count)]
code = [i for i in range(count) if struct.unpack_from("<Q", headers[i], 8)[0] & 4]
a, b = code[0], code[1]
headers[a], headers[b] = headers[b], headers[a]
swap = {a: b, b: a}
for i, header in enumerate(headers):
    link, info = struct.unpack_from("<II", header, 40)
    header = bytearray(header)
    struct.pack_into("<I", header, 40, swap.get(link, link))
    data[table + i * size:table + (i + 1) * size] = header
    kind, = struct.unpack_from("<I", header, 4)
    if kind == 2:
        start, length = struct.unpack_from("<QQ", header, 24)
        for at in range(start, start + length, 24):
            index, = struct.unpack_from("<H", data, at + 6)
            struct.pack_into("<H", data, at + 6, swap.get(index, index))
open(sys.argv[2], "wb").write(data)
END
chmod +x reordered/program
gen got --perfscript sections/script -b reordered/program
same "section headers out of the order of addresses" got once

# A function that the debug information does not have, and one without a name there.
build lines -DEXPORTED -DINLINED
record lines
gen once --perfscript lines/script -b lines/program --mode dwarf-flat
mkdir -p nameless
llvm-objcopy-22 --dump-section .debug_str=strings lines/program copy
python3 - <<'END'
data = open("strings", "rb").read()
name = b"inlined_leaf"
assert name in data
open("strings", "wb").write(data.replace(name, bytes(len(name))))
END
llvm-objcopy-22 --update-section .debug_str=strings lines/program nameless/program
gen got --perfscript lines/script -b nameless/program --mode dwarf-flat
grep -q inlined_leaf once && ! grep -q inlined_leaf got && grep -q '^_start:' got && echo "an inlined function without a name: a profile" ||
    fail "an inlined function without a name"
mkdir -p incomplete
llvm-objcopy-22 --remove-section='.debug_*' plain/program incomplete/program
gen once --perfscript plain/script -b plain/program --mode flat
gen got --perfscript plain/script -b incomplete/program --mode flat
total() { sed -n 's/^[^ ]*callee[^:]*:\([0-9]*\):.*/\1/p' "$1"; }
[ -n "$(total got)" ] && [ "$(total got)" = "$(total once)" ] &&
    echo "functions that only the symbol table knows: in the profile" ||
    fail "functions from the symbol table"

# Recursion that is not cut: merging it into itself, libLLVM loses counts, and uses nodes that it has freed
# (MALLOC_PERTURB_=85 llvm-profgen-22 --compress-recursion=0 crashes on CPython's samples).
mkdir -p recursion
cat >recursion.c <<'END'
static volatile long data;
__attribute__((noinline)) long work(long n) { data += n; return data & 1 ? n : data; }
__attribute__((noinline)) long descend(long n)
{
    long sum = n & 1 ? work(n) : n;
    if (n > 0)
        sum += descend(n - 1);
    return sum + work(sum);
}
static void exit_now(void) { __asm__ volatile("mov x8, #94\n mov x0, #0\n svc #0"); }
void _start(void) { for (long i = 0; i < 3000; i++) data += descend(i & 7); exit_now(); }
END
build_probed -o recursion/program recursion.c
record recursion
whole() { # of a profile by contexts: all that is counted
    awk -F : '/^\[/ { sum += $(NF - 1) } END { print sum }' "$1"
}
uncut() { # OUTPUT OPTION...
    local output=$1
    shift
    "$csprof" gen -q --format text --gen-cs-nested-profile=0 --compress-recursion=0 --csprof-merge-cold-context=0 \
        --perfscript recursion/script -b recursion/program -o "$output" "$@" 2>messages || fail "$(cat messages)"
}
uncut apart --csspgo-preinliner=0
uncut merged
grep -q 'descend:[0-9]* @ descend:[0-9]* @ descend:[0-9]* @ descend' apart || fail "no recursion in the samples"
[ "$(whole merged)" = "$(whole apart)" ] && echo "recursion that is not cut: all counts" ||
    fail "recursion that is not cut: $(whole merged) of $(whole apart)"

# A GUID without a name, and sections cut short.
llvm-objcopy-22 --dump-section .pseudo_probe_desc=desc --dump-section .pseudo_probe=probes plain/program copy
length=$(od -An -tu1 -j16 -N1 desc)
mkdir unnamed cut
tail -c +$((17 + length + 1)) desc >rest
llvm-objcopy-22 --update-section .pseudo_probe_desc=rest plain/program unnamed/program
gen got --perfscript plain/script -b unnamed/program
[ "$(wc -l <got)" = "$(wc -l <want)" ] && echo "a GUID without a name: all counts" ||
    { fail "a GUID without a name"; diff want got | head; }
head -c $(($(stat -c %s probes) - 3)) probes >short
llvm-objcopy-22 --update-section .pseudo_probe=short plain/program cut/program
"$csprof" gen -q --perfscript plain/script -b cut/program -o cut/output 2>messages
[ $? = 3 ] && grep -q '.pseudo_probe is truncated' messages && echo "probes cut short: told" ||
    fail "probes cut short: $(cat messages)"
exit $failed
