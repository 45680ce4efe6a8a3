#!/usr/bin/python3
"""explain_block_probes.py DEBIAN.probes PATCHED.probes DEBIAN.contexts PATCHED.contexts

Names the cause of each difference between two builds of a program, of which the second one's block
probes went through LLVM's pass, and fails where there is none. The first two files are what probes_dump
prints; the other two are csprof's profiles by contexts, not merged, of one recording. Causes:

  removed   a block probe without code in its block; the other build has it at the next block's code
  moved     a block probe behind its block's code; the pass puts it at the last instruction
  total     a sum over one of them: the total of a context, by exactly the difference of its counts
  context   a context that has no other count, and so is in one profile only
"""
import sys

LONGEST_PSEUDO = 16  # bytes of code that one of LLVM's instructions can become


def fail(message):
    sys.exit(f"FAILED: {message}")


def block_probes(path):
    """(index and place in the inline tree) -> addresses"""
    probes = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            address, kind, rest = line.rstrip("\n").split(" ", 2)
            if kind == "block":
                probes.setdefault(rest, set()).add(int(address, 16))
    return probes


def moved_probes(plain, patched):
    """function and index -> cause, of the probes that are elsewhere"""
    causes = {}
    for probe in sorted(plain.keys() | patched.keys()):
        gone = sorted(plain.get(probe, set()) - patched.get(probe, set()))
        come = sorted(patched.get(probe, set()) - plain.get(probe, set()))
        index, function = probe.split(" ")[:2]
        for address in gone:
            new = [at for at in come if 0 < address - at <= LONGEST_PSEUDO]
            cause = "moved" if new else "removed"
            for at in new:
                come.remove(at)
            causes[function, index] = cause
            print(f"  {cause} {address:x} {probe}")
        if come:
            fail(f"the pass made a block probe where there was none: {come[0]:x} {probe}")
    return causes


def contexts(path):
    """context -> (total, head, {index: count})"""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("["):
                name, total, head = line.rstrip("\n").rsplit(":", 2)
                counts = {}
                found[name] = int(total), int(head), counts
            elif line.startswith(" !"):
                counts[line.strip()] = 0  # checksum, attributes: part of what must be equal
            else:
                index, count = line.split(":", 1)
                count, *targets = count.split()
                counts[index.strip()] = int(count)
                if targets:
                    counts[f"{index.strip()} calls {' '.join(targets)}"] = 0
    return found


def explain(plain, patched, causes):
    lines = {"removed": 0, "moved": 0, "total": 0, "context": 0}
    nothing = 0, 0, {}
    for name in sorted(plain.keys() | patched.keys()):
        total, head, counts = plain.get(name, nothing)
        other_total, other_head, other_counts = patched.get(name, nothing)
        function = name.strip("[]").split(" @ ")[-1]
        difference = 0
        alone = not (counts and other_counts)
        lines["context"] += alone
        for index in counts.keys() | other_counts.keys():
            if counts.get(index) == other_counts.get(index):
                continue
            if alone and not counts.get(index, 0) and not other_counts.get(index, 0):
                continue
            if (function, index) not in causes:
                fail(f"{name}: {index}: {counts.get(index)} and {other_counts.get(index)}")
            lines[causes[function, index]] += 1
            difference += counts.get(index, 0) - other_counts.get(index, 0)
        if total - other_total != difference:
            fail(f"{name}: totals {total} and {other_total}, and their counts differ by {difference}")
        lines["total"] += difference != 0
        if head != other_head and (function, "1") not in causes:
            fail(f"{name}: entered {head} and {other_head} times")
    return lines


def main():
    files = sys.argv[1:]
    causes = moved_probes(block_probes(files[0]), block_probes(files[1]))
    lines = explain(contexts(files[2]), contexts(files[3]), causes)
    print("  lines of the profile by cause:", ", ".join(f"{n} {cause}" for cause, n in lines.items()))


main()
