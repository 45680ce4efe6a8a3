#!/bin/bash
# CoreSight snapshots decode range by range to what OpenCSD 1.8 lists, the kind of each range's last
# instruction included. Listings: *.ppl.zst in the corpus.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
. "$(dirname "$0")/decode_lib.sh"
needs_corpus
needs zstd
compared=0

same_ranges() { # NAME SNAPSHOT LISTING INSTRUCTIONS [ENGINE]
    local engine=${5:-opencsd}
    listed_ranges "$3" >"$work/expected"
    "$csprof" decode --snapshot "$2" --engine "$engine" --format ranges -o "$work/got" -q ||
        { fail "$1: exit $?"; return; }
    cmp -s "$work/expected" "$work/got" ||
        { fail "$1: ranges differ"; diff "$work/expected" "$work/got" | head -5; }
    local total
    total=$(awk '{ n += $3 } END { print n + 0 }' "$work/got")
    [ "$total" = "$4" ] || fail "$1: $total instructions, not $4"
    compared=$((compared + 1))
}

opencsd=$CSPROF_CORPUS/opencsd
# Those on which OpenCSD 1.3.3 is right; counts of instructions from the corpus's own list.
while read -r name instructions; do
    same_ranges "$name" "$opencsd/$name" "$opencsd/results/$name.ppl.zst" "$instructions"
done <<'LIST'
bugfix-exact-match 7581461
001-ack_test 90654
ete_ip 15742
src_addr 12625
trace_file_cid_vmid 29127
maxspec0_commopt1 6759
ete_spec_1 254
ts_marker 1050
juno-ret-stck 241846
juno_r1_1 40246
LIST

# Where both engines must agree element by element.
for name in bugfix-exact-match 001-ack_test src_addr trace_file_cid_vmid maxspec0_commopt1 \
    ete_spec_1 ts_marker tme_simple; do
    "$csprof" decode --snapshot "$opencsd/$name" --engine both --format none -q ||
        fail "$name: the engines differ"
done

# The whole process of a small program, its loader and libc, four times.
expected=$CSPROF_CORPUS/ricsec/branches/expected_edge_coverage.out
awk '{ print $1 } END { print $4 }' "$expected" | sed 's/^0x//' >"$work/nodes"
for number in 1 2 3 4; do
    name=branches_$number
    folder=$CSPROF_CORPUS/ricsec/snapshots/$name
    same_ranges "$name" "$folder" "$folder/decode.ppl.zst" 74912 both
    read -r base < <(awk '{ sub(/^0x/, "", $5); print $5 }' \
        "$CSPROF_CORPUS/ricsec/branches/trace$number/decoderargs.txt")
    # The starts of the program's own ranges, from its first branch on, are the nodes of the edges.
    grep "^${base%000}" "$work/got" | sed "s/^${base%000}0*//" | cut -d' ' -f1 |
        sed -n '/^900$/,/^934$/p' >"$work/starts"
    diff "$work/nodes" "$work/starts" >"$work/diff" ||
        { fail "$name: edges differ from the expected ones"; head -5 "$work/diff"; }
done

echo "$compared snapshots compared"
exit $failed
