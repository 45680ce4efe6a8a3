#!/usr/bin/env python3
"""The instructions of PROGRAM that ran in one of several emulated runs of it and at which no sample was
taken in any: hexadecimal addresses, one a line. Exits 1 when there are none.

    unsampled.py PROGRAM TRUTH...     (emulate/user/truth.h)
"""
import sys


def main():
    segments, ran, sampled = [], set(), set()
    for path in sys.argv[2:]:
        last = 0
        wanted = False
        with open(path) as file:
            for line in file:
                what, _, rest = line.partition(" ")
                if what == "end":
                    last = rest
                elif what == "window":
                    wanted = not rest.endswith(" 0\n")
                elif what == "lr" and wanted:
                    sampled.add(int(last.partition(" ")[0], 16))
                elif what == "map" and rest.rstrip().endswith("/" + sys.argv[1]):
                    start, length, _ = rest.split(" ", 2)
                    segments.append((int(start, 16), int(start, 16) + int(length, 16)))
                elif what == "code":
                    start, end, _ = rest.split()
                    ran.update(range(int(start, 16), int(end, 16), 4))
    ran = {address for address in ran if any(start <= address < end for start, end in segments)}
    for address in sorted(ran - sampled):
        print("%x" % address)
    sys.exit(0 if ran - sampled else 1)


main()
