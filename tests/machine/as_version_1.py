#!/usr/bin/env python3
"""Rewrites a CoreSight recording for readers that know no trace IDs in AUX_OUTPUT_HW_ID records, such
as perf 6.1: AUXTRACE_INFO gets version 1 and the IDs, in place.

    as_version_1.py IN OUT
"""
import struct
import sys

AUX_OUTPUT_HW_ID, AUXTRACE_INFO, AUXTRACE = 21, 70, 71
GLOBAL_WORDS = 3  # version; PMU type and number of CPUs; snapshot
TRACEIDR = 1      # parameter of an ETMv4


def records(data):
    """(type, offset, size) of each record of the data section."""
    offset, size = struct.unpack_from('<QQ', data, 40)
    end = offset + size
    while offset < end:
        kind, _, length = struct.unpack_from('<IHH', data, offset)
        yield kind, offset, length
        if kind == AUXTRACE:
            length += struct.unpack_from('<Q', data, offset + 8)[0]
        offset += length


def main():
    data = bytearray(open(sys.argv[1], 'rb').read())
    # Linux gives each CPU the ID 0x10 + 2 * CPU while that is free.
    ids = {}
    for kind, offset, _ in records(data):
        if kind == AUX_OUTPUT_HW_ID:
            trace_id = data[offset + 8]
            ids[(trace_id - 0x10) // 2] = trace_id
    for kind, offset, _ in records(data):
        if kind != AUXTRACE_INFO:
            continue
        at = offset + 16  # after the record's header, the type and a reserved word
        version, cpus = struct.unpack_from('<QQ', data, at)
        if version != 2:
            sys.exit('%s: version 2 was expected, not %d' % (sys.argv[1], version))
        struct.pack_into('<Q', data, at, 1)
        at += 8 * GLOBAL_WORDS
        for _ in range(cpus & 0xffffffff):
            _, cpu, count = struct.unpack_from('<QQQ', data, at)
            struct.pack_into('<Q', data, at + 8 * (3 + TRACEIDR), ids.get(cpu, 0x10 + 2 * cpu))
            at += 8 * (3 + count)
    open(sys.argv[2], 'wb').write(data)


main()
