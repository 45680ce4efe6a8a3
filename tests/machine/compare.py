#!/usr/bin/env python3
"""Compares what a decoder found in a recording of the machine with what really ran.

    compare.py runs TRUTH MARK [BELOW] < csprof decode --format script
    compare.py rest TRUTH MARK [BELOW] < csprof decode --format script
    compare.py branches TRUTH MARK [BELOW] < perf script --itrace=b -F ip,addr,flags
    compare.py samples TRUTH MARK < csprof decode --format samples
    compare.py stacks TRUTH MARK MISSING < csprof decode --format samples
    compare.py windows TRUTH MARK < csprof decode --format samples
    compare.py duty TRUTH MARK OTHER
    compare.py lengths TRUTH MARK INSTRUCTIONS

TRUTH is the machine's truth file (emulate/machine/machine_truth.h), of which the part after
`mark MARK` counts. With BELOW, only runs that begin below that address count: the static program's.
Prints one line and exits 0 when they agree, 1 when not. `rest`: of a recording that lost its oldest
trace, what is there must be what ran last. `duty` prints the share of the instructions
traced after MARK in those traced after `mark OTHER`. `windows`: samples whose call stacks are only
printed, because the truth does not know the calls of threads that ran before it began. `lengths`: all
windows but those that a context switch cut, or that came too soon, have so many instructions.
"""
import collections
import re
import sys


class Run:
    def __init__(self, start):
        self.start, self.branches, self.end, self.kind = start, [], None, None
        self.instructions = 0


class Window:
    def __init__(self):
        self.runs, self.calls = [], []


def read_truth(path, mark):
    windows, wanted = [], False
    with open(path) as file:
        for line in file:
            word = line.split()
            if word[0] == 'mark':
                wanted = word[1] == mark
            elif not wanted:
                continue
            elif word[0] == 'window':
                windows.append(Window())
            elif word[0] == 'run':
                windows[-1].runs.append(Run(int(word[1], 16)))
            elif word[0] == 'b':
                windows[-1].runs[-1].branches.append((int(word[1], 16), int(word[2], 16)))
            elif word[0] == 'end':
                windows[-1].runs[-1].end = int(word[1], 16)
                windows[-1].runs[-1].kind = int(word[2], 16)
                windows[-1].runs[-1].instructions = int(word[3])
            elif word[0] == 'calls':
                windows[-1].calls = [a.lstrip('!') for a in word[1:]]
    return windows


FILTERED = 0xff


def visible(run):
    """Where a filter stopped the trace, the target of the last branch was never told."""
    cut = run.kind == FILTERED and run.branches and run.branches[-1][1] == run.end
    return tuple(run.branches[:-1] if cut else run.branches)


def difference(found, true):
    found, true = collections.Counter(found), collections.Counter(true)
    missing, extra = true - found, found - true
    for name, items in (('only in the truth', missing), ('not in the truth', extra)):
        for item, count in list(items.items())[:3]:
            text = ' '.join('%x>%x' % branch for branch in item[-4:]) if item and isinstance(
                item[0], tuple) else '%x>%x' % item
            print('%s, %d times: %s' % (name, count, text))
    return sum(missing.values()) + sum(extra.values())


def true_runs(windows, below):
    true = [visible(run) for window in windows for run in window.runs]
    return [branches for branches in true if branches and branches[0][0] < below]


def found_runs(below):
    found = []
    for line in sys.stdin:
        if not line.startswith('\t'):
            continue
        pairs = re.findall(r'0x([0-9a-f]+)/0x([0-9a-f]+)/', line)
        run = tuple((int(a, 16), int(b, 16)) for a, b in reversed(pairs))
        if run and run[0][0] < below:
            found.append(run)
    return found


def compare_runs(windows, below):
    """Every run, as the sequence of its branches; their order is not compared."""
    true, found = true_runs(windows, below), found_runs(below)
    wrong = difference(found, true)
    print('%d runs, %d branches, %d differences' % (len(true), sum(map(len, true)), wrong))
    return wrong == 0 and true


def compare_rest(windows, below):
    """Runs that are there as a whole, but for one whose beginning is lost."""
    true, found = true_runs(windows, below), found_runs(below)
    whole = set(true)
    cut = [run for run in found if run not in whole]
    wrong = [run for run in cut if not any(t[-len(run):] == run for t in true)]
    lost = sum(map(len, true)) - sum(map(len, found))
    print('%d branches of %d lost, %d runs cut, %d runs wrong' %
          (lost, sum(map(len, true)), len(cut), len(wrong)))
    return not wrong and len(cut) == 1 and lost > 0


