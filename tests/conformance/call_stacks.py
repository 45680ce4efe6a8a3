#!/usr/bin/env python3
"""Call stacks before and after repair, compared with the emulator's shadow stack.

    call_stacks.py PROGRAM LEAST (TRUTH RECORDED REPAIRED)...

Of several runs of PROGRAM: TRUTH is a truth file (emulate/user/truth.h); REPAIRED is what `csprof decode
--format samples` prints, RECORDED the same with --stacks recorded. A sample's records are valid when every
function in progress has its frame record, but for the innermost, whose return address is then in x30: in
a leaf, a prologue, an epilogue. A caller is told by the recording when a frame record has it, or x30, or a
call in the window. Behind a signal handler x30 is all that the kernel's record tells of what was
interrupted, so there stacks are compared up to the handler.

Prints: samples; instructions of PROGRAM at which there is one, of those that ran; share of stacks that
are right as recorded, as repaired, as repaired of those whose records are valid, and of those of which
the recording tells all callers. Exits 1 when not all with valid records are right, or not all that are
told, or less than LEAST % of all, or, if LEAST is not 0, an instruction that ran has no sample.
"""
import sys

ADDRESS = (1 << 48) - 1
KERNEL_MOST = 127  # frames in a callchain
CALLS, RETURN = ("3", "5"), "6"  # kinds of branches (emulate/flow.h)


def follow(open_calls, source, target, kind):
    if kind in CALLS:
        open_calls.append(int(source, 16) + 4)
    elif kind == RETURN and open_calls:
        open_calls.pop()


class Truth:
    def __init__(self, path):
        self.maps, self.samples, self.ran, sampled, open_calls = [], {}, set(), 0, []
        with open(path) as file:
            for line in file:
                what, *rest = line.split()
                if what == "map":
                    self.maps.append((int(rest[0], 16), int(rest[1], 16), rest[2]))
                elif what == "window":
                    sampled, open_calls, interrupted = (int(rest[1]), int(rest[4])), [], 0
                elif what == "run" and int(rest[0], 16) != interrupted:
                    open_calls = []  # the history does not go back beyond it
                elif what == "end":
                    interrupted = int(rest[0], 16)
                elif what == "b":
                    follow(open_calls, *rest)
                elif what == "code":
                    self.ran.update(range(int(rest[0], 16), int(rest[1], 16), 4))
                elif what == "lr":
                    lr = int(rest[0], 16) & ADDRESS
                elif what == "calls":
                    self.samples[sampled] = (lr, rest, set(open_calls))

    @staticmethod
    def before_signal(calls, pc):
        """A signal that interrupted at the sample's very PC came when the sample had been taken."""
        if calls and calls[0] == "!%x" % pc:
            calls = calls[1:]
        signal = next((i for i, call in enumerate(calls) if call[0] == "!"), len(calls))
        return [int(call, 16) for call in calls[:signal]], signal < len(calls)

    def file_of(self, address):
        return next((path for start, length, path in self.maps
                     if start <= address < start + length), None)

    def is_in(self, address, program):
        return (self.file_of(address) or "").endswith("/" + program)

    def before_trampoline(self, frames):
        """Callers up to a signal handler's: it returns to code that is no file's."""
        for i, frame in enumerate(frames):
            if not self.file_of(frame):
                return frames[:i]
        return frames


def read_samples(path):
    """(tid, time) and frames of each sample with a verdict."""
    with open(path) as file:
        for line in file:
            time, ids, _, verdict, *frames = line.partition("|")[0].split()
            if verdict in ("exact", "time", "order"):
                yield (int(ids.split("/")[1]), int(time)), [int(frame, 16) for frame in frames]


def same(chain, true, cut_off):
    """The kernel cuts off what is further out than it counts."""
    return chain == (true[:len(chain)] if cut_off else true)


class Table:
    def __init__(self, program):
        self.program = program
        self.total = self.raw_right = self.right = 0
        self.valid = self.valid_right = self.told = self.told_right = 0
        self.places, self.ran = set(), set()

    def add(self, truth, key, raw, repaired):
        lr, calls, open_calls = truth.samples[key]
        if not truth.file_of(repaired[0]):
            return  # in the trampoline itself
        pc, cut_off = repaired[0], len(raw) == KERNEL_MOST
        calls, in_handler = truth.before_signal(calls, pc)
        cut = truth.before_trampoline if in_handler else lambda callers: callers
        raw, repaired = cut(raw[1:]), cut(repaired[1:])
        is_valid = same(raw, calls, cut_off) or (
            same(raw, calls[1:], cut_off) and lr == calls[0])
        is_right = same(repaired, calls, cut_off)
        is_told = set(calls[:KERNEL_MOST]) <= open_calls | set(raw) | {lr}
        self.total += 1
        self.raw_right += same(raw, calls, cut_off)
        self.right += is_right
        self.valid += is_valid
        self.valid_right += is_valid and is_right
        self.told += is_told
        self.told_right += is_told and is_right
        if truth.is_in(pc, self.program):
            self.places.add(pc)
        if (is_valid or is_told) and not is_right:
            print("wrong: %x: %s, really %s, recorded %s, lr %x" % (
                pc, " ".join("%x" % f for f in repaired), " ".join("%x" % c for c in calls),
                " ".join("%x" % f for f in raw), lr), file=sys.stderr)

    def print(self):
        print("%7d %5d of %-5d %8.3f %% %8.3f %% %8.3f %% %8.3f %% of %d" % (
            self.total, len(self.places), len(self.ran), 100 * self.raw_right / self.total,
            100 * self.right / self.total, 100 * self.valid_right / self.valid,
            100 * self.told_right / self.told, self.told))


def main():
    if len(sys.argv) < 6 or len(sys.argv) % 3:
        sys.exit(__doc__)
    table = Table(sys.argv[1])
    for i in range(3, len(sys.argv), 3):
        truth, recorded = Truth(sys.argv[i]), dict(read_samples(sys.argv[i + 1]))
        table.ran.update(address for address in truth.ran if truth.is_in(address, table.program))
        for key, frames in read_samples(sys.argv[i + 2]):
            table.add(truth, key, recorded[key], frames)
    if not table.total:
        sys.exit("no samples")
    table.print()
    least = float(sys.argv[2]) / 100
    good = (table.valid_right == table.valid and table.told_right == table.told
            and table.right >= least * table.total and (not least or table.places >= table.ran))
    sys.exit(0 if good else 1)


main()
