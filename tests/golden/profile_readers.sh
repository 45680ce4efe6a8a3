#!/usr/bin/env bash
# profile_readers.sh SOURCE: Clang and llvm-profdata accept every profile that csprof can write of it.
source "$(dirname "$0")/programs.sh"
needs clang-22 llc-22 ld.lld-22 llvm-objcopy-22 llvm-readelf-22 llvm-profdata-22 qemu-aarch64

build_both "$1"
sample

# reads FILE WHAT: neither a reader's error nor its warning
reads() {
    llvm-profdata-22 show --sample "$1" >"$scratch/shown" 2>&1 ||
        fail "$2: llvm-profdata: $(tail -n 3 "$scratch/shown")"
    grep -q '^Function: ' "$scratch/shown" || fail "$2: llvm-profdata sees no function in it"
    compile "${source_file:?}" -c -fprofile-sample-use="$1" -Rpass=sample-profile-inline \
        -Wno-error -o "$scratch/rebuilt.o" 2>"$scratch/clang.log" ||
        fail "$2: Clang: $(tail -n 3 "$scratch/clang.log")"
    if grep -E '(warning|error):' "$scratch/clang.log"; then
        fail "$2: Clang warns about the profile"
    fi
}

source_file=$1
for format in text extbinary; do
    gen "$scratch/plain/program" "$scratch/flat" --mode flat --format=$format
    reads "$scratch/flat" "flat $format"
    for nested in 1 0; do
        gen "$scratch/plain/program" "$scratch/contexts" --gen-cs-nested-profile=$nested --format=$format
        reads "$scratch/contexts" "contexts, nested=$nested, $format"
    done
done

# LLVM's plain binary form has no place for probes: refused, and nothing is left behind.
for mode in cs flat; do
    rm -f "$scratch/refused"
    if gen "$scratch/plain/program" "$scratch/refused" --mode $mode --format=binary \
        2>"$scratch/refusal"; then
        fail "$mode: probes were written in the plain binary form"
    fi
    grep -q extbinary "$scratch/refusal" || fail "$mode: the refusal does not name extbinary"
    [ ! -e "$scratch/refused" ] || fail "$mode: the refusal left a file"
done
echo "$1: six kinds of profile are read by Clang and llvm-profdata"
