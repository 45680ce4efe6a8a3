#!/usr/bin/env bash
# against_llvm_profgen.sh SOURCE: from the same samples csprof writes what llvm-profgen writes from a
# build with probes of calls, byte for byte; and the same again from Clang's own build without them.
source "$(dirname "$0")/programs.sh"
require clang-22 llc-22 ld.lld-22 llvm-objcopy-22 llvm-readelf-22 llvm-profgen-22 qemu-aarch64

build_both "$1"
sample
for nested in 1 0; do
    options=(--csspgo-preinliner=0 --gen-cs-nested-profile=$nested --format=text)
    want=$scratch/want.$nested
    llvm-profgen-22 --perfscript="$scratch/program.script" --binary="$scratch/probed/program" \
        --output="$want" "${options[@]}" 2>"$scratch/llvm-profgen.log" ||
        fail "llvm-profgen: $(cat "$scratch/llvm-profgen.log")"
    for build in probed plain; do
        got=$scratch/got.$nested.$build
        gen "$scratch/$build/program" "$got" --compat llvm-profgen-22 "${options[@]}"
        diff -u "$want" "$got" >"$scratch/difference" && continue
        head -n 40 "$scratch/difference"
        fail "$1, $build build, nested=$nested: not what llvm-profgen writes"
    done
    echo "$1, nested=$nested: both builds equal, $(wc -l <"$want") lines"
done
# Without contexts the two would be equal too easily.
contexts=$(grep -c '^\[.* @ ' "$scratch/want.0") || true
[ "$contexts" -ge 5 ] || fail "$1: only $contexts contexts: the comparison shows little"
