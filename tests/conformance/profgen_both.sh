#!/usr/bin/env bash
# Stands in for llvm-profgen while profgen_corpus.sh runs the commands of its tests: runs the same
# command line with llvm-profgen and with csprof, compares what they write, and appends a line
# `verdict test: command` to $CSPROF_RESULTS. What llvm-profgen wrote, and its exit code, stay for
# the commands that follow.
set -u
oracle=llvm-profgen-22

# The output's name, and the arguments without it. Two of llvm-profgen's own switches go: one exists
# only in LLVM's debug builds, one is about a listing.
output= args=() take_output=0
for arg in "$@"; do
    if [ $take_output = 1 ]; then
        output=$arg take_output=0
        continue
    fi
    case $arg in
    --output=* | -output=* | -o=*) output=${arg#*=} ;;
    --output | -output | -o) take_output=1 ;;
    --debug-only=*) ;;
    *) args+=("$arg") ;;
    esac
done

verdict() {
    echo "$1 $CSPROF_TEST: ${args[*]//$CSPROF_CORPUS\/llvm-profgen\//}" >>"$CSPROF_RESULTS"
}

# Lines that make no profile, or not from ELF.
case " ${args[*]} " in
*" --help "*) verdict "excluded(prints-help)"; exec $oracle --help ;;
*" --show-disassembly-only "* | *" --show-mmap-events "*)
    verdict "excluded(prints-a-listing)"
    exec $oracle "${args[@]}" --output="$output" ;;
*.exe\ *)
    if ! head -c 4 "$(sed -E 's/.* --binary=([^ ]*).*/\1/' <<<" ${args[*]} ")" | grep -q ELF; then
        verdict "excluded(not-ELF)"
        exec $oracle "${args[@]}" --output="$output"
    fi ;;
esac

theirs=$CSPROF_SCRATCH/theirs ours=$CSPROF_SCRATCH/ours
rm -f "$theirs" "$ours"
$oracle "${args[@]}" --output="$theirs" >"$CSPROF_SCRATCH/theirs.log" 2>&1
code=$?
"$CSPROF" gen --compat llvm-profgen-22 "${args[@]}" --output="$ours" >"$CSPROF_SCRATCH/ours.log" 2>&1
our_code=$?

# What a profile that is not text says: its counts, its sections' flags, its list of symbols.
explain() {
    llvm-profdata-22 merge --sample --text -o - "$1"
    llvm-profdata-22 show --sample -show-sec-info-only "$1" | sed -nE 's/^([A-Za-z]*Section) .*(Flags.*)$/\1 \2/p'
    # It crashes on a profile without a list.
    llvm-profdata-22 show --sample -show-prof-sym-list "$1" 2>/dev/null | sed -n '/symbol list/,$p' | sort
}

compare() {
    cmp -s "$theirs" "$ours" && return 0
    case " ${args[*]} " in
    *" --format=text "* | *" --skip-symbolization "*) diff "$theirs" "$ours" ;;
    *) diff <(explain "$theirs") <(explain "$ours") ;;
    esac
}

if [ $code -ne 0 ] && [ $our_code -ne 0 ]; then
    verdict "equal(both-fail)"
elif [ $code -ne 0 ] || [ $our_code -ne 0 ]; then
    verdict different
    { echo "exit codes $code and $our_code"; tail -n 3 "$CSPROF_SCRATCH/ours.log"; } >>"$CSPROF_RESULTS.diff"
elif compare >"$CSPROF_SCRATCH/difference"; then
    verdict equal
else
    verdict different
    { echo "$CSPROF_TEST: ${args[*]}"; head -n "${CSPROF_DIFF_LINES:-12}" "$CSPROF_SCRATCH/difference"; } >>"$CSPROF_RESULTS.diff"
fi
[ -e "$theirs" ] && cp "$theirs" "$output"
cat "$CSPROF_SCRATCH/theirs.log"
exit $code
