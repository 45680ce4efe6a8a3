#!/bin/bash
# The probe tests of llvm-profgen's own suite: for every command line in them, `csprof gen --compat
# llvm-profgen-22` writes what llvm-profgen-22 writes, byte for byte.
set -u
corpus=$CSPROF_CORPUS/llvm-profgen
oracle=$(command -v llvm-profgen-22) || { echo "skipped: llvm-profgen-22 is not installed"; exit 77; }
[ -d "$corpus" ] || { echo "skipped: no corpus at $corpus"; exit 77; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT

# Lines that write a profile from a text through probes; the pre-inliner is off in them or has
# nothing to act on.
tests="inline-cs-pseudoprobe inline-pseudoprobe noinline-cs-pseudoprobe noinline-pseudoprobe
       recursion-compression-pseudoprobe truncated-pseudoprobe cs-tailcall cs-extbinary
       fname-canonicalization"
same=0 different=0
while read -r test line; do
  args=${line#*llvm-profgen }
  args=${args%%|*}
  args=$(sed -E "s|%S|$corpus|g; s|%s|$corpus/$test.test|g; s| --?output[= ]+%t[0-9]*||; s| -o %t[0-9]*||" <<<"$args")
  "$oracle" $args --output="$work/theirs" >"$work/log" 2>&1 || { echo "oracle failed: $args"; different=$((different + 1)); continue; }
  "$CSPROF" gen --compat llvm-profgen-22 $args --output="$work/ours" >"$work/log" 2>&1
  code=$?
  if [ $code -eq 0 ] && cmp -s "$work/theirs" "$work/ours"; then
    same=$((same + 1))
  else
    different=$((different + 1))
    echo "different: $test: $args (exit $code)"
    head -n 3 "$work/log"
    diff "$work/theirs" "$work/ours" | head -n 20
  fi
  rm -f "$work/theirs" "$work/ours"
done < <(for t in $tests; do
    sed -n 's/^[;#] *RUN: *//p' "$corpus/$t.test" | grep '^llvm-profgen ' |
      grep -v 'noprobe\|dwarf\|-show-' | sed "s/^/$t /"
  done)
echo "$same the same, $different different"
[ $different -eq 0 ] && [ $same -ge 20 ]
