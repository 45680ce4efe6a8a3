#!/usr/bin/env bash
# A recording of branches beside create_llvm_prof (Debian's autofdo): the same flat profile by lines, line
# by line, but for what is known and counted here:
#  - totals: create_llvm_prof adds up other weights of instructions;
#  - calls: where a line's call was taken more often than its range was seen, csprof (as llvm-profgen)
#    believes the call; of two calls in one line create_llvm_prof keeps one;
#  - functions that were seen once: create_llvm_prof leaves them out, and their calls;
#  - names of inlined functions: create_llvm_prof 0.19 prints freed memory, as long as the name was.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?} corpus=${CSPROF_CORPUS:?}/autofdo
needs_corpus autofdo
needs create_llvm_prof python3
cd "$work" || exit 1

create_llvm_prof --profile="$corpus/test.lbr" --binary="$corpus/test.binary" --format=text --out=theirs \
    >log 2>&1 || { echo "FAILED: create_llvm_prof: $(tail -n 3 log)"; exit 1; }
"$csprof" gen -q -i "$corpus/test.lbr" -b "$corpus/test.binary" --mode dwarf-flat --format text -o ours \
    2>log || { echo "FAILED: csprof: $(cat log)"; exit 1; }
python3 - <<'END'
import re
import sys

ours = open("ours", "rb").read().split(b"\n")
TOP = re.compile(rb"([^ ].*):(\d+):(\d+)$")
INLINED = re.compile(rb"( +[\d.]+): (?!\d+(?: |$))(.*):(\d+)$", re.DOTALL)
BODY = re.compile(rb"( +[\d.]+): (\d+)((?: \S+:\d+)*)$")


def lines_beside(text, ours):
    """The lines of text: what stands for an inlined name may hold a line's end, so our name's length counts."""
    lines, at = [], 0
    while at < len(text):
        mine = INLINED.match(ours[len(lines)]) if len(lines) < len(ours) else None
        end = text.find(b"\n", at + (mine.end(2) if mine else 0))
        end = len(text) if end < 0 else end
        lines.append(text[at:end].rstrip())
        at = end + 1
    return lines


theirs = lines_beside(open("theirs", "rb").read().rstrip(b"\n"), ours)
once = ours[len(theirs):]
if any(int(count) > 1 for line in once for count in re.findall(rb"^ .*?: (\d+)", line)):
    sys.exit("FAILED: create_llvm_prof lacks " + b"\n".join(once).decode())
known = {"equal": 0, "totals": 0, "calls": 0, "heads": 0, "names": 0, "of functions seen once": len(once)}


def calls(text):
    return {name: int(count) for name, count in re.findall(rb" (\S+):(\d+)", text)}


def compare(a, b):
    if a == b:
        return "equal"
    for kind in (TOP, BODY, INLINED):
        x, y = kind.match(a), kind.match(b)
        if not x or not y or x[1] != y[1]:
            continue
        if kind is TOP:
            return "totals" if x[3] == y[3] else "heads" if int(x[3]) < int(y[3]) else None
        if kind is INLINED:
            return "totals" if x[2] == y[2] else "names" if any(c > 126 or c < 32 for c in x[2]) else None
        mine, other = calls(y[3]), calls(x[3])
        more = all(mine.get(name, 0) >= count for name, count in other.items())
        return "calls" if mine and more and int(y[2]) >= max(int(x[2]), *mine.values()) else None
    return None


for a, b in zip(theirs, ours):
    verdict = compare(a, b)
    if not verdict:
        sys.exit(f"FAILED: create_llvm_prof: {a!r}\n        csprof:           {b!r}")
    known[verdict] += 1
print(", ".join(f"{count} {what}" for what, count in known.items()))
if known["equal"] < 650 or known["calls"] > 20 or known["heads"] > 1 or len(once) > 20:
    sys.exit("FAILED: too many differences")
END
