#!/usr/bin/env bash
# programs_patched.sh DIRECTORY: for ./test. Builds the demo, Lua and SQLite with Debian's clang and
# with the patched one in DIRECTORY/bin, and compares.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
out=$1
work=$out/programs
. "$here/debian_source.sh"
flags=(--target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -w "--ld-path=$(command -v ld.lld-22)")

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# unpack PACKAGE: its source from Debian, in $work/PACKAGE
unpack() {
    [ -f "$work/$1/unpacked" ] && return
    rm -rf "${work:?}/$1"
    mkdir -p "$work/$1"
    debian_source "$work/$1" bookworm "$1" || fail "cannot get the source of $1, see $work/$1/apt/log"
    tar -xf "$(find "$work/$1" -maxdepth 1 -name '*.orig.tar.*')" -C "$work/$1" --strip-components=1
    touch "$work/$1/unpacked"
}

sqlite_amalgamation() {
    unpack sqlite3
    [ -f "$work/sqlite3/one/shell.c" ] && return
    mkdir -p "$work/sqlite3/one"
    (cd "$work/sqlite3/one" && ../configure --disable-tcl && make sqlite3.c shell.c) \
        >"$work/sqlite3/log" 2>&1 || fail "cannot make sqlite3.c, see $work/sqlite3/log"
}

compile() {
    local compiler=$1 program=$2 output=$3
    case $program in
    mill) "$compiler" "${flags[@]}" -o "$output" "$root/demo/mill/unity.c" -lm ;;
    lua) "$compiler" "${flags[@]}" -std=gnu99 -DLUA_USE_POSIX -o "$output" \
        $(find "$work/lua5.4/src" -name 'l*.c' ! -name luac.c | sort) -lm ;;
    sqlite3) "$compiler" "${flags[@]}" -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION \
        -o "$output" "$work/sqlite3/one/sqlite3.c" "$work/sqlite3/one/shell.c" -lm ;;
    esac
}

# run PROGRAM ARGUMENT...: what is recorded
arguments_of() {
    case $1 in
    mill) arguments=("$root/demo/recorded.mill" 1) ;;
    lua) arguments=("$work/workload.lua") ;;
    sqlite3) arguments=(:memory: ".read $work/workload.sql") ;;
    esac
}

write_workloads() {
    cat >"$work/workload.lua" <<'END'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t, words = {}, {}
for i = 1, 3000 do t[i] = (i * 7919) % 1009 end
table.sort(t)
for i = 1, 400 do words[#words + 1] = string.format("%d:%s", t[i], ("x"):rep(i % 7)) end
local sum = 0
for digits in table.concat(words, " "):gmatch("%d+") do sum = sum + digits end
print(fib(18), sum, #t, pcall(error, "e"))
END
    cat >"$work/workload.sql" <<'END'
create table t(a, b, c);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
insert into t select i, i * 7919 % 1009, hex(i) from n;
create index x on t(b);
select count(*), sum(a) from t where b between 100 and 500;
select c, count(*) from t group by b % 10 order by 2, 1;
select json_group_array(b) from (select b from t limit 50);
END
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
    compile clang-22 "$program" "debian/$program"
    compile "$out/bin/clang" "$program" "patched/$program"
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
        sed -n 's/.*"leaf_mismatch": \([0-9]*\).*/\1/p')
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
write_workloads
unpack lua5.4
sqlite_amalgamation
for program in mill lua sqlite3; do
    compare "$program"
    profile "$program"
    mismatch "$program"
done
