#!/usr/bin/env bash
# perf's SPE decoder and ours read the same: every packet of the Arm ARM's tables, each operation type
# with every payload, and 100,000 packets at random.
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
command -v perf >/dev/null || { echo "skipped: perf is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
python3 "$here/spe_packets.py" write raw spe.data || exit 1
perf report -D -i spe.data >dump 2>/dev/null
grep -q ' END' dump || { echo "skipped: this perf does not read SPE"; exit 77; }
"$CSPROF_BUILD/tests/spe_packets" raw >packets || { echo "FAILED: not all of it is packets"; exit 1; }
python3 "$here/spe_packets.py" compare packets dump