def compare_branches(windows, below):
    """Every branch and how often. perf has none into an instruction that never ran."""
    true = []
    for window in windows:
        for run in window.runs:
            branches = run.branches
            if branches and run.end == branches[-1][1]:
                branches = branches[:-1]
            true += branches
    found = []
    for line in sys.stdin:
        match = re.search(r'([0-9a-f]+) => +([0-9a-f]+)', line)
        if match and 'tr strt' not in line and 'tr end' not in line:
            found.append((int(match[1], 16), int(match[2], 16)))
    true = [branch for branch in true if branch[0] < below and branch[1] < below]
    found = [branch for branch in found if branch[0] < below and branch[1] < below]
    wrong = difference(found, true)
    print('%d branches, %d differences' % (len(true), wrong))
    return wrong == 0 and true


def calls_allow(callers, window):
    """A stack may be known in part. A thread that has not run yet has the registers, and so the callers, of the one
    that made it."""
    is_new = not window.calls and all(run.start == run.end and not run.branches for run in window.runs)
    return is_new or (callers == window.calls[:len(callers)] and len(window.calls) >= len(callers))


def compare_samples(windows, _, missing=0):
    """Every stitched pause sample: the window's last run, its end and the calls in progress. A
    window that no pause closed has no sample. Pairs by order alone may be wrong: one, or one in twenty."""
    true = collections.defaultdict(list)
    for window in windows:
        if window.runs:
            last = window.runs[-1]
            key = (last.end, tuple(reversed(last.branches)))
            true[key].append(window)
    stitched = wrong = chains = by_order = wrong_by_order = unsure = 0
    for line in sys.stdin:
        field = line.split()
        if field[3] not in ('exact', 'time', 'order'):
            continue
        stitched += 1
        by_order += field[3] == 'order'
        bar = field.index('|')
        frames = field[4:bar]
        end = int(field[bar + 1].lstrip('.'), 16)
        pairs = [tuple(int(a, 16) for a in f.split('>')) for f in field[bar + 2:] if '>' in f]
        # A sample tells the branches of the whole window; the truth's last run is its newest part.
        matches = [w for (e, branches), ws in true.items() for w in ws
                   if e == end and tuple(pairs[:len(branches)]) == branches]
        if not matches:
            wrong += 1
            wrong_by_order += field[3] == 'order'
            print('no window ends so: %s' % line[:160].rstrip())
            continue
        if any(calls_allow(frames[1:], w) for w in matches):
            chains += 1
        else:
            # By order alone a sample can have got the history of a window that ended alike.
            unsure += field[3] == 'order'
            print('call stack %s, really %s' % (' '.join(frames), ' '.join(matches[0].calls)))
    print('%d stitched pairs (%d by order), %d wrong (%d), %d with the true call stack' %
          (stitched, by_order, wrong, wrong_by_order, chains))
    excused = wrong + min(unsure, max(1, by_order / 5)) + int(missing)
    return wrong == wrong_by_order <= max(1, by_order / 20) and chains + excused >= stitched and stitched


def compare_stacks(windows, missing):
    """The same, where csprof itself says of so many stacks that a caller is missing: no others are
    wrong. (In a recursion a stack that lacks one looks right.)"""
    return compare_samples(windows, None, missing)


def compare_windows(windows, _):
    return compare_samples(windows, None, 1 << 64)


def instructions(path, mark):
    return sum(run.instructions for window in read_truth(path, mark) for run in window.runs)


def compare_lengths(windows, wanted):
    lengths = [sum(run.instructions for run in window.runs) for window in windows if window.runs]
    right = lengths.count(wanted)
    print('%d of %d windows have %d instructions' % (right, len(lengths), wanted))
    return right >= 20 and right >= 0.8 * len(lengths)


def main():
    what, path, mark = sys.argv[1:4]
    if what == 'duty':
        print('%.4f' % (instructions(path, mark) / instructions(path, sys.argv[4])))
        return
    compare = {'runs': compare_runs, 'rest': compare_rest, 'branches': compare_branches,
               'samples': compare_samples, 'stacks': compare_stacks, 'windows': compare_windows,
               'lengths': compare_lengths}
    below = int(sys.argv[4], 0) if len(sys.argv) > 4 else 1 << 64
    sys.exit(0 if compare[what](read_truth(path, mark), below) else 1)


main()
