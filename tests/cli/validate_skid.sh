#!/usr/bin/env bash
# csprof validate skid: a load that takes nearly all of the time does not get the samples, its neighbours
# do; and two functions get theirs in proportion to their time.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs python3
cd "$work" || exit 1

"$csprof" validate skid --workload chase --seconds 1 --svg picture.svg -o kept.data >output 2>messages
got=$?
[ $got != 4 ] || skip "$(cat messages)"
[ $got = 0 ] || fail "exit $got: $(cat messages)"
grep -q 'The samples blame the wrong instruction' output || fail "chase: $(cat output)"
grep -q 'more samples do not help' output || fail "it is not explained: $(cat output)"
[ -s kept.data ] || fail "-o keeps nothing"
python3 - picture.svg <<'PY' || fail "the picture"
import sys, xml.dom.minidom
bars = [r for r in xml.dom.minidom.parse(sys.argv[1]).getElementsByTagName("rect") if r.getAttribute("height") == "16"]
if len(bars) != 6: # two for each of three instructions
    sys.exit(f"{len(bars)} bars")
PY
"$csprof" validate skid --workload chase --seconds 1 --json >output 2>messages || fail "exit $?: $(cat messages)"
python3 - output <<'PY' || fail "chase, JSON"
import json, sys
found = json.load(open(sys.argv[1]))
count, load, branch = found["places"]
if not (found["biased"] and load["time"] > 0.9 and load["sample_share"] < 0.5):
    sys.exit(f"{found}")
if sum(place["samples"] for place in found["places"]) != found["samples"]:
    sys.exit(f"the samples do not add up: {found}")
PY
"$csprof" validate skid --workload vecmix --seconds 1 >output 2>messages || fail "exit $?: $(cat messages)"
grep -q 'The samples are where the time went' output || fail "vecmix: $(cat output)"
"$csprof" validate skid --workload other >output 2>messages
[ $? = 2 ] || fail "another workload: $(cat messages)"
exit $failed
