#!/usr/bin/env python3
"""Compares what was decoded from an emulated recording with the emulator's truth file
(emulate/user/truth.h).

    compare_truth.py TRUTH ranges FILE     csprof decode --format ranges
    compare_truth.py TRUTH branches FILE   perf script --itrace=b -F tid,event,ip,addr
    compare_truth.py TRUTH samples FILE    csprof decode --format samples
    compare_truth.py TRUTH histories FILE  csprof decode --format samples: nothing may be missing
    compare_truth.py TRUTH gaps FILE       the same, of a program that runs code without a file
    compare_truth.py TRUTH unknown N       times that execution went into code without a file
    compare_truth.py TRUTH cut FILE        the same, of a recording without a single pause sample
    compare_truth.py TRUTH instructions N  a number of instructions

Exits 1 at the first difference. Code without a file (the emulator's sigreturn trampoline) cannot be
decoded: it is left out of the truth, and counted in what is printed.
"""
import collections
import sys


class Run:
    def __init__(self, start):
        self.start, self.branches, self.kinds = start, [], []
        self.end = self.returns_to = 0  # one past the last instruction; preferred return address

    def finish(self, returns_to, instructions):
        place, left = self.start, instructions
        for source, target in self.branches:
            left -= (source + 4 - place) // 4
            place = target
        self.end, self.returns_to = place + 4 * left, returns_to
        if left < 0 or (returns_to and self.end != returns_to):
            sys.exit(f"the truth contradicts itself: a run from {self.start:x} with {instructions} "
                     f"instructions ends at {self.end:x}, not at {returns_to:x}")

    def stretches(self):
        """Instructions that ran in sequence, as (start, end)."""
        place = self.start
        for source, target in self.branches:
            yield place, source + 4
            place = target
        if self.end > place:
            yield place, self.end

    def ends_in_branch(self):
        return self.branches and self.branches[-1][1] == self.end


class Window:
    def __init__(self, cpu, tid, sampled):
        self.cpu, self.tid, self.sampled, self.runs, self.calls = cpu, tid, sampled, [], []


class Truth:
    def __init__(self, path):
        self.windows, self.maps, complete = [], [], False
        with open(path) as file:
            for line in file:
                what, *rest = line.split()
                if what == "window":
                    self.windows.append(Window(int(rest[0]), int(rest[1]), int(rest[4])))
                elif what == "run":
                    self.windows[-1].runs.append(Run(int(rest[0], 16)))
                elif what == "b":
                    self.windows[-1].runs[-1].branches.append((int(rest[0], 16), int(rest[1], 16)))
                    self.windows[-1].runs[-1].kinds.append(int(rest[2]))
                elif what == "end":
                    self.windows[-1].runs[-1].finish(int(rest[0], 16), int(rest[2]))
                elif what == "calls":
                    self.windows[-1].calls = rest
                elif what == "map":
                    self.maps.append((int(rest[0], 16), int(rest[1], 16)))
                complete = what == "done"
        if not complete or not self.windows:
            sys.exit(f"{path}: not a complete truth file")

    def has_threads(self):
        """Then the order of windows is that of the rings which happened to get them."""
        return len({window.tid for window in self.windows}) > 1

    def known(self, address):
        return any(start <= address < start + length for start, length in self.maps)

    def stretches(self):
        return (s for window in self.windows for run in window.runs for s in run.stretches())

    def by_sample(self):
        """The windows that a sample closed, by its thread and time."""
        return {(window.tid, window.sampled): window for window in self.windows if window.sampled}


class Sample:
    """A line of csprof decode --format samples."""
    def __init__(self, line):
        head, _, self.history = line.partition("|")
        time, ids, _, self.verdict, *self.frames = head.split()
        self.time, self.tid = int(time), int(ids.split("/")[1])
        self.stitched = self.verdict in ("exact", "time", "order")

    def branches(self):
        """Newest first."""
        return [tuple(int(x, 16) for x in word.split(">"))
                for word in self.history.split() if ">" in word]

    def start(self):
        return int(self.history.split()[-1].rstrip("."), 16)


def read_samples(path):
    with open(path) as file:
        return [Sample(line) for line in file]


def merged(stretches):
    """Joins neighbours: a range ends at each branch, taken or not, and the truth's do not."""
    last = None
    for start, end in stretches:
        if last and last[1] == start:
            last = (last[0], end)
            continue
        if last:
            yield last
        last = (start, end)
    if last:
        yield last


