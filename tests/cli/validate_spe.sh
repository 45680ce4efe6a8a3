#!/usr/bin/env bash
# csprof validate --spe: a timer's samples beside the SPE records of the same instructions (what both are
# is written in tools/spe_recording.py), and perf's reading of the same packets.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs python3
cd "$work" || exit 1
python3 "${CSPROF_SOURCE:?}/tests/tools/spe_recording.py" samples.data spe.data || exit 1

"$csprof" validate -i samples.data --spe spe.data >output 2>messages || fail "exit $?: $(cat messages)"
# 33,400 of the 34,100 cycles of latency are the load's. A record with a bad packet is dropped whole.
while read -r line; do
    tr -s ' ' <output | sed 's/^ //' | grep -qxF -- "$line" || fail "there is no line '$line' in $(cat output)"
done <<'END2'
303 SPE records: 300 in user code that is known, 2 in the kernel, 1 elsewhere, 0 without address; 1 bad packet, 46 bytes dropped
89.00% 33.33% 0.88% 3.0 0.0% branch /opt/chase+0x708
1.00% 33.33% 97.95% 334.0 100.0% load /opt/chase+0x704
10.00% 33.33% 1.17% 4.0 0.0% other /opt/chase+0x700
END2
grep -q 'SPE samples operations' output || fail "the caveat is missing: $(cat output)"
"$csprof" validate -i samples.data --spe spe.data --json >output 2>messages || fail "exit $?: $(cat messages)"
python3 - output <<'PY' || fail "JSON"
import json, sys
found = json.load(open(sys.argv[1]))
load = next(i for i in found["instructions"] if i["address"] == 0x704)
want = {"samples": 1, "records": 100, "total_latency": 334, "issue_latency": 2, "data_sources": {"0xd": 100}}
for key, value in want.items():
    if load[key] != value:
        sys.exit(f"{key}: {load[key]}, not {value}")
if load["events"]["l1d-refill"] != 100 or load["operations"]["load"] != 100:
    sys.exit(f"{load}")
PY
"$csprof" validate -i samples.data --spe samples.data >output 2>messages
[ $? = 3 ] && grep -q 'samples.data has no SPE records' messages || fail "no SPE records: $(cat messages)"
"$csprof" validate --spe spe.data >output 2>messages
[ $? = 3 ] || fail "no recording: $(cat messages)"

# perf reads the same packets.
if command -v perf >/dev/null && perf report -D -i spe.data >dump 2>/dev/null && grep -q 'PC 0x' dump; then
    [ "$(grep -c 'PC 0x400704 el0' dump)" = 101 ] || fail "perf has $(grep -c 'PC 0x400704' dump) loads"
    [ "$(grep -c 'LAT 334 TOT' dump)" = 101 ] || fail "perf has other latencies"
    [ "$(grep -c 'EV RETIRED L1D-ACCESS L1D-REFILL' dump)" = 100 ] || fail "perf has other events"
else
    echo "left out: no perf that reads SPE"
fi
exit $failed
