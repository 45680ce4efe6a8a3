# For the scripts beside this file, each of which fetches a program's source from Debian, builds it for
# AArch64 as a program to be profiled is built, and prints the path of the binary:
#
#     NAME [VARIANT [FLAG...]]
#
# FLAGs of the compiler come after the usual ones; builds with other flags live beside each other as
# VARIANTs (default: profiled). What is built already is not built again, so that the scripts can be
# called wherever the program is needed, also at the same time. $CC is the compiler (default clang-22).
# Everything lies in $CSPROF_PROGRAMS (default ~/.cache/csprof/programs); inputs/ has what to run.
set -euo pipefail
name=$(basename "$0")
programs=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$programs/../.." && pwd)
. "$root/cmake/debian_source.sh"

variant=${1:-profiled}
[[ $variant != -* ]] || {
    echo "usage: $name [VARIANT [FLAG...]]   (see bench/programs/common.sh)" >&2
    exit 2
}
extra_flags=("${@:2}")
cache=${CSPROF_PROGRAMS:-${XDG_CACHE_HOME:-$HOME/.cache}/csprof/programs}/$name
folder=$cache/$variant
mkdir -p "$cache"
cc=${CC:-clang-22}
# Frame pointers for the call stacks, probes and line tables for the profile; addresses are the file's.
profile_flags=(--target=aarch64-linux-gnu -O2 -gmlt -fdebug-info-for-profiling
    -fpseudo-probe-for-profiling -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
    "-ffile-compilation-dir=$cache" -fno-pie -no-pie -w "--ld-path=$(command -v ld.lld-22)")

fail() { # MESSAGE LOG: shows the end of the log
    tail -n 20 "$2" >&2 2>/dev/null || true
    echo "bench/programs/$name: $1; the whole output is in $2" >&2
    exit 1
}

# once FOLDER COMMAND...: what makes $cache/FOLDER, unless it was done before; others wait
once() {
    local complete=$cache/$1/complete
    shift
    (
        flock 9
        [ -e "$complete" ] || {
            "$@"
            touch "$complete"
        }
    ) 9>"$cache/lock"
}

# fetch_source PACKAGE: Debian 12's source of it, unpacked in $cache/source
fetch_source() {
    rm -rf "$cache/source" "$cache/fetch"
    mkdir -p "$cache/source" "$cache/fetch"
    debian_source "$cache/fetch" bookworm "$1" || fail "cannot get the source of $1" "$cache/fetch/apt/log"
    tar -xf "$(find "$cache/fetch" -maxdepth 1 -name '*.orig.tar.*' ! -name '*.asc')" \
        -C "$cache/source" --strip-components=1
    rm -rf "$cache/fetch"
}

# What decides about a build: the compiler, its flags and the files that they name.
recipe() {
    local flag
    "$cc" --version
    cat "$programs/$name"
    for flag in "${profile_flags[@]}" "${extra_flags[@]}"; do
        echo "$flag"
        [ ! -f "${flag#*=}" ] || sha256sum <"${flag#*=}"
    done
}

# build BINARY COMMAND...: prints the path of $folder/BINARY, after the command has made it if need be
build() {
    local binary=$folder/$1 made_by
    shift
    made_by=$(recipe | sha256sum)
    mkdir -p "$folder"
    exec 8>"$folder/lock"
    flock 8
    if [ ! -x "$binary" ] || [ "$(cat "$folder/recipe" 2>/dev/null)" != "$made_by" ]; then
        rm -f "$folder/recipe"
        "$@" >"$folder/log" 2>&1 || fail "it does not build" "$folder/log"
        echo "$made_by" >"$folder/recipe"
    fi
    echo "$binary"
}

# compile BINARY ARGUMENT...: by one command of the compiler
compile() {
    "$cc" "${profile_flags[@]}" "${@:2}" "${extra_flags[@]}" -o "$folder/$1"
}

"$root/cmake/install-packages.sh" demo programs >&2
