# Sourced by the decode tests: what OpenCSD 1.8's packet lister said, in the words of
# `csprof decode --format ranges`.

# The ranges of a compressed listing, `start end instructions kind`.
listed_ranges() {
    zstd -dc "$1" | awk '
        /OCSD_GEN_TRC_ELEM_INSTR_RANGE/ {
            match($0, /range=0x[0-9a-f]+:\[0x[0-9a-f]+\]/)
            split(substr($0, RSTART + 8, RLENGTH - 9), place, ":\\[0x")
            match($0, /num_i\([0-9]+\)/)
            count = substr($0, RSTART + 6, RLENGTH - 7)
            kind = "none"
            if ($0 ~ / N i?BR/) kind = "not-taken"
            else if ($0 ~ / iBR.*b\+link/) kind = "indirect-call"
            else if ($0 ~ /A64:eret/) kind = "exception-return"
            else if ($0 ~ /A64:ret|V7:impl ret/) kind = "return"
            else if ($0 ~ / iBR/) kind = "indirect"
            else if ($0 ~ / BR.*b\+link/) kind = "call"
            else if ($0 ~ / BR.*<cond>/) kind = "conditional"
            else if ($0 ~ / BR/) kind = "direct"
            sub(/^0x/, "", place[1])
            print place[1], place[2], count, kind
        }'
}
