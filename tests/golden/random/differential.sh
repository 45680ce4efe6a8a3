#!/usr/bin/env bash
# differential.sh ARCHITECTURE: random programs and random samples (some of them broken): csprof
# writes what llvm-profgen writes. CSPROF_RANDOM_PROGRAMS says how many (default 3),
# CSPROF_RANDOM_SEED where to begin (default 1): a failure names its seed.
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../programs.sh"
architecture=$1
require clang-22 llc-22 ld.lld-22 llvm-objcopy-22 llvm-readelf-22 llvm-objdump-22 llvm-profgen-22 python3
first=${CSPROF_RANDOM_SEED:-1}
builds=(probed plain)
[ "$architecture" = aarch64 ] || builds=(probed) # elsewhere Clang writes probes of calls itself
last=$((first + ${CSPROF_RANDOM_PROGRAMS:-3} - 1))
cd "$scratch"
programs=. # names made unique must not depend on the scratch folder
program_flags+=(-w)

# build SEED: plain/program and probed/program
build() {
    python3 "$here/program.py" "$1" >"$scratch/random.c"
    if [ "$architecture" = aarch64 ]; then
        build_both random.c
        return
    fi
    mkdir -p "$scratch/probed"
    compile random.c --target=x86_64-linux-gnu -c -o "$scratch/plain.o"
    ld.lld-22 -o "$scratch/probed/program" "$scratch/plain.o"
}

# compare SEED NAME OPTION...: the options are llvm-profgen's
compare() {
    local seed=$1 name=$2 build
    shift 2
    llvm-profgen-22 --perfscript="$scratch/program.script" --binary="$scratch/probed/program" \
        --output="$scratch/want" --format=text "$@" 2>"$scratch/llvm-profgen.log" ||
        fail "seed $seed: llvm-profgen: $(grep error: "$scratch/llvm-profgen.log")"
    for build in "${builds[@]}"; do
        gen "$scratch/$build/program" "$scratch/got" --compat llvm-profgen-22 --format=text "$@"
        diff -u "$scratch/want" "$scratch/got" >"$scratch/difference" && continue
        head -n 40 "$scratch/difference"
        fail "seed $seed, $architecture, $build build, $name: not what llvm-profgen writes"
    done
}

for ((seed = first; seed <= last; seed++)); do
    build "$seed"
    python3 "$here/walk.py" "$scratch/probed/program" "$seed" 200 $((seed % 4 * 10)) >"$scratch/program.script"
    compare "$seed" nested --csspgo-preinliner=0 --gen-cs-nested-profile=1
    compare "$seed" unnested --csspgo-preinliner=0 --gen-cs-nested-profile=0
    sed -i '/^\t/d' "$scratch/program.script" # no frames: no contexts
    compare "$seed" flat
done
echo "$architecture: programs $first to $last, three profiles each: all equal"
