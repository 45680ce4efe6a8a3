#!/usr/bin/env bash
# llvm-profgen's own tests, all of them: each RUN line that writes a profile is run on llvm-profgen
# and, word for word, on `csprof gen --compat llvm-profgen-22`; they must write the same.
# profgen_corpus.sh [TEST...] runs only those.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
here=$(cd "$(dirname "$0")" && pwd)
corpus=$CSPROF_CORPUS/llvm-profgen
needs_corpus llvm-profgen
needs llvm-{profgen,profdata,objcopy,dwp}-22 yaml2obj-22

# The programs that RUN lines name. FileCheck's verdict on llvm-profgen is LLVM's own business.
mkdir "$work/bin" "$work/compare"
for tool in llvm-profdata llvm-objcopy llvm-dwp yaml2obj; do
    ln -s "$(command -v $tool-22)" "$work/bin/$tool"
done
ln -s "$here/profgen_both.sh" "$work/bin/llvm-profgen"
printf '#!/bin/sh\ncat >/dev/null\n' >"$work/bin/FileCheck"
printf '#!/bin/sh\n! "$@"\n' >"$work/bin/not"
chmod +x "$work/bin/FileCheck" "$work/bin/not"
export PATH=$work/bin:$PATH CSPROF_RESULTS=$work/results CSPROF_SCRATCH=$work/compare
export CSPROF CSPROF_CORPUS CSPROF_TEST
: >"$CSPROF_RESULTS"
: >"$CSPROF_RESULTS.diff"

# The RUN lines of a test as a shell script.
script_of() {
    sed -nE 's/^[;#]? *RUN: ?//p' "$corpus/$1.test" | sed -e ':again' -e '/\\$/{N;s/\\\n//;b again' -e '}' |
        sed "s|%[Sp]/|$corpus/|g; s|%s|$corpus/$1.test|g; s|%t|$work/$1|g"
}

[ $# -gt 0 ] || set -- $(cd "$corpus" && ls *.test | sed 's/\.test$//')
for CSPROF_TEST in "$@"; do
    script_of "$CSPROF_TEST" >"$work/commands"
    (cd "$work" && bash "$work/commands" </dev/null >"$work/log" 2>&1) || true
done

sed 's/ .*//' "$CSPROF_RESULTS" | sort | uniq -c
grep '^different' "$CSPROF_RESULTS"
cat "$CSPROF_RESULTS.diff"
! grep -q '^different' "$CSPROF_RESULTS" && { [ $# -lt 50 ] || [ "$(grep -c '^equal ' "$CSPROF_RESULTS")" -ge 105 ]; }
