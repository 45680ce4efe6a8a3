#!/usr/bin/env python3
"""Writes two recordings of one process as perf would: a timer's samples, and SPE records.

    spe_recording.py SAMPLES SPE

The process runs /opt/chase, mapped at 0x400000: three instructions at 0x400700, 704 and 708, of which
the second is a load from memory. What is written:

    instruction   samples   records   total latency of each   L1 refills
    700 subs          10       100                       4           0
    704 ldr            1       100                     334         100
    708 b.ne          89       100                       3           0

and beside them 2 records of the kernel, 1 at an address where nothing is mapped, and 1 with a byte in it
that is no packet.
"""
import struct
import sys

PID, BASE, LENGTH = 1399, 0x400000, 0x1000
COMM, SAMPLE, MMAP2, AUX, AUXTRACE_INFO, AUXTRACE = 3, 9, 10, 11, 70, 71
ARM_SPE = 4
IP, TID, TIME, CPU = 1, 2, 4, 128


def record(kind, body, misc=2):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(string):
    raw = string.encode() + b"\0"
    return raw + b"\0" * (-len(raw) % 8)


def sample_id(time):  # of records that are no samples: TID, TIME, CPU
    return struct.pack("<IIQII", PID, PID, time, 0, 0)


def process():
    yield record(COMM, struct.pack("<II", PID, PID) + text("chase") + sample_id(1))
    yield record(MMAP2, struct.pack("<IIQQQIIQQII", PID, PID, BASE, LENGTH, 0, 8, 1, 2, 0, 5, 2) +
                 text("/opt/chase") + sample_id(2))


def attribute(kind, config):
    flags = 1 << 8 | 1 << 9 | 1 << 18 | 1 << 23  # mmap, comm, sample_id_all, mmap2
    fields = struct.pack("<IIQQQQQ", kind, 112, config, 1000, IP | TID | TIME | CPU, 0, flags)
    return fields + b"\0" * (112 - len(fields))


def recording(path, kind, config, records):
    data = b"".join(records)
    header = 104
    attr_size = 112 + 16
    with open(path, "wb") as file:
        file.write(struct.pack("<8sQQQQQQQQ", b"PERFILE2", header, attr_size, header, attr_size,
                               header + attr_size, len(data), 0, 0) + b"\0" * 32)
        file.write(attribute(kind, config) + struct.pack("<QQ", 0, 0))
        file.write(data)


def sample(time, address):
    return record(SAMPLE, struct.pack("<QIIQII", address, PID, PID, time, 0, 0))


def operation(address, latency, kind=0x49, payload=0, refill=False, el=0, damage=b""):
    out = struct.pack("<BQ", 0xb0, address | (0x80 | el << 5) << 56)
    out += struct.pack("<BI", 0x64, PID) + bytes((kind, payload)) + damage
    out += struct.pack("<BH", 0x52, 0x0002 | (0x0c if refill else 0))
    out += struct.pack("<BHBH", 0x99, 2, 0x98, latency)
    if kind == 0x49:
        out += struct.pack("<BQ", 0xb2, 0xfffff7ffffc0) + struct.pack("<BB", 0x43, 0x0d if refill else 0)
    return out + struct.pack("<BQ", 0x71, 12345)


def spe_data(path, packets):
    info = struct.pack("<IIQQ", ARM_SPE, 0, 10, 1)
    trace = record(AUXTRACE, struct.pack("<QQQIIII", len(packets), 0, 0, 0, PID, 0, 0)) + packets
    aux = record(AUX, struct.pack("<QQQ", 0, len(packets), 0) + sample_id(500))
    recording(path, 10, 1, [record(AUXTRACE_INFO, info), *process(), aux, trace])


def main():
    samples = [0x700] * 10 + [0x704] + [0x708] * 89
    recording(sys.argv[1], 1, 0, [*process(), *(sample(10 + i, BASE + at) for i, at in enumerate(samples))])
    spe = b""
    for _ in range(100):
        spe += operation(BASE + 0x700, 4, 0x48)
        spe += operation(BASE + 0x704, 334, refill=True)
        spe += operation(BASE + 0x708, 3, 0x4a, 1)
    spe += operation(0xff800008000000, 9, 0x48, el=1) * 2 + operation(0x7000, 9)
    spe += operation(BASE + 0x704, 334, damage=b"\xff")
    spe += b"\0" * (-len(spe) % 64)
    spe_data(sys.argv[2], spe)


if __name__ == "__main__":
    main()
