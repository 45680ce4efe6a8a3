# For the tests beside this file: builds the AArch64 programs of programs/ and samples them.
#
# Clang 22 has no machine pass that writes probes of calls on AArch64, so llvm-profgen finds no
# contexts in what it builds. The pass itself is in LLVM: run by hand over the machine code it gives
# the file that llvm-profgen needs. Each program is built both ways, with the same instructions.
set -euo pipefail
programs=$CSPROF_SOURCE/tests/golden/programs
. "$CSPROF_SOURCE/tests/script.sh"
scratch=$work

profile_flags=(--target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling
    -fpseudo-probe-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer)
# -fno-jump-tables: the machine code's text form cannot hold them. The rest: no C or C++ library.
program_flags=(-fno-jump-tables -fPIC -ffreestanding -Wall -Wextra -Werror)

fail() { # the first difference ends the test
    echo "FAILED: $*" >&2
    exit 1
}

# compile SOURCE ARGUMENT...: with the right language and the flags of a build to be profiled
compile() {
    local source=$programs/$1
    shift
    case $source in
    *.cc) set -- -fno-exceptions -fno-rtti -fno-threadsafe-statics "$@" ;;
    esac
    clang-22 "${profile_flags[@]}" "${program_flags[@]}" "$@" "$source"
}

# add_call_probes BITCODE OBJECT
add_call_probes() {
    local llc=(llc-22 -O2 --frame-pointer=all -relocation-model=pic)
    "${llc[@]}" -stop-after=stack-frame-layout "$1" -o "$scratch/before.mir"
    "${llc[@]}" -run-pass=pseudo-probe-inserter "$scratch/before.mir" -o "$scratch/after.mir"
    "${llc[@]}" -start-after=stack-frame-layout -filetype=obj "$scratch/after.mir" -o "$2"
}

code_of() {
    llvm-objcopy-22 -O binary --only-section=.text "$1" "$1.code"
    llvm-readelf-22 -SW "$1" | sed -n 's/.* \.text  *//p' >>"$1.code" # and where it lies
    echo "$1.code"
}

# build_both SOURCE: plain/program is what Clang builds; probed/program has the probes of calls too.
# They have one name, because llvm-profgen finds a program's mapping by its file name.
build_both() {
    mkdir -p "$scratch/plain" "$scratch/probed"
    compile "$1" -c -o "$scratch/plain.o"
    compile "$1" -c -emit-llvm -o "$scratch/probed.bc"
    add_call_probes "$scratch/probed.bc" "$scratch/probed.o"
    for build in plain probed; do
        ld.lld-22 --build-id -o "$scratch/$build/program" "$scratch/$build.o"
    done
    cmp "$(code_of "$scratch/plain/program")" "$(code_of "$scratch/probed/program")" ||
        fail "$1: the builds with and without probes of calls differ in their code"
}

# sample: records plain/program and writes its hybrid samples as llvm-profgen's text
sample() {
    local status=0
    "$CSPROF" collect -q --emulate --window 300 --period 997 \
        -o "$scratch/program.data" -- "$scratch/plain/program" || status=$?
    [ "$status" -lt 128 ] || fail "the recorded program ended with status $status"
    "$CSPROF" decode -q -i "$scratch/program.data" --format script -o "$scratch/program.script"
    [ "$(grep -c '^ 0x' "$scratch/program.script")" -gt 20 ] || fail "hardly any sample was recorded"
}

# gen BINARY OUTPUT OPTION...: csprof's profile of those samples
gen() {
    local binary=$1 output=$2
    shift 2
    "$CSPROF" gen -q --perfscript "$scratch/program.script" -b "$binary" -o "$output" "$@"
}
