#!/bin/bash
# Recordings that describe other CPUs than those that were traced: 300 of them with holes between their
# numbers, without trace IDs, change nothing; where no CPU has a trace ID, that is what is said.
set -eu
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
corpus=${CSPROF_CORPUS:-$CSPROF_SOURCE/../shared/corpus}/arm-perf-e2e/sort_single_thread
[ -d "$corpus" ] || { echo "no corpus: skipped"; exit 77; }

# describe OUT OTHERS TRACE_IDS: the recording with so many other CPUs, and trace IDs kept or taken away
describe() {
    python3 - "$corpus/perf.data" "$@" <<'PYTHON'
import struct, sys
source, out, others, ids = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
data = bytearray(open(source, "rb").read())
start, size = struct.unpack_from("<QQ", data, 40)
at = start
while struct.unpack_from("<I", data, at)[0] != 70:  # AUXTRACE_INFO
    at += struct.unpack_from("<H", data, at + 6)[0]
kind, misc, length = struct.unpack_from("<IHH", data, at)
words = list(struct.unpack_from("<%dQ" % ((length - 8) // 8), data, at + 8))
head, blocks = words[:4], [words[i : i + 11] for i in range(4, len(words), 11)]
real = len(blocks)
for i in range(others):
    block = list(blocks[0])
    block[1], block[4] = 10 + 7 * i, 0  # the CPU's number, no trace ID
    blocks.insert(i % 2 * len(blocks), block)
if ids == "none":
    for block in blocks:
        block[4] = 0
head[2] = head[2] >> 32 << 32 | len(blocks)
words = head + [word for block in blocks for word in block]
record = struct.pack("<IHH%dQ" % len(words), kind, misc, 8 + 8 * len(words), *words)
added = len(record) - length
table = start + size  # of the features: offset and size of each
count = sum(bin(byte).count("1") for byte in data[72:104])
for i in range(count):
    place = table + 16 * i
    struct.pack_into("<Q", data, place, struct.unpack_from("<Q", data, place)[0] + added)
struct.pack_into("<Q", data, 48, size + added)
open(out, "wb").write(data[:at] + record + data[at + length :])
PYTHON
}

decode() { "$CSPROF" decode -q -i "$1" --symfs "$corpus" --format ranges -o "$2"; }

describe same 0 kept
describe many 296 kept
describe nobody 0 none
decode same expected
[ "$(wc -l <expected)" -gt 1000 ]
decode many got
cmp expected got
status=0
decode nobody nothing 2>messages || status=$?
[ $status = 3 ]
grep -q 'no CPU of the recording has a trace ID' messages
[ ! -e nothing ]
