#!/usr/bin/env bash
# differential.sh ARCHITECTURE [PROGRAMS]: random programs and random samples (some of them broken):
# csprof writes what llvm-profgen writes. Programs are compiled and compared some at a time, each with
# samples of its own. CSPROF_RANDOM_PROGRAMS says how many instead, CSPROF_RANDOM_SEED where to begin
# (default 1): a failure names its seeds.
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../programs.sh"
architecture=$1
needs clang-22 llc-22 ld.lld-22 llvm-objcopy-22 llvm-readelf-22 llvm-objdump-22 llvm-profgen-22 python3
first=${CSPROF_RANDOM_SEED:-1}
last=$((first + ${CSPROF_RANDOM_PROGRAMS:-${2:-25}} - 1))
at_a_time=25 samples=80
builds=(probed plain)
[ "$architecture" = aarch64 ] || builds=(probed) # elsewhere Clang writes probes of calls itself
cd "$scratch"
programs=. # names made unique must not depend on the scratch folder
program_flags+=(-w)

# build SEED COUNT: plain/program and probed/program
build() {
    python3 "$here/program.py" "$1" "$2" >"$scratch/random.c"
    if [ "$architecture" = aarch64 ]; then
        build_both random.c
        return
    fi
    local levels=(-O1 -O2 -Os)
    mkdir -p "$scratch/probed"
    compile random.c --target=x86_64-linux-gnu "${levels[$1 / at_a_time % 3]}" -c -o "$scratch/plain.o"
    ld.lld-22 -o "$scratch/probed/program" "$scratch/plain.o" 2>/dev/null
}

# compare NAME OPTION...: the options are llvm-profgen's
compare() {
    local name=$1 build
    shift
    llvm-profgen-22 --perfscript="$scratch/program.script" --binary="$scratch/probed/program" \
        --output="$scratch/want" --format=text "$@" 2>"$scratch/llvm-profgen.log" ||
        fail "programs $seeds: llvm-profgen: $(grep error: "$scratch/llvm-profgen.log")"
    for build in "${builds[@]}"; do
        gen "$scratch/$build/program" "$scratch/got" --compat llvm-profgen-22 --format=text "$@"
        diff -u "$scratch/want" "$scratch/got" >"$scratch/difference" && continue
        head -n 40 "$scratch/difference"
        fail "programs $seeds, $architecture, $build build, $name: not what llvm-profgen writes"
    done
}

for ((seed = first; seed <= last; seed += at_a_time)); do
    count=$((last - seed + 1 < at_a_time ? last - seed + 1 : at_a_time))
    seeds="$seed to $((seed + count - 1))"
    build "$seed" "$count"
    python3 "$here/walk.py" "$scratch/probed/program" "$seed" "$count" $samples >"$scratch/program.script"
    compare nested --csspgo-preinliner=0 --gen-cs-nested-profile=1
    compare unnested --csspgo-preinliner=0 --gen-cs-nested-profile=0
    compare preinlined
    compare lines --use-dwarf-correlation --csspgo-preinliner=0 --gen-cs-nested-profile=0
    compare lines-preinlined --use-dwarf-correlation
    sed -i '/^\t/d' "$scratch/program.script" # no frames: no contexts
    compare flat
    compare lines-flat --use-dwarf-correlation
done
echo "$architecture: programs $first to $last, $samples samples and seven profiles each: all equal"
