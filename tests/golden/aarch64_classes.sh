#!/bin/bash
# Our classes of A64 instructions are those that LLVM's disassembler gives them by name and operand:
# some hundred thousand encodings, allocated or not.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
build=${CSPROF_BUILD:?}/tests
needs llvm-mc-22 llvm-objdump-22

"$build/aarch64_classes" | sort -u >"$work/ours"
{ echo .text; sed 's/^\([0-9a-f]*\) .*/.inst 0x\1/' "$work/ours"; } >"$work/code.s"
llvm-mc-22 -triple=aarch64 -filetype=obj -o "$work/code.o" "$work/code.s" || exit 1
llvm-objdump-22 -d --mattr=+all --no-print-imm-hex "$work/code.o" >"$work/listing" || exit 1

# Names to classes; kinds are enum csp_branch_kind's numbers. TSTART is unknown to LLVM.
awk '
function hex(text,   value, i) {
    for (i = 1; i <= length(text); i++)
        value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return value
}
/^ *[0-9a-f]+: [0-9a-f]+ / {
    address = hex(substr($1, 1, length($1) - 1))
    name = $3
    target = ""
    if (match($0, /0x[0-9a-f]+ <|0x[0-9a-f]+$/)) {
        target = substr($0, RSTART + 2)
        sub(/ .*/, "", target)
    }
    type = "other"; kind = 0; offset = 0
    if (name == "b") { type = "direct"; kind = 2 }
    else if (name == "bl") { type = "direct"; kind = 3 }
    else if (name ~ /^(b|bc)\./ || name ~ /^(cbz|cbnz|tbz|tbnz)$/ ||
             name ~ /^cb[bh]?(eq|ne|gt|ge|lt|le|hi|hs|lo|ls)$/) { type = "direct"; kind = 1 }
    else if (name ~ /^(br|braa|brab|braaz|brabz)$/) { type = "indirect"; kind = 4 }
    else if (name ~ /^(blr|blraa|blrab|blraaz|blrabz)$/) { type = "indirect"; kind = 5 }
    else if (name ~ /^(ret|retaa|retab|retaasppc|retabsppc|retaasppcr|retabsppcr)$/) { type = "indirect"; kind = 6 }
    else if (name ~ /^(eret|eretaa|eretab|drps|texit)$/) { type = "indirect"; kind = 7 }
    else if (name == "isb") type = "isb"
    else if (name ~ /^(wfi|wfe|wfit|wfet)$/) type = "wait"
    else if (name ~ /^(svc|hvc|smc)$/) type = "call"
    else if (name ~ /^(brk|hlt|dcps1|dcps2|dcps3|udf)$/) type = "trap"
    else if (name ~ /^(bti|paciasp|pacibsp)$/) type = "pad"
    if (type == "direct") {
        if (target ~ /^ffffffff/) # below zero; all of it would not fit a double
            offset = hex(substr(target, 9)) - 4294967296 - address
        else
            offset = hex(target) - address
    }
    printf "%s %s %d %d\n", $2, type, kind, offset
}' "$work/listing" >"$work/theirs"

[ "$(wc -l <"$work/ours")" = "$(wc -l <"$work/theirs")" ] ||
    { echo "FAILED: $(wc -l <"$work/ours") encodings, $(wc -l <"$work/theirs") in the listing"; exit 1; }
diff <(grep -v ' tstart ' "$work/ours") \
    <(join -v 1 "$work/theirs" <(grep ' tstart ' "$work/ours")) >"$work/diff" ||
    { echo "FAILED: classes differ"; head -20 "$work/diff"
      sed -n 's/^[<>] \([0-9a-f]*\) .*/\1/p' "$work/diff" | sort -u | head -5 | grep -f - "$work/listing"; exit 1; }
echo "$(wc -l <"$work/ours") encodings"
