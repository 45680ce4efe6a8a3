#!/usr/bin/env bash
# A bundle is all that is needed elsewhere: with the binaries gone, the profile of it has the same bytes; and
# a scrubbed one says nothing of the machine.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 zstd tar
needs_emulator
mkdir "$work/secret-site" && cd "$work/secret-site" || exit 1
. "$CSPROF_SOURCE/tests/cli/small_program.sh"
sed -i '1i static volatile const char key[] = "secret-data"; const volatile char *secret(void) { return key; }' program.c
source=$work/secret-site/program.c build program
record data1 1 "$work/secret-site/program"
record data2 2 "$work/secret-site/program"
"$csprof" gen -q -i data1 --format aggregate -o aggregate1 || exit 1
for mode in cs flat dwarf-cs; do
    "$csprof" gen -q -i data1 -i data2 --mode $mode --format text -o ../want.$mode || exit 1
done
"$csprof" bundle -q -o ../recordings data1 data2 || fail "bundle of recordings"
"$csprof" bundle -q -o ../mixed -b program aggregate1 data2 || fail "bundle of both"
"$csprof" bundle -q --scrub -o ../scrubbed data1 data2 || fail "bundle --scrub"
cd "$work" && mv secret-site moved && mkdir elsewhere && cd elsewhere || exit 1
for bundle in recordings mixed scrubbed; do
    for mode in cs flat dwarf-cs; do
        "$csprof" gen -q -i ../$bundle --mode $mode --format text -o got && cmp got ../want.$mode ||
            fail "$bundle, $mode"
    done
    "$csprof" gen -q -i ../$bundle --format aggregate -o $bundle.agg && cmp $bundle.agg recordings.agg ||
        fail "$bundle: another aggregate"
done
grep -c . ../want.cs >/dev/null || fail "an empty profile"
TMPDIR=$work/elsewhere "$csprof" gen -q -i ../recordings -o got && [ -z "$(ls -d csprof-bundle.* 2>/dev/null)" ] || fail "a folder is left"
tar --zstd -tf ../scrubbed >names || fail "tar cannot read it"
grep -q '^program/program$' names || fail "names: $(cat names)"

# Nothing tells of the site.
zstd -dqc ../recordings | grep -qa "secret-site" || fail "a recording has no paths: nothing is shown here"
mkdir unpacked && tar --zstd -xf ../scrubbed -C unpacked
for input in unpacked/input/*; do # blocks are compressed
    "$csprof" gen -q -i "$input" -b unpacked/program/program --format text -o text || fail "$input"
done
for word in secret-site secret-data "$work" "$(hostname)" "$(uname -r)"; do
    [ ${#word} -ge 5 ] || continue # fewer letters are in many a file by chance
    ! zstd -dqc ../scrubbed | grep -qaF "$word" || fail "scrubbed, but it has '$word'"
done
! zstd -dqc ../recordings | grep -qa "secret-data" || fail "a bundle has data of the program"

# expect EXIT PATTERN ARGUMENT...
expect() {
    local want=$1 pattern=$2 got
    shift 2
    "$csprof" "$@" >printed 2>messages
    got=$?
    [ $got = "$want" ] || fail "$*: exit $got, not $want: $(cat messages)"
    grep -q -e "$pattern" messages || fail "$*: no '$pattern' in: $(cat messages)"
}
expect 2 'takes -o FILE' bundle
expect 2 "need the binary too" bundle -o output recordings.agg
expect 2 'a bundle goes alone' gen -i ../recordings -i ../mixed -o output
size=$(stat -c %s ../recordings)
head -c $((size / 2)) ../recordings >cut
expect 3 'cut: offset [0-9]*: ' gen -i cut -o output
cp ../recordings damaged && printf xx | dd of=damaged bs=1 seek=$((size / 2)) conv=notrunc status=none
expect 3 'damaged: offset [0-9]*: ' gen -i damaged -o output
echo | zstd -q >no-archive
expect 3 'no-archive: offset [0-9]*: ' gen -i no-archive -o output
mkdir -p inner && echo x >inner/file && tar --format=ustar --zstd -P -cf leading-out --transform 's|inner/file|../file|' inner/file
expect 3 'leading-out: offset [0-9]*: expected the header of a plain file' gen -i leading-out -o output
[ ! -e output ] || fail "an output is left"
exit $failed
