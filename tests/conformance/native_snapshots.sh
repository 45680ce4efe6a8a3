#!/bin/bash
# The native engine on every CoreSight snapshot: range by range what OpenCSD 1.8 lists, also where
# OpenCSD 1.3.3 is wrong, and twice the same. Listings: *.ppl.zst in the corpus.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
. "$(dirname "$0")/decode_lib.sh"
needs_corpus
needs zstd
compared=0
opencsd=$CSPROF_CORPUS/opencsd

same_ranges() { # NAME SNAPSHOT LISTING INSTRUCTIONS
    listed_ranges "$3" >"$work/expected"
    "$csprof" decode --snapshot "$2" --engine native --format ranges -o "$work/got" -q ||
        { fail "$1: exit $?"; return; }
    # OpenCSD does not call a compare-and-branch conditional.
    [ "$1" != feat_cmpbr ] || sed -i 's/ conditional$/ direct/' "$work/expected" "$work/got"
    [ -s "$work/expected" ] || fail "$1: the listing has no ranges"
    cmp -s "$work/expected" "$work/got" ||
        { fail "$1: ranges differ"; diff "$work/expected" "$work/got" | head -5; }
    local total
    total=$(awk '{ n += $3 } END { print n + 0 }' "$work/got")
    [ "$total" = "$4" ] || fail "$1: $total instructions, not $4"
    compared=$((compared + 1))
}

while read -r name listing instructions; do
    same_ranges "$name" "$opencsd/$name" "$opencsd/results/$listing.ppl.zst" "$instructions"
done <<'LIST'
bugfix-exact-match bugfix-exact-match 7581461
001-ack_test 001-ack_test 90654
src_addr src_addr 12625
trace_file_cid_vmid trace_file_cid_vmid 29127
maxspec0_commopt1 maxspec0_commopt1 6759
maxspec78_commopt0 maxspec78_commopt0 6759
ete_spec_1 ete_spec_1 254
ts_marker ts_marker 1050
juno-ret-stck juno-ret-stck 241846
juno_r1_1 juno_r1_1 40246
tme_simple tme_simple 225
q_elem q_elem_multi_sess 2277
feat_cmpbr feat_cmpbr_multi_sess 110
ete-ite-instr ete-ite-instr_multi_sess 65
LIST
for number in 1 2 3 4; do
    folder=$CSPROF_CORPUS/ricsec/snapshots/branches_$number
    same_ranges "branches_$number" "$folder" "$folder/decode.ppl.zst" 74912
done

# ete_ip runs through A32 code: told, and everything else is there.
listed_ranges "$opencsd/results/ete_ip.ppl.zst" >"$work/expected"
"$csprof" decode --snapshot "$opencsd/ete_ip" --engine native --format ranges \
    >"$work/got" 2>"$work/messages" || fail "ete_ip: exit $?"
grep -q '32-bit Arm code' "$work/messages" || fail "ete_ip: A32 code is not told"
[ -s "$work/got" ] || fail "ete_ip: no ranges"
[ -z "$(diff "$work/expected" "$work/got" | grep '^>')" ] || fail "ete_ip: ranges that never ran"

echo "$compared snapshots compared"
exit $failed
