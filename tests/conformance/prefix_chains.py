#!/usr/bin/env python3
"""prefix_chains.py PERF OURS: callchains that `perf script --itrace=g… -F ip` printed, and the lines of
`csprof decode --format samples`. perf forgets its stack at each gap of the trace, and has no sample
there; where it has one, so must we, and its callchain must be the inner part of ours. Exits 1 if not.
"""
import sys


def main():
    with open(sys.argv[1]) as file:
        theirs = [[int(line.split()[0], 16) for line in chain.strip().split("\n")]
                  for chain in file.read().split("\n\n") if chain.strip()]
    with open(sys.argv[2]) as file:
        ours = [[int(frame, 16) for frame in line.partition("|")[0].split()[4:]] for line in file]
    rest, longer = iter(ours), 0
    for chain in theirs:
        match = next((frames for frames in rest if frames[0] == chain[0]), None)
        if match is None:
            sys.exit(f"perf has a sample at {chain[0]:x}, csprof has not")
        if match[:len(chain)] != chain:
            sys.exit(f"perf: {' '.join(f'{f:x}' for f in chain)}; "
                     f"csprof: {' '.join(f'{f:x}' for f in match)}")
        longer += len(match) > len(chain)
    if not theirs:
        sys.exit("perf printed no callchain")
    print(f"{len(theirs)} callchains of perf's are the inner part of ours, {longer} of which go on")


main()