def same(truth, decoded, what):
    truth, decoded = list(truth), list(decoded)
    for i, (a, b) in enumerate(zip(truth, decoded)):
        if a != b:
            sys.exit(f"{what} {i}: truth {a[0]:x} {a[1]:x}, decoded {b[0]:x} {b[1]:x}")
    if len(truth) != len(decoded):
        sys.exit(f"{len(decoded)} {what} were decoded, {len(truth)} is the truth")
    if not truth:
        sys.exit(f"there are no {what} to compare")
    return len(truth)


def differences(truth, decoded, what):
    """Whatever their order; both are Counters."""
    for item in truth.keys() | decoded.keys():
        if truth[item] != decoded[item]:
            sys.exit(f"{what} {item}: {truth[item]} times in truth, {decoded[item]} decoded")


def executed(stretches):
    """How much oftener each instruction ran than the one before it."""
    steps = collections.Counter()
    for start, end in stretches:
        steps[f"{start:x}"] += 1
        steps[f"{end:x}"] -= 1
    return steps


def compare_ranges(truth, path):
    with open(path) as file:
        fields = (line.split() for line in file)
        decoded = [(int(f[0], 16), int(f[1], 16)) for f in fields]
    all_stretches = list(truth.stretches())
    known = [s for s in all_stretches if truth.known(s[0])]
    if truth.has_threads():
        differences(executed(known), executed(decoded), "the instruction at")
        count = len(known)
    else:
        count = same(merged(known), merged(decoded), "stretches")
    print(f"{count} stretches equal the truth; {len(all_stretches) - len(known)} without a file")


def compare_branches(truth, path):
    """Threads all together, because perf 6.1 takes all raw trace for that of the first processor.
    It prints exceptions and gaps as branches from or to 0, so that it loses the target of a branch
    after which nothing ran, and a barrier as a branch to the next instruction; a branch from or to
    code without a file it cannot see."""
    decoded = []
    with open(path) as file:
        for line in file:
            fields = line.split()
            if "branches" not in line:
                continue
            source, target = (int(fields[i], 16) for i in (-3, -1))
            if source and target and target != source + 4:
                decoded.append((source, target))
    real = [b for window in truth.windows for run in window.runs
            for b in (run.branches[:-1] if run.ends_in_branch() else run.branches)
            if truth.known(b[0]) and truth.known(b[1]) and b[1] != b[0] + 4]
    count = len(real)
    if truth.has_threads():
        differences(collections.Counter(f"{a:x}>{b:x}" for a, b in real),
                    collections.Counter(f"{a:x}>{b:x}" for a, b in decoded), "branch")
    else:
        same(real, decoded, "branches")
    print(f"{count} branches equal the truth")


