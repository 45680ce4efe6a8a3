#!/usr/bin/env bash
# Whatever the number of threads, the order of the samples in a text, and the order of texts:
# `csprof gen` writes the same bytes and counts the same.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 llvm-readelf-22 python3
needs_emulator
cd "$work" || exit 1

cat >program.c <<'END'
static __attribute__((noinline)) long leaf(long n) { return (n * 7) % 11; }
static __attribute__((noinline)) long even(long n) { return n & 3 ? leaf(n) + 1 : leaf(n + 1); }
static __attribute__((noinline)) long odd(long n) { long r = 0; for (long i = 0; i < (n & 7); i++) r += even(i); return r; }
static __attribute__((noinline)) long deep(long n) { return n ? deep(n - 1) + odd(n) : even(n); }
static void exit_now(void) { __asm__ volatile("mov x8, #94\n mov x0, #0\n svc #0"); }
void _start(void) { volatile long s = 0; for (long i = 0; i < 3000; i++) s += i & 1 ? odd(i) : deep(i & 7); exit_now(); }
END
build_probed -static-pie -fPIE -o program program.c
for seed in 1 2; do
    record_emulated data$seed ./program --seed $seed
    "$csprof" decode -q -i data$seed --format script -o text$seed || exit 1
done

# The second process is mapped elsewhere, and the text says so when half of it is over.
awk '
    function move(text,   out) {
        while (match(text, /0x[0-9a-f]+/)) {
            out = out substr(text, 1, RSTART - 1) "0x4" sprintf("%011s", substr(text, RSTART + 2, RLENGTH - 2))
            text = substr(text, RSTART + RLENGTH)
        }
        gsub(/ /, "0", out)
        return out text
    }
    function moved(hex) { hex = sprintf("%11s", hex); gsub(/ /, "0", hex); return "4" hex }
    /PERF_RECORD_MMAP/ { sub(/\[0x[0-9a-f]+/, "[0x" moved(substr($0, index($0, "[0x") + 3, index($0, "(") - index($0, "[0x") - 3))); print; next }
    /^ 0x/ { n = split($0, parts, " "); line = ""
        for (i = 1; i <= n; i++) { split(parts[i], ends, "/"); line = line " 0x" moved(substr(ends[1], 3)) "/0x" moved(substr(ends[2], 3)) "/P/-/-/0" }
        print line; next }
    /^[ \t]+[0-9a-f]+$/ { printf "\t%s\n", moved($1); next }
    { print }' text2 >elsewhere
cat text1 elsewhere >both
# The same samples in another order: blocks of lines that end with branches, backwards.
{ grep PERF_RECORD_MMAP text1; awk '/PERF_RECORD_MMAP/ { next } { block = block $0 "\n" } /^ 0x/ { blocks[n++] = block; block = "" }
    END { while (n) printf "%s", blocks[--n] }' text1; } >backwards

# same WHAT WANT ARGUMENT...: the profile, every statistic and all that is told, by each of these
modes='cs flat dwarf-cs dwarf-flat'
# Who asks for the statistics keeps all distinct samples of texts. Otherwise they become counters where
# they were read, as the lines of a table of addresses do, too.
generate() { # MODE GOT ARGUMENT...
    local mode=$1 got=$2
    shift 2
    "$csprof" gen --json -b program --mode $mode --format text -o "$got" "$@" 2>"$got.messages" |
        grep -v '"output"' >"$got.json"
    "$csprof" gen -b program --mode $mode --format text -o "$got.folded" "$@" 2>"$got.told"
    "$csprof" gen -q -b program --mode $mode --skip-symbolization -o "$got.counters" "$@" 2>>"$got.messages" ||
        fail "$got: no counters: $(cat "$got.messages")"
}
same() {
    local what=$1 want=$2 part
    shift 2
    for mode in $modes; do
        if ! [ -e "$want.$mode" ]; then
            generate $mode "$want.$mode" "$@"
            sed -i "s/$want.$mode.folded/got.folded/" "$want.$mode.told"
            [ -s "$want.$mode.json" ] || fail "$what, $mode: $(cat "$want.$mode.messages")"
            cmp "$want.$mode" "$want.$mode.folded" || fail "$what, $mode: not the same without statistics"
            continue
        fi
        generate $mode got "$@"
        for part in '' .json .folded .told .counters; do
            cmp -s got$part "$want.$mode$part" && continue
            fail "$what, $mode: got$part"
            diff "$want.$mode$part" got$part | head -n 5
        done
    done
    rm -f got got.*
}
same "one thread" one --perfscript both
for threads in 2 3 7 50; do
    same "$threads threads, mapped elsewhere in the second half" one --perfscript both --threads $threads
done
same "as it is" order --perfscript text1
same "backwards" order --perfscript backwards
# What follows the addresses of a branch, how they are spaced and how they are written says nothing.
sed '/^ 0x/s|/P/-/-/0|/M/-/-/12/COND  |2g; /^ 0x/s|0x\([0-9a-f]*\)/0x|0x00\1/0x|3' text1 >dressed
cmp -s text1 dressed && fail "nothing was dressed"
same "other flags, blanks and zeros" order --perfscript dressed
# Threads meet some contexts first by a branch alone: samples with a branch
# each, then whole ones, in another order for each thread, often enough that each has some.
python3 - text1 >branches_first <<'END'
import sys
maps, samples, lines = [], [], []
for line in open(sys.argv[1]):
    if line.startswith('PERF_RECORD'):
        maps.append(line)
        continue
    lines.append(line)
    if line.startswith(' 0x'):
        samples.append((lines[:-1], line.split()))
        lines = []
print(''.join(maps), end='')
for part in range(3):
    size = i = 0
    while size < 1000000:
        callers, branches = samples[(7 * part * i + i) % len(samples)]
        text = ''.join(callers) + ' ' + ' '.join(branches[:None if part else 1]) + ' \n'
        print(text, end='')
        size += len(text)
        i += 1
END
modes=cs
for threads in 1 3 7; do
    same "$threads threads, samples with one branch first" branches_first --perfscript branches_first --threads $threads
done
modes='cs flat dwarf-cs dwarf-flat'
same "two texts" texts --perfscript text1 --perfscript elsewhere
same "two texts, the other one first" texts --perfscript elsewhere --perfscript text1
cmp one.cs texts.cs || fail "one text is not the same as two"
same "two recordings" recordings -i data1 -i data2
same "two recordings, the other one first" recordings -i data2 -i data1 --threads 2
# Some inputs without callchains: there are contexts if any has some, whichever comes first.
grep -v '^[[:space:]]*[0-9a-f]*$' elsewhere >without
for _ in 1 2 3; do echo ' 0x10/0x20/P/-/-/0  0x30/0x10/P/-/-/0 '; done >>without # nothing of it is the program's
without_callchains 1000000000 <data2 >data_without
modes=auto
same "texts" mixed_texts --perfscript text1 --perfscript without
same "texts, the one without first" mixed_texts --perfscript without --perfscript text1 --threads 3
same "recordings" mixed_recordings -i data1 -i data_without
same "recordings, the one without first" mixed_recordings -i data_without -i data1
same "recordings, the one without first, two threads" mixed_recordings -i data_without -i data1 --threads 2
same "recordings, the one without first, not kept" mixed_recordings --no-cache -i data_without -i data1
same "a recording, a text without" mixed -i data1 --perfscript without
"$csprof" gen -q -b program --format aggregate -o kept -i data1 || fail "no aggregate"
"$csprof" gen -q -b program --format aggregate -o kept_without --perfscript without || fail "no aggregate"
same "an aggregate, a text without" mixed --perfscript without --aggregate kept
same "aggregates" mixed --aggregate kept_without --aggregate kept
same "without any" flat_alone --perfscript without
modes=flat
same "without any, flat" flat_without --perfscript without
cmp flat_alone.auto flat_without.flat || fail "without callchains it is not flat"
for name in mixed_texts mixed_recordings mixed; do
    grep -q '"mode": "cs"' "$name.auto.json" || fail "$name has no contexts"
    grep -q '"no_callchain": [1-9]' "$name.auto.json" || fail "$name: nothing lacks a callchain"
done
grep -q '"external": 3' mixed_texts.auto.json || fail "what is not the program's is not told"
"$csprof" gen -q -b program -o got --perfscript text1 --perfscript without 2>messages
grep -q 'samples have no callchain and are not in the profile' messages || fail "it is not said what is left out"

# Line tables that cannot be read, of every second unit: what is said of them is in order, and said of
# what one thread looks at.
{ echo 'void _start(void) {'
  for unit in 9 2 7 4 5 6 3 8; do echo "long unit$unit(long); for (volatile long i = 0; i < 500; i++) unit$unit(i);"; done
  echo '__asm__ volatile("mov x8, #94\n mov x0, #0\n svc #0"); }'; } >unit1.c
for unit in 2 3 4 5 6 7 8 9; do
    echo "static __attribute__((noinline)) long leaf(long n) { return (n * $unit) % 11; } long unit$unit(long n) { return leaf(n) + leaf(n + 1); }" >unit$unit.c
done
build_probed -o units unit?.c
record_emulated units.data ./units
"$csprof" decode -q -i units.data --format script -o units.text || exit 1
at=$(llvm-readelf-22 -SW units | sed -n 's/.* \.debug_line *PROGBITS *[^ ]* \([^ ]*\) \([^ ]*\) .*/0x\1 0x\2/p')
python3 - units $at <<'END'
import struct, sys
name, at, size = sys.argv[1], int(sys.argv[2], 16), int(sys.argv[3], 16)
data = bytearray(open(name, 'rb').read())
end, number = at + size, 0
while at < end:
    if number % 2 == 0:
        struct.pack_into('<H', data, at + 4, 77)
    at += 4 + struct.unpack_from('<I', data, at)[0]
    number += 1
open(name, 'wb').write(data)
END
for threads in 1 2 7; do
    "$csprof" gen --no-cache -b units -i units.data -o got --threads $threads 2>units.told.$threads || fail "no profile: $(cat units.told.$threads)"
    "$csprof" gen -b units --perfscript units.text -o got --threads $threads 2>>units.told.$threads || fail "no profile: $(cat units.told.$threads)"
    "$csprof" gen --no-cache -b units -i units.data -i data1 -o got --threads $threads 2>>units.told.$threads && fail "a profile of another program's samples"
    cmp -s units.told.1 units.told.$threads && continue
    fail "$threads threads: line tables that cannot be read"
    diff units.told.1 units.told.$threads
done
[ "$(grep -c 'unsupported version 77' units.told.1)" -gt 6 ] || fail "hardly anything was said of line tables"
[ "$(grep -c '^ *[0-9]*:' one.cs)" -gt 5 ] || fail "hardly anything was compared"
exit $failed
