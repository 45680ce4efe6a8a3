# Sourced by the tests that are scripts. A test runs in a folder of its own, $work, which goes with it;
# `fail` tells what is wrong and goes on, and a test ends with `exit $failed`.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAILED: $*"
    failed=1
}

skip() { # WHY: not a word more of this test, but told as loudly as a failure
    echo "skipped: $*"
    exit 77
}
needs() { # TOOL...
    local tool
    for tool; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
}
needs_emulator() {
    needs qemu-aarch64
    [ -e "${CSPROF_BUILD:?}/csprof-emulate.so" ] || skip "this build has no emulator"
}
needs_corpus() { # [FOLDER]
    [ -d "${CSPROF_CORPUS:-}/${1:-}" ] || skip "no corpus at CSPROF_CORPUS=${CSPROF_CORPUS:-}"
}

# Programs for the emulator that need no C library, with all that `csprof gen` wants of a compiler.
build_probed() { # FLAG... -o PROGRAM SOURCE...
    clang-22 --target=aarch64-linux-gnu -O2 -fuse-ld=lld-22 -nostdlib -static -Wl,--build-id \
        -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -gmlt -fdebug-info-for-profiling \
        -fpseudo-probe-for-profiling "$@" || exit 1
}
record_emulated() { # DATA PROGRAM [OPTION...]
    local data=$1 program=$2
    shift 2
    "$csprof" collect -q --emulate --window 300 --period 997 -o "$data" "$@" -- "$program" || exit 1
}

# without_callchains FROM: standard input with the first FROM user callchains and every second one after
# them turned into the kernel's, by their PERF_CONTEXT_USER
without_callchains() {
    python3 -c '
import re, sys
first, seen = int(sys.argv[1]), 0
def turned(context):
    global seen
    seen += 1
    return b"\x80" + 7 * b"\xff" if seen <= first or seen % 2 else context.group()
sys.stdout.buffer.write(re.sub(b"\x00\xfe" + 6 * b"\xff", turned, sys.stdin.buffer.read()))' "$1"
}

# with_lost_aux_records: standard input, a recording that is not compressed, with LOST in place of its AUX records
with_lost_aux_records() {
    python3 -c '
import struct, sys
data = bytearray(sys.stdin.buffer.read())
at, size = struct.unpack_from("<QQ", data, 40)
end = at + size
while at < end:
    kind, misc, length = struct.unpack_from("<IHH", data, at)
    if kind == 11:  # AUX: offset, size, flags; LOST: id, number
        struct.pack_into("<IHHQQ", data, at, 2, misc, length, 0, 1)
    at += length + (struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0)  # AUXTRACE
sys.stdout.buffer.write(data)'
}