def compare_instructions(truth, number):
    """perf 6.1 may lose a run that goes on in code without a file: nothing else may be missing."""
    count = lossy = 0
    for window in truth.windows:
        for run in window.runs:
            stretches = list(run.stretches())
            known = sum((end - start) // 4 for start, end in stretches if truth.known(start))
            count += known
            lossy += known if any(not truth.known(start) for start, _ in stretches) else 0
    if not count - lossy <= int(number) <= count:
        sys.exit(f"{number} instructions, {count} is the truth")
    print(f"{number} instructions of {count}; {lossy} may be lost")


def joined(window):
    """The branches before the sample, newest first, through the gaps that decoding can bridge."""
    branches, last = [], None
    for run in window.runs:
        if last and last.returns_to != run.start:
            branches = []
        branches += run.branches
        last = run
    return branches[::-1]


def compare_samples(truth, path):
    windows = truth.by_sample()
    verdicts, right_calls, compared = {}, 0, 0
    for sample in read_samples(path):
        verdicts[sample.verdict] = verdicts.get(sample.verdict, 0) + 1
        window = windows.pop((sample.tid, sample.time), None)
        if not sample.stitched:
            continue
        if not window:
            sys.exit(f"the sample at {sample.time} closed no window, but is {sample.verdict}")
        decoded, real = sample.branches(), joined(window)
        if decoded != real[:len(decoded)] or (len(decoded) < len(real) and len(window.runs) == 1):
            sys.exit(f"sample at {sample.time} ({sample.verdict}): its branches are not those before it")
        compared += 1
        right_calls += sample.frames[1:] == window.calls
    if windows:
        sys.exit(f"{len(windows)} pauses have no sample")
    print(f"{compared} samples have their own branches {verdicts}; {right_calls} whole call stacks")


def compare_histories(truth, path):
    """Each sample's history goes back to where its window, or the last stretch of it, began; never
    further, even where a window begins at the address at which the one before it ended."""
    windows = truth.by_sample()
    joins = samples = touching = 0
    ends = {window.runs[-1].returns_to for window in truth.windows if window.runs}
    for sample in read_samples(path):
        if not sample.stitched:
            continue
        runs = windows[sample.tid, sample.time].runs
        first = len(runs) - 1
        while first and runs[first - 1].returns_to == runs[first].start:
            first -= 1
        if (sample.branches() != joined(windows[sample.tid, sample.time])
                or sample.start() != runs[first].start):
            sys.exit(f"sample at {sample.time}: its history is not the last stretch of its window")
        samples += 1
        joins += len(runs) - 1 - first
        touching += first == 0 and runs[0].start in ends
    if not samples or not joins or not touching:
        sys.exit(f"{samples} samples, {joins} joins, {touching} windows that touch: nothing is shown")
    print(f"{samples} histories are whole; {joins / samples:.1f} system calls in each; "
          f"{touching} begin where another window ended")


def compare_gaps(truth, path):
    """A history is of known code alone: it begins where execution came back from the other, and where
    execution was there at the end, or had just come back, it ends with the branch that led there."""
    windows = truth.by_sample()
    whole = begun = ended = 0
    for sample in read_samples(path):
        if not sample.stitched:
            continue
        window = windows[sample.tid, sample.time]
        real = joined(window)
        newest = 0
        if real and (real[0][1] == window.runs[-1].end or not truth.known(real[0][1])):
            while newest < len(real) and not truth.known(real[newest][0]):
                newest += 1
        oldest = newest
        while oldest < len(real) and truth.known(real[oldest][0]):
            oldest += 1
        if sample.branches() != real[newest:oldest]:
            sys.exit(f"sample at {sample.time} ({sample.verdict}): its branches are not those in known code")
        ended += newest > 0
        begun += oldest < len(real)
        whole += newest == 0 and oldest == len(real)
    if not whole or not begun or not ended:
        sys.exit(f"{whole} whole histories, {begun} begun and {ended} ended by a gap: nothing is shown")
    print(f"{whole} histories are whole, {begun} begin behind code without a file, {ended} end before it")


def compare_unknown(truth, number):
    """Whatever happens there, it is told once until an address leads elsewhere."""
    count = 0
    for window in truth.windows:
        for run in window.runs:
            was_known = True
            for start, _ in run.stretches():
                count += was_known and not truth.known(start)
                was_known = truth.known(start)
    if not count or count != int(number):
        sys.exit(f"execution went {count} times into code without a file, not {number}")
    print(f"{count} times into code without a file")


CALL, INDIRECT_CALL, RETURN = 3, 5, 6  # enum csp_flow_kind


def follow(stack, kind, source, target):
    """Return addresses, outermost first."""
    if kind in (CALL, INDIRECT_CALL):
        stack.append(source + 4)
    elif kind == RETURN and target in stack:
        while stack.pop() != target:
            pass
    elif kind == RETURN:
        stack.clear()


def true_cuts(runs, period):
    """The instruction that ran last and the calls in progress, innermost first, every so many."""
    stack, left = [], period
    for run in runs:
        for i, (start, end) in enumerate(run.stretches()):
            while (end - start) // 4 >= left:
                start += 4 * left
                left = period
                yield [start - 4] + stack[::-1]
            left -= (end - start) // 4
            if i < len(run.branches):
                follow(stack, run.kinds[i], *run.branches[i])


def compare_cut(truth, path):
    """Stacks that were followed along the trace, one every 1000 instructions and one at the end."""
    cuts = [[int(frame, 16) for frame in sample.frames] for sample in read_samples(path)]
    if len(truth.windows) != 1 or len(cuts) < 10:
        sys.exit(f"{len(truth.windows)} windows, {len(cuts)} samples: not what was to be compared")
    deepest = 0
    for i, (true, cut) in enumerate(zip(true_cuts(truth.windows[0].runs, 1000), cuts)):
        if true != cut:
            sys.exit(f"sample {i}: {' '.join(f'{f:x}' for f in cut)}, "
                     f"really {' '.join(f'{f:x}' for f in true)}")
        deepest = max(deepest, len(true))
    print(f"{i + 1} of {len(cuts)} call stacks equal the truth, up to {deepest} frames")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    truth = Truth(sys.argv[1])
    {"ranges": compare_ranges, "branches": compare_branches, "samples": compare_samples,
     "histories": compare_histories, "cut": compare_cut, "gaps": compare_gaps, "unknown": compare_unknown,
     "instructions": compare_instructions}[sys.argv[2]](truth, sys.argv[3])


main()
