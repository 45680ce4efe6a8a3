#!/usr/bin/env bash
# against_llvm_profgen.sh SOURCE: from the same samples csprof writes what llvm-profgen writes from a
# build with probes of calls, byte for byte; and the same again from Clang's own build without them.
source "$(dirname "$0")/programs.sh"
needs clang-22 llc-22 ld.lld-22 llvm-objcopy-22 llvm-readelf-22 llvm-profgen-22 qemu-aarch64

build_both "$1"
sample
preinliner=(--csspgo-preinliner=1 --sample-profile-cold-inline-threshold=40
    --sample-profile-inline-growth-limit=3)
# compare NAME OPTION...
compare() {
    local name=$1 want=$scratch/want.$1 got
    shift
    llvm-profgen-22 --perfscript="$scratch/program.script" --binary="$scratch/probed/program" \
        --output="$want" --format=text "$@" 2>"$scratch/llvm-profgen.log" ||
        fail "llvm-profgen: $(cat "$scratch/llvm-profgen.log")"
    for build in probed plain; do
        got=$scratch/got.$name.$build
        gen "$scratch/$build/program" "$got" --compat llvm-profgen-22 --format=text "$@"
        diff -u "$want" "$got" >"$scratch/difference" && continue
        head -n 40 "$scratch/difference"
        fail "$source, $build build, $name: not what llvm-profgen writes"
    done
    echo "$source, $name: both builds equal, $(wc -l <"$want") lines"
}
source=$1
compare nested --csspgo-preinliner=0
compare contexts --csspgo-preinliner=0 --gen-cs-nested-profile=0
compare preinlined
compare preinlined-contexts --gen-cs-nested-profile=0
compare preinlined-little --gen-cs-nested-profile=0 "${preinliner[@]}"
compare preinlined-as-before --gen-cs-nested-profile=0 --csspgo-replay-preinline
compare lines-flat --use-dwarf-correlation --ignore-stack-samples
compare lines-contexts --use-dwarf-correlation --csspgo-preinliner=0 --gen-cs-nested-profile=0
compare lines-preinlined --use-dwarf-correlation --gen-cs-nested-profile=0
# Without contexts the two would be equal too easily.
contexts=$(grep -c '^\[.* @ ' "$scratch/want.contexts") || true
[ "$contexts" -ge 5 ] || fail "$source: only $contexts contexts: the comparison shows little"
