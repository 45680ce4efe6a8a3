#!/usr/bin/python3
"""without_call_probes.py BINARY OUTPUT: the same binary with .pseudo_probe as the compiler would have
written it had it not known the calls: their probes are taken out, and the records that held nothing
else. What is left are the block probes where LLVM's pass put them, so that what csprof rebuilds can be
told from what the pass does to block probes.

The format is that of LLVM's MCPseudoProbe.h: a record is GUID, number of probes, number of inlinees,
the probes, and then the inlinees, each after its callsite. A probe's address is its distance from the
probe before it (bit 7 of the type); a sentinel names the symbol from which distances start anew."""
import os
import subprocess
import sys
import tempfile

DISTANCE, SENTINEL, DISCRIMINATOR = 0x80, 0x20, 0x40
CALLS = (1, 2)


class Reader:
    def __init__(self, data):
        self.data, self.at, self.address = data, 0, 0

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def leb(self, signed=False):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def probe(self):
        index, kind = self.leb(), self.take(1)[0]
        start = None
        if kind & DISTANCE:
            self.address += self.leb(signed=True)
        elif kind & SENTINEL:
            start, self.address = self.take(8), 0
        else:
            sys.exit("a probe with an address of its own, which LLVM 22 does not write")
        discriminator = self.leb() if kind & DISCRIMINATOR else None
        return index, kind, start, self.address, discriminator

    def record(self, top=True):
        """(callsite, guid, probes, inlinees)"""
        callsite = None if top else self.leb()
        guid = self.take(8)
        if top:
            self.address = 0
        probe_count, inlinee_count = self.leb(), self.leb()
        probes = [self.probe() for _ in range(probe_count)]
        return callsite, guid, probes, [self.record(False) for _ in range(inlinee_count)]


def without_calls(record):
    callsite, guid, probes, inlinees = record
    kept = [without_calls(inlinee) for inlinee in inlinees]
    return (callsite, guid, [probe for probe in probes if probe[1] & 15 not in CALLS],
            [inlinee for inlinee in kept if inlinee[2] or inlinee[3]])


class Writer:
    def __init__(self):
        self.out, self.address = bytearray(), 0

    def leb(self, value, signed=False):
        while True:
            byte, value = value & 0x7F, value >> 7
            last = value == (-1 if signed and byte & 0x40 else 0)
            if signed and not byte & 0x40:
                last = value == 0
            self.out.append(byte | (0 if last else 0x80))
            if last:
                return

    def record(self, record):
        callsite, guid, probes, inlinees = record
        if callsite is None:
            self.address = 0
        else:
            self.leb(callsite)
        self.out += guid
        self.leb(len(probes))
        self.leb(len(inlinees))
        for index, kind, start, address, discriminator in probes:
            self.leb(index)
            self.out.append(kind)
            if start is None:
                self.leb(address - self.address, signed=True)
            else:
                self.out += start
            self.address = address
            if discriminator is not None:
                self.leb(discriminator)
        for inlinee in inlinees:
            self.record(inlinee)


def rewritten(data, change):
    reader, writer = Reader(data), Writer()
    while reader.at < len(data):
        record = change(reader.record())
        if record[2] or record[3]:
            writer.record(record)
    return bytes(writer.out)


def main():
    binary, output = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        section = os.path.join(scratch, "probes")
        subprocess.run(["llvm-objcopy-22", f"--dump-section=.pseudo_probe={section}", binary,
                        os.path.join(scratch, "copy")], check=True)
        with open(section, "rb") as file:
            data = file.read()
        if rewritten(data, lambda record: record) != data:
            sys.exit("what is read and written again is not the same")
        with open(section, "wb") as file:
            file.write(rewritten(data, without_calls))
        subprocess.run(["llvm-objcopy-22", f"--update-section=.pseudo_probe={section}", binary,
                        output], check=True)


main()
