#!/usr/bin/env bash
# Samples and programs on which llvm-profgen 22 stops, crashes or loses counts: csprof makes of each
# the profile that it makes of the same samples without the difficulty.
set -u
csprof=${CSPROF:?}
for tool in clang-22 ld.lld-22 llvm-objcopy-22 qemu-aarch64 llvm-readelf-22; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
[ -e "${CSPROF_BUILD:?}/csprof-emulate.so" ] || { echo "skipped: no emulation here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

cat >program.c <<'END'
static __attribute__((noinline)) long callee(long n)
{
    long old;
    static long sum;
#ifdef ATOMICS
    __asm__ volatile("ldadd %1, %0, [%2]" : "=r"(old) : "r"(n), "r"(&sum) : "memory");
#else
    old = *(volatile long *)&sum;
#endif
#ifdef DATA
    __asm__ volatile("b 1f\n .word 0x94000000, 0xd65f03c0\n 1:");
#endif
    return n * 3 + (old & 0);
}
static void exit_now(void) { __asm__ volatile("mov x8, #94\n mov x0, #0\n svc #0"); }
void _start(void) { for (volatile long i = 0; i < 20000; i++) callee(i); exit_now(); }
END
build() { # DIRECTORY FLAG...
    local directory=$1
    mkdir -p "$directory"
    shift
    clang-22 --target=aarch64-linux-gnu -march=armv8.2-a -O2 -fuse-ld=lld-22 -nostdlib -static \
        -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -gmlt -fdebug-info-for-profiling \
        -fpseudo-probe-for-profiling -o "$directory/program" "$@" program.c || exit 1
}
record() { # DIRECTORY: its samples as text, with its mapping
    "$csprof" collect -q --emulate --window 300 --period 997 -o "$1/data" -- "$1/program" &&
        "$csprof" decode -q -i "$1/data" --format script -o "$1/script" || exit 1
}
gen() { # OUTPUT ARGUMENT...
    local output=$1
    shift
    "$csprof" gen -q --format text --csspgo-preinliner=0 -o "$output" "$@" 2>messages || {
        echo "FAILED: gen $*: $(cat messages)"
        failed=1
    }
}
same() { # WHAT GOT WANT
    cmp -s "$2" "$3" && echo "$1: the same profile" && return
    echo "FAILED: $1"
    diff "$3" "$2" | head -n 10
    failed=1
}

build plain
record plain
gen want --perfscript plain/script -b plain/program
grep -q 'callee' want || { echo "FAILED: no context in the plain profile"; failed=1; }

awk '{ print } /^ 0x/ { print ""; print "" }' plain/script >blank
gen got --perfscript blank -b plain/program
same "blank lines between samples" got want

{ cat plain/script; printf '\n\t%s\n\n' "$(awk '/^[ \t]+[0-9a-f]+$/ { print $1; exit }' plain/script)"; } >no-branches
gen got --perfscript no-branches -b plain/program
same "a sample without a branch stack" got want

awk '/^ 0x/ { print " " $1; next } { print }' plain/script >shallow
gen got --perfscript shallow -b plain/program
grep -q callee got && echo "branch stacks of one branch: a profile" ||
    { echo "FAILED: branch stacks of one branch"; failed=1; }

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
[ "$(grep -c '^ 0x4' elsewhere)" -gt "$(grep -c '^ 0x4' pie/script)" ] || { echo "FAILED: nothing moved"; failed=1; }
cat pie/script elsewhere >two-processes
gen got --perfscript two-processes -b pie/program
first() { sed -n '1s/.*:\([0-9]*\):[0-9]*$/\1/p' "$1"; }
[ "$(first got)" = $((2 * $(first once))) ] && echo "two processes at different addresses: all samples" ||
    { echo "FAILED: two processes: $(first got), not twice $(first once)"; failed=1; }

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
grep -q 'callee' got && echo "LSE instructions: a profile" || { echo "FAILED: LSE"; failed=1; }

build data -DDATA
record data
gen got --perfscript data/script -b data/program
grep -q 'callee' got && echo "data in the text: a profile" || { echo "FAILED: data in text"; failed=1; }

# A GUID without a name, and sections cut short.
llvm-objcopy-22 --dump-section .pseudo_probe_desc=desc --dump-section .pseudo_probe=probes plain/program copy
length=$(od -An -tu1 -j16 -N1 desc)
mkdir unnamed cut
tail -c +$((17 + length + 1)) desc >rest
llvm-objcopy-22 --update-section .pseudo_probe_desc=rest plain/program unnamed/program
gen got --perfscript plain/script -b unnamed/program
[ "$(wc -l <got)" = "$(wc -l <want)" ] && echo "a GUID without a name: all counts" ||
    { echo "FAILED: a GUID without a name"; diff want got | head; failed=1; }
head -c $(($(stat -c %s probes) - 3)) probes >short
llvm-objcopy-22 --update-section .pseudo_probe=short plain/program cut/program
"$csprof" gen -q --perfscript plain/script -b cut/program -o cut/output 2>messages
[ $? = 3 ] && grep -q '.pseudo_probe is truncated' messages && echo "probes cut short: told" ||
    { echo "FAILED: probes cut short: $(cat messages)"; failed=1; }
exit $failed
