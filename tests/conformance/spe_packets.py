#!/usr/bin/env python3
"""SPE packets for two decoders, and the comparison of what they read.

    spe_packets.py write RAW RECORDING     every packet of the Arm ARM's tables, then 100,000 at random
    spe_packets.py compare OURS PERF       tools/spe_packets of RAW, and `perf report -D` of RECORDING
"""
import os
import random
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import spe_recording  # noqa: E402

# DDI 0487, "Statistical Profiling Extension Sample Record Specification": header bytes, payload bytes.
EVENTS = [(b"\x42", 1), (b"\x52", 2), (b"\x62", 4), (b"\x72", 8)]
SOURCES = [(b"\x43", 1), (b"\x53", 2)]
CONTEXTS = [(b"\x64", 4), (b"\x65", 4)]
OPERATIONS = [(b"\x48", 1), (b"\x49", 1), (b"\x4a", 1)]
TIMESTAMP = [(b"\x71", 8)]
ADDRESSES = [(bytes([0xb0 | i]), 8) for i in range(8)]
COUNTERS = [(bytes([0x98 | i]), 2) for i in range(8)]
EXTENDED = [(bytes([0x20 | i >> 3, 0xb0 | i & 7]), 8) for i in range(32)]
EXTENDED += [(bytes([0x20 | i >> 3, 0x98 | i & 7]), 2) for i in range(32)]
PACKETS = EVENTS + SOURCES + CONTEXTS + OPERATIONS + TIMESTAMP + ADDRESSES + COUNTERS + EXTENDED
END, PAD = b"\x01", b"\x00"
# Bits of the events that perf 6.1 has names for.
NAMES = ["EXCEPTION-GEN", "RETIRED", "L1D-ACCESS", "L1D-REFILL", "TLB-ACCESS", "TLB-REFILL", "NOT-TAKEN",
         "MISPRED", "LLC-ACCESS", "LLC-REFILL", "REMOTE-ACCESS", "ALIGNMENT"]


def write(raw_path, recording_path):
    chance = random.Random(1)
    out = bytearray(END + PAD)
    for header, size in PACKETS:  # all zeroes, all ones, each byte another
        for payload in (bytes(size), b"\xff" * size, bytes(range(1, size + 1))):
            out += header + payload
    for payload in range(256):
        for header, _ in OPERATIONS:
            out += header + bytes([payload])
    for _ in range(100000):
        header, size = chance.choice(PACKETS)
        out += header + chance.randbytes(size)
        if not chance.randrange(8):
            out += chance.choice((END, PAD))
    out += b"\0" * (-len(out) % 64)
    with open(raw_path, "wb") as file:
        file.write(out)
    spe_recording.spe_data(recording_path, bytes(out))


def signed(value):
    return struct.unpack("<q", struct.pack("<Q", value))[0]


def in_words_of_perf(kind, index, payload):
    """What perf prints, as far as it says what csprof uses."""
    address = payload & (1 << 56) - 1
    if kind == "end":
        return "END"
    if kind == "timestamp":
        return "TS %d" % signed(payload)
    if kind == "source":
        return "DATA-SOURCE %d" % payload
    if kind == "context":
        return "CONTEXT 0x%x el%d" % (payload, index + 1)
    if kind == "events":
        return " ".join(["EV"] + [name for bit, name in enumerate(NAMES) if payload >> bit & 1])
    if kind == "counter":
        return "LAT %d %s" % (payload, ["TOT", "ISSUE", "XLAT"][index] if index < 3 else "")
    if kind == "op":
        return {0: "OTHER", 1: "ST" if payload & 1 else "LD", 2: "B"}[index]
    names = {0: "PC", 1: "TGT"}
    if index in names:
        return "%s 0x%x el%d ns=%d" % (names[index], address, payload >> 61 & 3, payload >> 63)
    if index == 2:
        return "VA 0x%x" % payload
    return "PA 0x%x" % address if index == 3 else "ADDR 0x%x (%d)" % (payload, index)


def same(ours, kind, perf):
    if kind == "events":  # names of bits 12 and beyond depend on perf's age
        return set(perf.split()[1:]) & set(NAMES) == set(ours.split()[1:])
    if kind == "op":
        word = perf.split()[0]
        return {"SVE-OTHER": "OTHER"}.get(word, word) == ours
    return perf == ours or perf.startswith(ours + " ") or perf.strip() == ours.strip()


def read_perf(path):
    pattern = re.compile(r"^\.\s+([0-9a-f]{8}):\s+((?:[0-9a-f]{2} )+)\s*(.*?)\s*$")
    with open(path, errors="replace") as file:
        for line in file:
            match = pattern.match(line)
            if match and match[3] != "PAD":
                yield int(match[1], 16), len(match[2].split()), match[3]


def read_ours(path):
    with open(path) as file:
        for line in file:
            offset, size, kind, index, payload = line.split()
            yield int(offset, 16), int(size), kind, int(index), int(payload, 16)


def compare(ours_path, perf_path):
    ours, perf = list(read_ours(ours_path)), list(read_perf(perf_path))
    wrong = 0
    for (at, size, kind, index, payload), (perf_at, perf_size, text) in zip(ours, perf):
        words = in_words_of_perf(kind, index, payload)
        if (at, size) == (perf_at, perf_size) and same(words, kind, text):
            continue
        wrong += 1
        if wrong <= 10:
            print("%x+%d: %s; perf: %x+%d: %s" % (at, size, words, perf_at, perf_size, text))
    print("%d packets, perf has %d; %d differ" % (len(ours), len(perf), wrong))
    sys.exit(1 if wrong or len(ours) != len(perf) or len(ours) < 100000 else 0)


{"write": write, "compare": compare}[sys.argv[1]](*sys.argv[2:])
