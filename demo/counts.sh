# What a program executes, counted by the emulator: source this file.

# executed CSPROF SCRATCH PROGRAM ARGUMENT...: sets instructions and taken_branches to those of
# PROGRAM's own code in that run; its output is in SCRATCH.output
executed() {
    local csprof=$1 scratch=$2 program=$3 what from to times first last
    shift 3
    "$csprof" collect -q --emulate --period 20M --emulate-granularity block --truth "$scratch.truth" \
        -o "$scratch.data" -- "$program" "$@" >"$scratch.output"
    read -r first last < <(text_range "$program")
    instructions=0 taken_branches=0
    while read -r what from to times; do
        from=$((16#$from))
        ((from >= first && from < last)) || continue
        case $what in
        code) instructions=$((instructions + (16#$to - from) / 4 * times)) ;;
        taken) taken_branches=$((taken_branches + times)) ;;
        esac
    done < <(sed -n '/^counts/,$p' "$scratch.truth" | grep -E '^(code|taken) ')
}

# text_range FILE: first address of .text and the one behind it, decimal
text_range() {
    local address size
    read -r address size < <(llvm-readelf-22 -SW "$1" |
        sed -n 's/.*\] \.text  *PROGBITS  *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\).*/\1 \2/p')
    echo $((16#$address)) $((16#$address + 16#$size))
}
