#!/usr/bin/env python3
"""walk.py BINARY SEED COUNT SAMPLES: samples of random walks through the code of the programs of so
many seeds (program.py), as hybrid perf-script text. They do not run: conditions fall either way,
pointers point anywhere in the same program.

In some programs up to 30 % of the samples have a fault: what a profiler meets on real machines.
"""
import bisect
import random
import re
import subprocess
import sys

EXTERNAL = 0x7f0000001000
DEEPEST = 24


def disassemble(binary):
    """address -> (kind, target, next address), and seed -> {address: number} of its functions"""
    text = subprocess.run(["llvm-objdump-22", "-d", "--no-show-raw-insn", "--section=.text", binary],
                          capture_output=True, text=True, check=True).stdout
    rows, functions = [], {}
    for line in text.splitlines():
        label = re.match(r"([0-9a-f]{16}) <(?:_Z.*?)?p(\d+)_(?:f(\d+))?", line)
        if label:
            functions.setdefault(int(label[2]), {})[int(label[1], 16)] = int(label[3] or -1)
        row = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)", line)
        if row:
            rows.append((int(row[1], 16), row[2], row[3]))
    code = {}
    for (address, name, operands), (following, _, _) in zip(rows, rows[1:] + [(0, "", "")]):
        target = re.search(r"0x([0-9a-f]+) <", operands)
        code[address] = (kind_of(name, target), int(target[1], 16) if target else None, following)
    return code, functions


def kind_of(name, target):
    if re.fullmatch(r"ret[lq]?|retaa|retab", name):
        return "return"
    if re.fullmatch(r"bl|blr|call[q]?", name):
        return "call"
    if re.fullmatch(r"b|br|jmp[q]?", name):
        return "jump"
    if re.fullmatch(r"b\..*|cbn?z|tbn?z|j[a-z]+", name) and target:
        return "condition"
    if re.fullmatch(r"brk|udf|ud2|hlt|int3", name):
        return "stop"
    return "plain"


class Walk:
    def __init__(self, code, addresses, functions, seed):
        self.random = random.Random(seed)
        self.code, self.addresses = code, addresses
        self.functions, self.numbers = sorted(functions), functions
        self.likely = {}
        self.restart()

    def restart(self):
        self.pc = self.random.choice(self.functions)
        self.stack, self.branches = [], []

    def branch(self, target):
        self.branches.append((self.pc, target))
        del self.branches[:-64]
        self.pc = target

    def later(self):
        """The functions that a tail call through a pointer may enter: like the direct ones (program.py)
        those with a greater number, so that there are no circles."""
        own = self.numbers[self.functions[bisect.bisect_right(self.functions, self.pc) - 1]]
        return [f for f in self.functions if self.numbers[f] > own]

    def step(self):
        kind, target, following = self.code[self.pc]
        if kind == "condition":
            odds = self.likely.setdefault(self.pc, self.random.choice([0.05, 0.3, 0.5, 0.7, 0.95]))
            if self.random.random() < odds:
                self.branch(target)
                return
        elif kind == "jump":
            later = [] if target else self.later()
            if not target and not later:
                self.restart()
                return
            self.branch(target or self.random.choice(later))
            return
        elif kind == "call":
            self.stack.append(following)
            self.branch(target or self.random.choice(self.functions))
            return
        elif kind == "return" and self.stack:
            self.branch(self.stack.pop())
            return
        self.pc = following
        if kind in ("return", "stop") or following not in self.code or len(self.stack) > DEEPEST:
            self.restart()

    def sample(self, faulty):
        """The frames, leaf first, and the branches, newest first."""
        frames = [self.pc] + self.stack[::-1]
        branches = self.branches[::-1][:self.random.choice([2, 4, 8, 16, 32])]
        if faulty:
            self.spoil(frames, branches)
        return frames, branches

    def spoil(self, frames, branches):
        fault = self.random.randrange(8)
        place = self.random.randrange(len(branches))
        anywhere = self.random.choice(self.addresses)
        if fault == 0:
            frames[0] = anywhere
        elif fault == 1:
            frames[self.random.randrange(len(frames))] = anywhere
        elif fault == 2:
            del frames[self.random.randrange(1, len(frames) + 1):]
        elif fault == 3 and len(branches) > 2:
            del branches[place]
        elif fault == 4 and self.code[anywhere][0] not in ("return", "jump"):
            # What llvm-profgen makes of the two left out depends on the order of its samples
            # (tests/cli/gen_where_llvm_profgen_fails.sh): of a return to where no call is, after
            # which it loses frames of other contexts, and of tail calls in a circle.
            branches[place] = (anywhere, branches[place][1])
        elif fault == 5:
            branches[place] = (EXTERNAL + place, branches[place][1])
        elif fault == 6:
            branches[place] = (branches[place][0], EXTERNAL)
        else:
            frames[self.random.randrange(len(frames))] = EXTERNAL


def mapping(binary):
    """The executable segment as perf reports it, at the address that the file asks for."""
    text = subprocess.run(["llvm-readelf-22", "-lW", binary], capture_output=True, text=True,
                          check=True).stdout
    for row in text.splitlines():
        load = re.match(r"\s*LOAD\s+(0x\S+)\s+(0x\S+)\s+\S+\s+(0x\S+)\s+\S+\s+(.*)", row)
        if load and "E" in load[4].split("0x")[0]:
            offset, address, size = (int(load[i], 16) for i in (1, 2, 3))
            start = address & ~0xfff
            return (f"PERF_RECORD_MMAP2 7/7: [{start:#x}({(address + size - start + 0xfff) & ~0xfff:#x})"
                    f" @ {offset & ~0xfff:#x} 08:01 1 1]: r-xp {binary}")
    sys.exit(f"{binary}: no executable segment")


def write_samples(walk, samples, faults):
    while samples:
        for _ in range(walk.random.randint(30, 300)):
            walk.step()
        if len(walk.branches) < 2:
            continue
        frames, branches = walk.sample(walk.random.randrange(100) < faults)
        if walk.random.random() < 0.2:
            print(walk.random.randint(2, 50))
        print("\n".join(f"\t{frame:16x}" for frame in frames))
        print("".join(f" {source:#x}/{target:#x}/P/-/-/0 " for source, target in branches))
        print()
        samples -= 1


def main():
    binary, first, count, samples = sys.argv[1], *map(int, sys.argv[2:5])
    code, functions = disassemble(binary)
    addresses = sorted(code)
    print(mapping(binary))
    for seed in range(first, first + count):
        write_samples(Walk(code, addresses, functions[seed], seed), samples, seed % 4 * 10)


main()
