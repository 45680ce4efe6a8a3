#!/usr/bin/env bash
# csprof doctor tells the truth about machines that are described in tests/golden/doctor, about
# programs, and about the machine it runs on. REBASE=1 writes the expected outputs anew.
set -uo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
golden=$CSPROF_SOURCE/tests/golden/doctor
expand() { # FILE: makes $work/tree of it
    rm -rf "$work/tree"
    python3 - "$1" "$work/tree" <<'END'
import os, re, sys
for line in open(sys.argv[1]):
    path, _, text = line.rstrip("\n").partition(" =")
    text = text.strip().encode().decode("unicode_escape")
    many = re.fullmatch(r"(.*)\[(\d+)-(\d+)\](.*)", path)
    files = [(path, text)] if not many else [
        (f"{many[1]}{i}{many[4]}", text.replace("#", str(i)))
        for i in range(int(many[2]), int(many[3]) + 1)]
    for name, content in files:
        name = os.path.join(sys.argv[2], name)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "w") as out:
            out.write(content + "\n")
END
}

machines=0
for description in "$golden"/*.tree; do
    name=$(basename "$description" .tree)
    expand "$description"
    "$CSPROF" doctor --sysfs "$work/tree" >"$work/out" 2>&1
    echo "exit code $?" >>"$work/out"
    [ -z "${REBASE:-}" ] || cp "$work/out" "$golden/$name.txt"
    diff -u "$golden/$name.txt" "$work/out" || fail "$name"
    "$CSPROF" doctor --json --sysfs "$work/tree" >"$work/json"
    python3 - "$work/json" "$work/out" <<'END' || fail "$name: --json"
import json, sys
report, text = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
for name, strategy in report["strategies"].items():
    assert f"  {'yes' if strategy['ready'] else 'no '} {name}" in text, name
    assert strategy["ready"] or strategy["missing"], name + ": missing for no reason"
    assert all(lack["what"] and lack["fix"] for lack in strategy["missing"])
assert report["branch_history"] == ("exit code 0" in text)
END
    machines=$((machines + 1))
done
[ $machines -ge 8 ] || fail "only $machines machines"

# This machine, whatever it is: never an empty success.
"$CSPROF" doctor >"$work/out"
code=$?
case $code in
0) grep -q "can record with --strategy" "$work/out" || fail "success without a strategy" ;;
4) grep -q "fix: " "$work/out" || fail "nothing can be recorded, and nothing is said to help" ;;
*) fail "doctor: exit code $code" ;;
esac

expect() { # CODE TEXT COMMAND...
    local code=$1 text=$2 got=0
    shift 2
    "$@" >"$work/out" 2>&1 || got=$?
    [ $got = "$code" ] || { fail "$*: exit code $got, not $code"; cat "$work/out"; }
    grep -q -- "$text" "$work/out" || { fail "$*: no '$text' in:"; cat "$work/out"; }
}
expect 2 "there is no option '--sysf'" "$CSPROF" doctor --sysf x
expect 2 "needs a value" "$CSPROF" doctor -b
expect 3 "no such directory" "$CSPROF" doctor --sysfs "$work/nowhere"
expect 3 "not an ELF program" "$CSPROF" doctor -b "$0"
expect 3 "cannot open" "$CSPROF" doctor -b "$work/nowhere"

# Programs: each flag that is left out is asked for.
expand "$golden/v3_brbe.tree"
clang=$(command -v clang-22) || { echo "skipped in part: no clang-22"; exit $((failed ? 1 : 77)); }
cd "$work" || exit 1
cat >many.c <<'END'
extern int puts(const char *);
#define F(n) __attribute__((noinline)) int f##n(int x) { return x ? puts("a") + x : puts("b"); }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)
int main(int c, char **v) { (void)v; return f0(c) + f1(c) + f2(c) + f3(c) + f4(c) + f5(c) + f6(c) + f7(c) + f8(c) + f9(c); }
END
for target in aarch64-linux-gnu x86_64-linux-gnu; do
    compile() { "$clang" --target=$target -fuse-ld=lld-22 -O1 many.c -o many "$@" 2>compiled; }
    full=(-gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling -fno-omit-frame-pointer
        -mno-omit-leaf-frame-pointer -Wl,--build-id=sha1)
    compile "${full[@]}" || { echo "skipped in part: cannot build for $target"; continue; }
    expect 0 "has all that a profile needs" "$CSPROF" doctor --sysfs tree -b many
    expect 0 "yes discriminators" "$CSPROF" doctor --sysfs tree -b many
    compile "${full[@]}" -gz=zlib && expect 0 "yes discriminators" "$CSPROF" doctor --sysfs tree -b many
    compile "${full[@]}" -fomit-frame-pointer &&
        expect 5 "fix: compile with -fno-omit-frame-pointer" "$CSPROF" doctor --sysfs tree -b many
    compile "${full[@]}" -fno-pseudo-probe-for-profiling &&
        expect 5 "fix: compile with -fpseudo-probe" "$CSPROF" doctor --sysfs tree -b many
    compile "${full[@]}" -g0 && expect 5 "fix: compile with -gmlt" "$CSPROF" doctor --sysfs tree -b many
    compile "${full[@]}" -Wl,--build-id=none &&
        expect 5 "fix: link with -Wl,--build-id" "$CSPROF" doctor --sysfs tree -b many
    compile "${full[@]}" -s && expect 5 "do not strip" "$CSPROF" doctor --sysfs tree -b many
done
exit $failed
