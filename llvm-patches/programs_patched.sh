#!/usr/bin/env bash
# programs_patched.sh DIRECTORY: for ./test. Builds the demo, Lua and SQLite with Debian's clang and
# with the patched one in DIRECTORY/bin, and compares.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
out=$1
work=$out/programs
programs=$root/bench/programs
flags=(--target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -w "--ld-path=$(command -v ld.lld-22)")

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# compile COMPILER PROGRAM BUILD: into $work/BUILD/PROGRAM
compile() {
    local compiler=$1 program=$2 build=$3
    case $program in
    mill) "$compiler" "${flags[@]}" -o "$build/$program" "$root/demo/mill/unity.c" -lm ;;
    *) cp "$(CSPROF_PROGRAMS=$work/built CC=$compiler "$programs/$program" "$build")" \
        "$build/$program" ;;
    esac
}

# arguments_of PROGRAM: of the run that is recorded
arguments_of() {
    case $1 in
    mill) arguments=("$root/demo/recorded.mill" 1) ;;
    lua) arguments=("$programs/inputs/recorded.lua") ;;
    sqlite) arguments=(:memory: ".read $programs/inputs/recorded.sql") ;;
    esac
}

same_lines() {
    cmp -s "$1" "$2" || fail "$3: $(diff "$1" "$2" | grep -c '^[<>]') lines differ: diff $1 $2"
}

# differing FILE FILE: number of lines that only one of them has, in any order
differing() {
    diff <(sort "$1") <(sort "$2") | grep -c '^[<>]' || true
}

compare() {
    local program=$1 build
    cd "$work"
    mkdir -p debian patched
    compile clang-22 "$program" debian
    compile "$out/bin/clang" "$program" patched
    for build in debian patched; do
        # All but the probes: code, jump tables, debug information, symbols.
        llvm-objcopy-22 -R .pseudo_probe -R .note.gnu.build-id "$build/$program" \
            "$build/$program.rest"
        "$probes_dump" "$build/$program" >"$build/$program.probes" 2>/dev/null
        grep -E ' (direct|indirect) ' "$build/$program.probes" | sort >"$build/$program.calls"
        grep ' block ' "$build/$program.probes" | sort >"$build/$program.blocks"
    done
    same_lines "debian/$program.rest" "patched/$program.rest" "code of $program"
    local tables
    tables=$(llvm-objdump-22 -d "patched/$program" | grep -c $'\tbr\tx')
    [ "$tables" -gt 0 ] || fail "$program has no jump tables"
    [ -s "patched/$program.calls" ] || fail "$program has no call probes"
    same_lines "debian/$program.calls" "patched/$program.calls" "call probes of $program"
    echo "$program: same code, $tables indirect jumps; $(wc -l <"patched/$program.calls") call" \
        "probes as csprof rebuilds them; block probes: $(wc -l <"debian/$program.blocks"), of" \
        "which the pass moved or removed" \
        "$(comm -23 "debian/$program.blocks" "patched/$program.blocks" | wc -l) without code"
}

profile() {
    local program=$1
    arguments_of "$program"
    cd "$work/debian"
    "$csprof" collect --emulate -q --period 5003 -o "$program.data" -- "./$program" \
        "${arguments[@]}" >"$program.output"
    "$csprof" decode -q -i "$program.data" --format script -o "$program.script"
    cd "$work"
    local script=debian/$program.script build
    for build in debian patched; do
        "$csprof" gen -q --perfscript "$script" -b "$build/$program" --format text \
            -o "$build/$program.prof"
    done
    local exact=(--csspgo-preinliner=0 --format text)
    "$csprof" gen -q --compat llvm-profgen-22 "${exact[@]}" --perfscript "$script" \
        -b "patched/$program" -o "patched/$program.compat.prof"
    "$out/bin/llvm-profgen" "${exact[@]}" --perfscript="$script" --binary="patched/$program" \
        --output="patched/$program.llvm.prof" 2>"patched/$program.llvm.log"
    "$out/bin/llvm-profgen" "${exact[@]}" --gen-cs-nested-profile=0 --perfscript="$script" \
        --binary="patched/$program" --output="patched/$program.contexts" 2>/dev/null
    local contexts
    contexts=$(grep -c '^\[.* @ ' "patched/$program.contexts" || true)
    [ "$contexts" -gt 0 ] || fail "the patched llvm-profgen finds no contexts in $program"
    # Code that has lost its place in the inline tree has its probes in a record at the symbol that
    # it is under, and llvm-profgen, patched or not, loses some of them. In SQLite there are two
    # such functions with samples; that is 1 line in 1000.
    local lines differ
    lines=$(wc -l <"patched/$program.llvm.prof")
    differ=$(differing "patched/$program.compat.prof" "patched/$program.llvm.prof")
    [ $((differ * 500)) -le "$lines" ] ||
        fail "profiles of $program: $differ of $lines lines differ:" \
            "diff $work/patched/$program.{compat,llvm}.prof"
    echo "$program: of $lines lines of the patched llvm-profgen's profile ($contexts contexts)" \
        "$differ differ from csprof's; csprof's of the two builds:" \
        "$(wc -l <"patched/$program.prof") lines, $(differing "debian/$program.prof" \
            "patched/$program.prof") differ by those block probes"
}

# Each call stack with the branch stack of another sample: the check must see it, and see nothing in
# the recording as it is. csprof also rejects those that llvm-profgen drops as taken in a prologue, so
# it rejects more.
mismatch() {
    local program=$1 ours theirs
    cd "$work"
    awk '/^ 0x/ { if (held) print held; else print; held = $0; next } { print }' \
        "debian/$program.script" >"patched/$program.shifted"
    ! grep -q 'newest branch target' "patched/$program.llvm.log" ||
        fail "samples of the recording of $program are taken for bogus"
    theirs=$("$out/bin/llvm-profgen" --format text --perfscript="patched/$program.shifted" \
        --binary="patched/$program" --output="patched/$program.none" 2>&1 |
        sed -n 's/^warning: [0-9.]*%(\([0-9]*\).*newest branch target.*/\1/p')
    ours=$("$csprof" gen --json --perfscript "patched/$program.shifted" -b "patched/$program" \
        -o "patched/$program.none" 2>/dev/null |
        sed -n 's/.*"checks": .*"rejected": \([0-9]*\).*"broken".*/\1/p')
    [ "${theirs:-0}" -gt 0 ] && [ "$theirs" -le "$ours" ] ||
        fail "of the shifted samples of $program llvm-profgen rejects ${theirs:-none}, csprof $ours"
    echo "$program: with branch stacks shifted by one sample, llvm-profgen rejects $theirs, csprof $ours"
}

csprof=$root/build/release/csprof
probes_dump=$root/build/release/tests/probes_dump
mkdir -p "$work"
(cd "$root" && cmake --preset release &&
    cmake --build --preset release --parallel "$(nproc)") >"$work/csprof.log" 2>&1 ||
    fail "csprof does not build, see $work/csprof.log"
for program in mill lua sqlite; do
    compare "$program"
    profile "$program"
    mismatch "$program"
done
