#!/usr/bin/env bash
# Builds the AArch64 test programs: build.sh DIRECTORY [PROGRAM...]. Exits 77 when the cross compiler
# or the libraries are missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
shift
clang=${CLANG:-clang-22}
if ! command -v "$clang" >/dev/null || [ ! -d /usr/aarch64-linux-gnu/include ]; then
    echo "skipped: no $clang or no libc6-dev-arm64-cross to build the AArch64 test programs" >&2
    exit 77
fi
[ $# -gt 0 ] || set -- deep_recursion threads signals
mkdir -p "$out"
for program; do
    case $program in
    bare | mark) libraries=(-static -nostdlib -ffreestanding) ;;
    *) libraries=(-pthread) ;;
    esac
    "$clang" --target=aarch64-linux-gnu -fuse-ld=lld-22 -O2 -g -fno-omit-frame-pointer \
        -mno-omit-leaf-frame-pointer -Wl,--build-id=sha1 "${libraries[@]}" \
        "$here/$program.c" -o "$out/$program"
done
