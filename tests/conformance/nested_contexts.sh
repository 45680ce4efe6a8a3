#!/usr/bin/env bash
# Random profiles by context, nested by csprof gen and by llvm-profdata: the same bytes. With hashes for
# names, too.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?} count=${1:-100}
needs clang-22 ld.lld-22 llvm-profdata-22 python3
cd "$work" || exit 1
build_probed -o program -x c - <<<'void _start(void) {}'

cat >profile.py <<'END'
import random, sys
chance = random.Random(int(sys.argv[1]))
largest = chance.choice([9, 1000, 2**64 - 1])
probed = chance.random() < 0.7
functions = "fghij"[:chance.randint(2, 5)]
def place(): return str(chance.randint(1, 4)) + chance.choice(["", "", "", ".1"])
def count(): return chance.choice([0, 1, largest, chance.randint(0, largest)])
contexts = set()
for _ in range(chance.randint(1, 60)):
    path = chance.choice(functions)
    for _ in range(chance.choice([0, 1, 1, 2, 2, 3, 5])):
        path += f":{place()} @ {chance.choice(functions)}"
    contexts.add(path)
for path in sorted(contexts):
    print(f"[{path}]:{count()}:{count()}")
    for at in sorted({place() for _ in range(chance.randint(0, 6))}, key=float):
        callees = chance.sample(functions, chance.choice([0, 0, 1, 2]))
        print(f" {at}: {count()}" + "".join(f" {callee}:{count()}" for callee in callees))
    if probed:
        print(f" !CFGChecksum: {chance.choice([5, 5, 5, 5, 6])}")
    if chance.random() < 0.5:
        print(f" !Attributes: {chance.randint(1, 3)}")
END

nest() { # PROFILE GOT
    "$csprof" gen -q --no-cache -b program --llvm-sample-profile "$1" --csspgo-preinliner=0 \
        --csprof-merge-cold-context=0 --format text -o "$2" 2>messages ||
        fail "$1: $(cat messages)"
}
for ((seed = 0; seed < count; seed++)); do
    python3 profile.py $seed >contexts
    llvm-profdata-22 merge --sample --text --convert-sample-profile-layout=nest contexts -o expected 2>messages ||
        fail "seed $seed: llvm-profdata: $(cat messages)"
    nest contexts got
    cmp expected got || { fail "seed $seed"; diff expected got | head -n 5; }
    llvm-profdata-22 merge --sample --extbinary --use-md5 contexts -o hashed 2>/dev/null
    llvm-profdata-22 merge --sample --text --convert-sample-profile-layout=nest hashed -o expected 2>/dev/null
    nest hashed got
    cmp expected got || { fail "seed $seed, with hashes"; diff expected got | head -n 5; }
done
echo "$count profiles, the last of $(wc -l <expected) lines"
exit $failed
