#!/usr/bin/env python3
"""Call stacks before and after repair, compared with the emulator's shadow stack.

    call_stacks.py TRUTH RECORDED REPAIRED PROGRAM LEAST

TRUTH is a truth file (emulate/user/truth.h); REPAIRED is what `csprof decode --format samples` prints,
RECORDED the same with --stacks recorded. A sample's records are valid when every function in
progress has its frame record, but for the innermost, whose return address is then in x30: in a leaf,
a prologue, an epilogue. Behind a signal handler x30 is all that the kernel's record tells of what was
interrupted, so there stacks are compared up to the handler.

Prints: samples; instructions of PROGRAM at which there is one, of those that ran; share of stacks that
are right as recorded, as repaired, and as repaired of those whose records are valid. Exits 1 when
not all of the last are right, or less than LEAST % of all.
"""
import sys

ADDRESS = (1 << 48) - 1
KERNEL_MOST = 127  # frames in a callchain


class Truth:
    def __init__(self, path):
        self.maps, self.samples, self.ran, sampled = [], {}, set(), 0
        with open(path) as file:
            for line in file:
                what, *rest = line.split()
                if what == "map":
                    self.maps.append((int(rest[0], 16), int(rest[1], 16), rest[2]))
                elif what == "window":
                    sampled = (int(rest[1]), int(rest[4]))
                elif what == "code":
                    self.ran.update(range(int(rest[0], 16), int(rest[1], 16), 4))
                elif what == "lr":
                    lr = int(rest[0], 16) & ADDRESS
                elif what == "calls":
                    self.samples[sampled] = (lr, self.before_signal(rest))

    @staticmethod
    def before_signal(calls):
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


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    truth, recorded = Truth(sys.argv[1]), dict(read_samples(sys.argv[2]))
    total = raw_right = right = valid = valid_right = 0
    places = set()
    for key, frames in read_samples(sys.argv[3]):
        lr, (calls, in_handler) = truth.samples[key]
        if not truth.file_of(frames[0]):
            continue  # in the trampoline itself
        cut = truth.before_trampoline if in_handler else lambda callers: callers
        raw, repaired = cut(recorded[key][1:]), cut(frames[1:])
        cut_off = len(recorded[key]) == KERNEL_MOST
        is_valid = same(raw, calls, cut_off) or (
            same(raw, calls[1:], cut_off) and lr == calls[0])
        is_right = same(repaired, calls, cut_off)
        total += 1
        raw_right += same(raw, calls, cut_off)
        right += is_right
        valid += is_valid
        valid_right += is_valid and is_right
        if truth.is_in(frames[0], sys.argv[4]):
            places.add(frames[0])
        if is_valid and not is_right:
            print("wrong: %x: %s, really %s, lr %x" % (
                frames[0], " ".join("%x" % f for f in repaired),
                " ".join("%x" % c for c in calls), lr), file=sys.stderr)
    if not total:
        sys.exit("no samples")
    ran = sum(truth.is_in(address, sys.argv[4]) for address in truth.ran)
    print("%7d %5d of %-5d %8.3f %% %8.3f %% %8.3f %%" % (
        total, len(places), ran, 100 * raw_right / total, 100 * right / total,
        100 * valid_right / valid))
    sys.exit(0 if valid_right == valid and right >= float(sys.argv[5]) / 100 * total else 1)


main()
