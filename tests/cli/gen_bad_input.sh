#!/bin/bash
# `csprof gen` with what it cannot use: the documented exit code, one message that says what is wrong
# and what to do, and no output file.
set -u
command=gen
. "${CSPROF_SOURCE:?}/tests/cli/expect_failure.sh"

needs clang-22 ld.lld-22 llvm-strip-22 llvm-nm-22 llvm-objdump-22 llvm-readelf-22
cat >program.c <<'END'
static __attribute__((noinline)) int callee(int n) { n *= FACTOR; __asm__ volatile("" ::"r"(n)); return n; }
static void exit_now(void) { __asm__ volatile("mov x8, #94\n mov x0, #0\n svc #0"); }
void _start(void) { for (volatile int i = 0; i < 300000; i++) callee(i); exit_now(); }
END
build() { # NAME FLAG...
    clang-22 --target=aarch64-linux-gnu -O2 -fuse-ld=lld-22 -nostdlib -static -fno-omit-frame-pointer \
        -Wl,--build-id -DFACTOR=${FACTOR:-3} -o "$@" program.c || { echo "FAILED: cannot build $1"; exit 1; }
}
probes=(-gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling)
build good "${probes[@]}"
build without-probes
build without-lines -fpseudo-probe-for-profiling
llvm-strip-22 -o stripped good
clang-22 --target=aarch64-linux-gnu -c -DFACTOR=3 "${probes[@]}" -o object.o program.c
: >empty
echo 'neither samples nor a program' >text
head -c 3000 good >cut
mkdir folder
ln -s circle circle

# A sample in _start of `good` that its history says came from a call.
script_of() { # BINARY: a text with one sample
    local start call
    start=$(llvm-nm-22 "$1" | sed -n 's/^0*\([0-9a-f]*\) . _start$/\1/p')
    call=$(llvm-objdump-22 -d --no-show-raw-insn --disassemble-symbols=_start "$1" |
        sed -n 's/^ *\([0-9a-f]*\):.*\tbl\t.*/\1/p' | head -n 1)
    printf '\n\t%s\n 0x%s/0x%s/P/-/-/0  0x%s/0x%s/P/-/-/0\n' \
        "$start" "$call" "$start" "$call" "$start"
}
script_of good >script
script_of without-lines >script-without-lines
printf '\n\t400000\n 0x400004/0x400000/P/-/-/0\n' >elsewhere
printf '\n\t400000\n\n\t400000\n' >no-branches

expect 2 "there is no option '--bogus'" --bogus
expect 2 'needs a value' -i
expect 2 "one of text extbinary binary aggregate" --format pretty
expect 2 "one of auto cs flat dwarf-cs dwarf-flat" --mode round
expect 2 'takes llvm-profgen-22' --compat gcc
expect 2 'cannot be .many.' --max-search-depth many
expect 2 'cannot be .0.' --csprof-max-cold-context-depth 0
expect 2 'name it with -b' --perfscript script
expect 2 'do not go together' --perfscript script --unsymbolized-profile data -b good
expect 2 'goes with --perfscript' --data-access-perftrace text -i data -b good
expect 2 'text and extbinary only' --perfscript script -b good --format binary

expect 2 'what BOLT reads is made of samples' --format fdata --compat llvm-profgen-22 \
    --perfscript script -b good

expect 3 'nowhere: No such file' --perfscript nowhere -b good
expect 3 'nowhere: No such file' --perfscript script -b nowhere
expect 3 'circle: Too many levels of symbolic links' --perfscript circle -b good
expect 3 'folder: is a directory' --perfscript script -b folder
expect 3 'is no ELF file' --perfscript script -b text
expect 3 'is no ELF file' --perfscript script -b empty
expect 3 'cut' --perfscript script -b cut
expect 3 'neither an executable nor a shared object' --perfscript script -b object.o
expect 3 'without-probes has neither pseudo-probes nor debug information: .*-fpseudo-probe-for-profiling' \
    --perfscript script -b without-probes
expect 3 'is stripped' --perfscript script -b stripped
expect 3 '-gmlt -fdebug-info-for-profiling' --perfscript script-without-lines -b without-lines
expect 3 'no sample with branches' --perfscript text -b good
expect 3 'no sample with branches' --perfscript empty -b good
expect 3 'no sample with branches' --perfscript no-branches -b good
printf 'PERFILE2 and so on' >recording
expect 3 'is a recording, and no text with samples: give it with -i' --perfscript recording -b good
expect 3 'outside the binary' --perfscript elsewhere -b good
expect 3 'csprof.data: No such file'
expect 3 'not a perf.data file' -i text

# An error in JSON is an object with one member, and the only thing printed.
"$csprof" gen --json --perfscript script -b stripped -o output >printed 2>/dev/null
[ $? = 3 ] && grep -q '"error": ".*stripped' printed ||
    fail "no JSON error: $(cat printed)"

# What is right works; without contexts the debug information may be missing.
"$csprof" gen -q --perfscript script -b good -o output --format text 2>messages && [ -s output ] ||
    fail "the good program: $(cat messages)"
