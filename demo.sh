#!/usr/bin/env bash
# Records an AArch64 program, makes its profile and rebuilds it with that profile, on any Debian 12
# machine: QEMU runs the program and plays the trace unit. Ends with one table.
#
# demo.sh [DIRECTORY]: the programs, recordings and profiles stay in DIRECTORY (default build/demo/run).
set -euo pipefail
cd "$(dirname "$0")"
if [ $# -gt 1 ] || [[ ${1-} == -* ]]; then
    echo "usage: $0 [DIRECTORY]" >&2
    exit 2
fi
mkdir -p "${1:-build/demo/run}"
run=$(cd "${1:-build/demo/run}" && pwd)
source=$PWD/demo
csprof=$PWD/build/demo/csprof
record_times=10 # how often each script is run
measure_times=5
started=$SECONDS
. "$source/counts.sh"

step() {
    printf '%4d s  %s\n' $((SECONDS - started)) "$*"
}

# quietly LOG COMMAND...: shows the log's end when the command fails
quietly() {
    local log=$run/$1.log
    shift
    "$@" >"$log" 2>&1 && return
    echo "demo.sh: this failed: $*" >&2
    tail -n 20 "$log" >&2
    echo "The whole output is in $log" >&2
    exit 1
}

# compile OUTPUT FLAG...: frame pointers for the call stacks, probes and line tables for the profile;
# not position-independent, so that the addresses of the counts are those of the file
compile() {
    local output=$1
    shift
    clang-22 --target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling \
        -fpseudo-probe-for-profiling -funique-internal-linkage-names \
        -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-pie -no-pie -fuse-ld=lld-22 \
        "$@" -o "$run/$output" "$source/mill/unity.c"
}

# number_of KEY FILE: a number from a JSON report
number_of() {
    sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$2" | head -n 1
}

# measure BUILD: runs it on the script that was not recorded
declare -A counts
measure() {
    executed "$csprof" "$run/$1" "$run/$1" "$source/unseen.mill" $measure_times
    counts[$1]="$instructions $taken_branches"
}

row() { # NAME BUILD
    local i b of_i of_b
    read -r i b <<<"${counts[$2]}"
    read -r of_i of_b <<<"${counts[O2]}"
    printf '%-26s %14d %7.1f %% %14d %7.1f %%\n' "$1" "$i" "$(percent "$i" "$of_i")" \
        "$b" "$(percent "$b" "$of_b")"
}

percent() {
    local tenths=$((($1 * 2000 / $2 + 1) / 2))
    echo "$((tenths / 10)).$((tenths % 10))"
}

step "packages: what is missing is installed"
cmake/install-packages.sh build demo
step "csprof is built"
quietly configure cmake --preset release -B build/demo -DCSPROF_TESTS=OFF
quietly build cmake --build build/demo --parallel "$(nproc)"

step "the program is built, -O2"
compile O2
step "it is recorded"
"$csprof" collect -q --emulate -o "$run/csprof.data" -- \
    "$run/O2" "$source/recorded.mill" $record_times >"$run/recorded.output"
step "its profiles are made: with contexts, and flat"
"$csprof" gen --json -i "$run/csprof.data" -o "$run/csprof.prof" >"$run/contexts.json"
"$csprof" decode --json -i "$run/csprof.data" --format none >"$run/decode.json"
"$csprof" gen --json -i "$run/csprof.data" --mode flat -o "$run/flat.prof" >"$run/flat.json"
step "it is rebuilt with each"
compile flat -fprofile-sample-use="$run/flat.prof"
compile contexts -fprofile-sample-use="$run/csprof.prof" -Rpass=sample-profile-inline 2>"$run/remarks"
step "the three builds run a script that was not recorded"
for build in O2 flat contexts; do
    measure $build
    cmp "$run/O2.output" "$run/$build.output" || {
        echo "demo.sh: the $build build gives another result than -O2" >&2
        exit 1
    }
done
step "done; all builds print the same"

samples=$(number_of samples "$run/contexts.json")
stitched=0
for how in exact time order; do
    stitched=$((stitched + $(number_of stitched_$how "$run/decode.json")))
done
cat <<TABLE

samples                    $samples
stitched                   $stitched
rejected                   $((samples - $(number_of used "$run/contexts.json")))
contexts                   $(number_of contexts "$run/contexts.json")
profile bytes              $(wc -c <"$run/csprof.prof") (flat: $(wc -c <"$run/flat.prof"))
inlined for a context      $(grep -c 'to match profiling context' "$run/remarks" || true)

on the script not recorded   instructions                taken branches
TABLE
row "-O2" O2
row "-O2, flat profile" flat
row "-O2, contexts (csprof)" contexts
echo
echo "Everything is in $run"

if ((${counts[contexts]% *} >= ${counts[O2]% *} || ${counts[contexts]% *} >= ${counts[flat]% *})); then
    echo "demo.sh: contexts did not make the program faster here" >&2
    exit 5
fi
