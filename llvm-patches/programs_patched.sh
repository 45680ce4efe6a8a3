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
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-pie -no-pie -w "--ld-path=$(command -v ld.lld-22)")

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# compile COMPILER PROGRAM BUILD: into $work/BUILD/PROGRAM
compile() {
    local compiler=$1 program=$2 build=$3
    case $program in
    mill) "$compiler" "${flags[@]}" -o "$build/$program" "$root/demo/mill/unity.c" -lm ;;
    *) cp "$(CC=$compiler "$programs/$program" "${build/debian/profiled}")" "$build/$program" ;;
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
    mkdir -p debian patched rebuilt
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
    # The patched build without its call probes: where csprof rebuilds them, the only difference that
    # can be left to the patched build is in how it does that.
    "$here/without_call_probes.py" "patched/$program" "rebuilt/$program"
    echo "$program: same code, $tables indirect jumps; $(wc -l <"patched/$program.calls") call" \
        "probes as csprof rebuilds them; block probes: $(wc -l <"debian/$program.blocks"), of" \
        "which the pass moved or removed" \
        "$(comm -23 "debian/$program.blocks" "patched/$program.blocks" | wc -l) without code"
}

record() {
    local program=$1
    arguments_of "$program"
    cd "$work/debian"
    "$csprof" collect --emulate -q --period 5003 -o "$program.data" -- "./$program" \
        "${arguments[@]}" >"$program.output"
    "$csprof" decode -q -i "$program.data" --format script -o "$program.script"
    cd "$work"
    script=debian/$program.script
}

# gen BUILD PROGRAM OUTPUT OPTION...
gen() {
    "$csprof" gen -q --perfscript "$script" -b "$1/$2" --format text -o "$1/$2.$3" "${@:4}"
}

# csprof's profiles of the builds: equal where the block probes are; else each line has a named cause.
profiles_of_builds() {
    local program=$1 build
    local contexts=(--csspgo-preinliner=0 --csprof-merge-cold-context=0 --gen-cs-nested-profile=0)
    for build in debian patched rebuilt; do
        gen $build "$program" prof
        gen $build "$program" contexts "${contexts[@]}"
    done
    same_lines "rebuilt/$program.prof" "patched/$program.prof" \
        "profiles of $program with the compiler's call probes and with rebuilt ones"
    same_lines "rebuilt/$program.contexts" "patched/$program.contexts" \
        "contexts of $program with the compiler's call probes and with rebuilt ones"
    echo "$program: csprof's profile is the same with rebuilt call probes" \
        "($(wc -l <"patched/$program.prof") lines); with the block probes of the other build" \
        "$(differing "debian/$program.prof" "patched/$program.prof") lines differ, by these probes:"
    "$here/explain_block_probes.py" {debian,patched}/"$program.probes" \
        {debian,patched}/"$program.contexts" || fail "unexplained differences of $program"
}

profiles_of_tools() {
    local program=$1
    local exact=(--csspgo-preinliner=0 --format text)
    gen patched "$program" compat.prof --compat llvm-profgen-22 "${exact[@]}"
    "$out/bin/llvm-profgen" "${exact[@]}" --perfscript="$script" --binary="patched/$program" \
        --output="patched/$program.llvm.prof" 2>"patched/$program.llvm.log"
    "$out/bin/llvm-profgen" "${exact[@]}" --gen-cs-nested-profile=0 --perfscript="$script" \
        --binary="patched/$program" --output="patched/$program.llvm.contexts" 2>/dev/null
    local contexts
    contexts=$(grep -c '^\[.* @ ' "patched/$program.llvm.contexts" || true)
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
        "$differ differ from csprof's"
}

# number_of NAME REPORT: a number of csprof's report; of several, the last one
number_of() {
    sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$2"
}

# Each call stack with the branch stack of another sample: both tools must see it in the same samples,
# and in none of the recording as it is. llvm-profgen first drops those whose callchain was taken at an
# edge of a function, so csprof is asked how many it rejects when it drops these, too.
mismatch() {
    local program=$1 ours theirs report
    cd "$work"
    report=patched/$program.shifted.json
    awk '/^ 0x/ { if (held) print held; else print; held = $0; next } { print }' "$script" \
        >"patched/$program.shifted"
    ! grep -q 'newest branch target' "patched/$program.llvm.log" ||
        fail "samples of the recording of $program are taken for bogus"
    theirs=$("$out/bin/llvm-profgen" --format text --perfscript="patched/$program.shifted" \
        --binary="patched/$program" --output="patched/$program.none" 2>&1 |
        sed -n 's/^warning: [0-9.]*%(\([0-9]*\).*newest branch target.*/\1/p')
    "$csprof" gen --json --validate leaf,prologue --perfscript "patched/$program.shifted" \
        -b "patched/$program" -o "patched/$program.none" >"$report" 2>/dev/null
    ours=$(($(sed 's/.*"checks"//' "$report" | number_of rejected /dev/stdin) - $(number_of prologue "$report")))
    [ "${theirs:-0}" -gt 0 ] && [ "$theirs" = "$ours" ] ||
        fail "of the shifted samples of $program llvm-profgen rejects ${theirs:-none}, csprof $ours"
    echo "$program: with branch stacks shifted by one sample, both reject $theirs of" \
        "$(grep -c '^ 0x' "patched/$program.shifted") samples"
}

csprof=$root/build/release/csprof
probes_dump=$root/build/release/tests/probes_dump
mkdir -p "$work"
(cd "$root" && cmake --preset release &&
    cmake --build --preset release --parallel "$(nproc)" -- csprof csprof-gen csprof-emulate probes_dump) \
    >"$work/csprof.log" 2>&1 ||
    fail "csprof does not build, see $work/csprof.log"
for program in mill lua sqlite; do
    compare "$program"
    record "$program"
    profiles_of_builds "$program"
    profiles_of_tools "$program"
    mismatch "$program"
done
