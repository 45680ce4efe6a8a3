#!/usr/bin/env bash
# Call stacks of samples at every instruction that runs often enough, prologues and epilogues among
# them, compared with the emulator's shadow stack: as the kernel's walk along the frame records finds
# them, and repaired. Two lengths of windows: so short that hardly a call is in them, and ordinary.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
programs=$CSPROF_SOURCE/tests/programs
clang=${CLANG:-clang-22}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

command -v qemu-aarch64 >/dev/null || { echo "skipped: there is no qemu-aarch64"; exit 77; }
[ -e "$CSPROF_BUILD/csprof-emulate.so" ] || { echo "skipped: this build has no emulator"; exit 77; }
if ! command -v "$clang" >/dev/null || [ ! -d /usr/aarch64-linux-gnu/include ]; then
    echo "skipped: no $clang or no libc6-dev-arm64-cross to build the programs"
    exit 77
fi

compile() { # BUILD OPTION...
    local build=$1
    shift
    local options=(--target=aarch64-linux-gnu -O2 -g "$@")
    "$clang" "${options[@]}" -fomit-frame-pointer -c "$programs/stacks_bare.c" -o bare.o
    "$clang" "${options[@]}" -fno-omit-frame-pointer -fuse-ld=lld-22 "$programs/stacks.c" bare.o \
        -o "stacks.$build"
    "$clang" "${options[@]}" -fno-omit-frame-pointer -fuse-ld=lld-22 "$programs/deep_recursion.c" \
        -o "deep_recursion.$build"
}
compile plain -momit-leaf-frame-pointer
compile leaf -mno-omit-leaf-frame-pointer
compile signed -momit-leaf-frame-pointer -mbranch-protection=standard
compile signed-leaf -mno-omit-leaf-frame-pointer -mbranch-protection=standard

failed=0
check() { # PROGRAM ARGUMENT WINDOW LEAST
    local build name
    for build in plain leaf signed signed-leaf; do
        name=$1.$build
        "$CSPROF" collect --emulate --json --truth truth --period 31 --window "$3" --cover 2 \
            -- "./$name" "$2" >totals 2>output || { cat output; failed=1; continue; }
        "$CSPROF" decode -q --format samples -o repaired 2>err &&
            "$CSPROF" decode -q --format samples --stacks recorded -o recorded 2>err ||
            { cat err; failed=1; continue; }
        printf "%-14s %-11s %5s" "$1" "$build" "$3"
        python3 "$here/call_stacks.py" truth recorded repaired "$name" "$4" || failed=1
        # The emulator's walk begins where the program's own stores say that x29 points.
        python3 -c 'import json; totals = json.load(open("totals"))
assert totals["frame_pointers_wrong"] == 0 and totals["frame_pointers_checked"] > 1000' || failed=1
    done
}
echo "program        build      window samples  at instructions  recorded   repaired  with valid records"
check stacks 60 16 0
check stacks 600 2000 99.9
check deep_recursion 1 16 0
check deep_recursion 1 2000 99.9
exit $failed
