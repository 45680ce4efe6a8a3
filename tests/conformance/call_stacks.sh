#!/usr/bin/env bash
# Call stacks of samples at every instruction that runs, prologues and epilogues among them, compared
# with the emulator's shadow stack: as the kernel's walk along the frame records finds them, and
# repaired. Two lengths of windows: so short that hardly a call is in them, and ordinary; of these, what
# runs but once is sampled in further runs.
# With those, 99.95 % are right and more. The others are of calls that went through the dynamic linker's resolver,
# which keeps no frame record, and of longjmps, where the window begins behind the call: some five of ten thousand,
# by chance up to twice as many.
#
# CSPROF_CALL_STACKS=all tries all programs in all builds; else some are built in one way alone.
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
    local program
    for program in deep_recursion signals threads; do
        "$clang" "${options[@]}" -fno-omit-frame-pointer -fuse-ld=lld-22 -pthread \
            "$programs/$program.c" -o "$program.$build"
    done
    "$clang" "${options[@]}" -fno-omit-frame-pointer -fuse-ld=lld-22 \
        "$CSPROF_SOURCE/demo/mill/unity.c" -o "mill.$build"
}
compile plain -momit-leaf-frame-pointer
compile leaf -mno-omit-leaf-frame-pointer
compile signed -momit-leaf-frame-pointer -mbranch-protection=standard
compile signed-leaf -mno-omit-leaf-frame-pointer -mbranch-protection=standard

# record NUMBER ARGUMENT OPTION...: a run of $program, and its samples
record() {
    local number=$1 argument=$2
    shift 2
    "$CSPROF" collect --emulate --json --truth "truth.$number" --period 31 --seed $((number + 1)) \
        "$@" -- "./$program" "$argument" >totals 2>output || { cat output; return 1; }
    "$CSPROF" decode -q --format samples -o "repaired.$number" 2>err &&
        "$CSPROF" decode -q --format samples --stacks recorded -o "recorded.$number" 2>err ||
        { cat err; return 1; }
    runs+=("truth.$number" "recorded.$number" "repaired.$number")
    # The emulator's walk begins where the program's own stores say that x29 points.
    python3 -c 'import json; totals = json.load(open("totals"))
assert totals["frame_pointers_wrong"] == 0 and totals["frame_pointers_checked"] > 500'
}

# What has no sample after one run, because it runs but once, gets it in others, with SHORT_ARGUMENT.
cover() { # WINDOW ARGUMENT [SHORT_ARGUMENT]
    local number runs_most=60
    record 0 "$2" --window "$1" --cover 2 || return 1
    [ -n "$3" ] || return 0
    for ((number = 1; number < runs_most; number++)); do
        python3 "$here/unsampled.py" "$program" truth.* >list || return 0
        record "$number" "$3" --window "$1" --cover-at list || return 1
    done
}

cat >small.mill <<'END'
fn fibonacci(n) {
  if n < 2 { return n; }
  return fibonacci(n - 1) + fibonacci(n - 2);
}
let seen = {};
for i in 9 { seen["n" + text(i)] = [i, fibonacci(i)]; }
for key in sort(keys(seen)) { print(join([key], " ")); print(seen[key]); }
END

builds=(plain leaf signed signed-leaf)
failed=0
check() { # PROGRAM WINDOW LEAST ARGUMENT [SHORT_ARGUMENT]
    local name=$1 window=$2 least=$3 argument=$4 short=${5:-} build program runs
    for build in "${builds[@]}"; do
        program=$name.$build runs=()
        rm -f truth.* repaired.* recorded.*
        cover "$window" "$argument" "$short" || { failed=1; continue; }
        python3 "$here/call_stacks.py" "$program" "$least" "${runs[@]}" >row || failed=1
        printf "%-14s %-11s %5s %s\n" "$name" "$build" "$window" "$(cat row)" | tee -a rows
    done
}
# Of ordinary windows, all programs and builds together. A row of its own may have two of signals' 3,800
# samples wrong, of which the recording tells nothing.
check_all() {
    awk '$3 == 2000 { samples += $4; right += $4 * $10 / 100 }
        END { share = samples ? 100 * right / samples : 0
              printf "all of 2000: %d samples, %.3f %% right when repaired\n", samples, share
              exit share < 99.9 }' rows || failed=1
}
echo "program        build      window samples  at instructions  recorded   repaired  valid records  all told"
check stacks 16 0 60
check stacks 2000 99.8 600 9
check deep_recursion 16 0 1
check deep_recursion 2000 99.8 1 1
[ -n "${CSPROF_CALL_STACKS:-}" ] || builds=(signed)
check signals 16 0 40
check signals 2000 99.8 400 129
check threads 16 0 1
check threads 2000 99.8 1 1
check mill 16 0 small.mill
check mill 2000 99.8 small.mill small.mill
check_all
exit $failed