"$csprof" gen -q --perfscript script-without-lines -b without-lines --mode flat -o output 2>messages ||
    fail "flat without lines: $(cat messages)"

# At the edges of what a number can be there is a profile, or a message that says that there is none.
for option in $("$csprof" help gen | grep -oE -- '--[a-z-]+ N\b' | cut -d ' ' -f 1 | sort -u); do
    for number in 0 -1 1 2147483647 18446744073709551615; do
        rm -f output
        "$csprof" gen -q --perfscript script -b good -o output --csspgo-preinliner=0 --csprof-merge-cold-context \
            --profile-summary-hot-count 100 "$option=$number" 2>messages
        case $? in
        0) [ -s output ] || fail "gen $option=$number: no profile" ;;
        2 | 3) [ -s messages ] || fail "gen $option=$number: no message" ;;
        *) fail "gen $option=$number: $(cat messages)" ;;
        esac
    done
done

# BOLT needs neither probes nor lines.
"$csprof" gen -q --perfscript script -b good -o preagg --format preagg 2>messages &&
    "$csprof" gen -q --perfscript script -b without-probes -o output --format preagg 2>messages &&
    cmp -s preagg output || fail "BOLT without probes: $(cat messages)"

# What BOLT reads needs no debug information, so a damaged line table is nobody's concern, with any
# number of threads. A profile needs it.
lines_at=$(llvm-readelf-22 -SW good | sed -n 's/.* \.debug_line  *PROGBITS  *[0-9a-f]*  *\([0-9a-f]*\) .*/\1/p')
cp good damaged-lines
printf '\377' | dd of=damaged-lines bs=1 seek=$((0x$lines_at + 4)) conv=notrunc status=none # the version
for format in fdata text; do
    for threads in 1 2; do
        "$csprof" gen -q --mode flat --perfscript script -b damaged-lines -o output --format "$format" \
            --threads "$threads" 2>"messages-$format-$threads"
    done
    cmp -s "messages-$format-1" "messages-$format-2" ||
        fail "damaged lines, $format: $(cat "messages-$format-1") / $(cat "messages-$format-2")"
done
grep version messages-fdata-1 && fail 'damaged lines matter to BOLT'
grep -q version messages-text-1 || fail "damaged lines go unnoticed: $(cat messages-text-1)"

# A recording and another build of its program.
if command -v qemu-aarch64 >/dev/null && [ -e "$CSPROF_BUILD/csprof-emulate.so" ]; then
    "$csprof" collect -q --emulate -o data -- ./good >/dev/null 2>&1
    # The trace comes last in the file; what is left has samples, and no window for them.
    head -c $(($(stat -c %s data) / 4)) data >cut-short
    expect 3 'belong to no trace window' -i cut-short
    head -c 3000 data >cut-shorter
    expect 3 'cut-shorter' -i cut-shorter
    "$csprof" collect -q --emulate --period 1G -o no-windows -- ./good >/dev/null 2>&1
    expect 3 'no-windows has neither samples .* smaller --period' -i no-windows -b good
    mkdir other && FACTOR=5 build other/good "${probes[@]}"
    expect 3 'its build-id is .* in data it is' -i data -b other/good
    # Which binary is wanted comes before what another one lacks.
    "$csprof" gen -q -i data -b good --format aggregate -o aggregate || fail 'no aggregate'
    FACTOR=5 build other/unlike
    mkdir lacking
    for file in other/good other/unlike; do llvm-strip-22 -o "lacking/${file#*/}" $file; done
    FACTOR=5 build lacking/bare
    expect 3 'is not the good that was recorded: its build-id is .* in data it is' -i data -b lacking/good
    expect 3 'has no samples of lacking/unlike .*: most are of a process that runs .*good' -i data -b lacking/unlike
    expect 3 'has no samples of lacking/bare .*: most are of a process that runs .*good' -i data -b lacking/bare
    expect 3 'is of another good than lacking/good: its build-id is .* that of the binary ' \
        -i aggregate -b lacking/good
    expect 3 'stripped is stripped' -i data -b stripped
    expect 3 'stripped is stripped' -i aggregate -b stripped
    command=merge
    expect 3 'is not the good that was recorded' data -b lacking/good
    expect 3 'stripped is stripped' data -b stripped
    command='bundle --scrub'
    expect 3 'is not the good that was recorded' data -b lacking/good
    command=gen
    "$csprof" validate -i data -b lacking/good 2>messages
    [ $? = 3 ] && grep -q 'is not the good that was recorded' messages || fail "validate: $(cat messages)"
    expect 3 'has no samples of without-lines .*: most are of a process that runs .*good' -i data -b without-lines
    "$csprof" decode -q -i data --format script -o script-of-data
    sed -i '/^PERF_RECORD/d' script-of-data
    build shifted "${probes[@]}" -fno-omit-frame-pointer -O0
    expect 3 'is it the build that ran' --perfscript script-of-data -b shifted
    rm good
    expect 3 'good.* is not found here: .*--symfs' -i data
fi
exit $failed
