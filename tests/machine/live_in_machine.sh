#!/usr/bin/env bash
# csprof collect --live on a real arm64 Linux with a trace unit (docs/machine.md): its profile is that of a
# recording of the same program, but for which windows there were. Builds all of csprof for arm64: where the
# preset arm64 is built, that is what there is to do already. KEEP=DIR keeps everything there.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
machine=$CSPROF_SOURCE/emulate/machine plugin=${CSPROF_BUILD:?}/csprof-machine.so
libraries=/usr/lib/aarch64-linux-gnu
[ -e "$plugin" ] || skip "this build has no machine"
needs aarch64-linux-gnu-g++ clang-22 ld.lld-22 python3 aarch64-linux-gnu-strip
ls $libraries/libLLVM*22* >/dev/null 2>&1 || skip "no arm64 libraries: cmake/install-packages.sh arm64"
[ -z "${KEEP:-}" ] || { work=$KEEP && trap - EXIT && mkdir -p "$work"; }
cd "$work" || exit 1
build=$CSPROF_SOURCE/build/arm64
[ -e "$build/build.ninja" ] || build=$work/build
cmake -S "$CSPROF_SOURCE" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$CSPROF_SOURCE/cmake/arm64.cmake" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCSPROF_EMULATE=OFF >build.log 2>&1 &&
    cmake --build "$build" --target csprof csprof-gen >>build.log 2>&1 ||
    { fail "csprof does not build for arm64: $(tail build.log)"; exit 1; }
mkdir -p lib symfs/share
for program in csprof csprof-gen; do
    aarch64-linux-gnu-strip -o $program "$build/$program"
done
clang-22 --target=aarch64-linux-gnu -fuse-ld=lld-22 -O2 -gmlt -fdebug-info-for-profiling -fpseudo-probe-for-profiling \
    -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -Wl,--build-id=sha1 -static -nostdlib -ffreestanding \
    "$CSPROF_SOURCE/tests/programs/bare.c" -o probed || exit 77
# All libraries that they need, with the loader of the same C library.
python3 - csprof csprof-gen <<'END_OF_PYTHON' || skip "a library is missing (see above)"
import os, shutil, subprocess, sys
todo, known = sys.argv[1:] + ['ld-linux-aarch64.so.1'], set()
while todo:
    name = todo.pop()
    path = name if os.path.exists(name) else '/usr/lib/aarch64-linux-gnu/' + name
    if not os.path.exists(path):
        path = '/lib/aarch64-linux-gnu/' + name
    if not os.path.exists(path):
        sys.exit('missing: ' + name)
    if path != name:
        shutil.copy(os.path.realpath(path), 'lib/' + name)
    text = subprocess.run(['readelf', '-d', path], capture_output=True, text=True).stdout
    for line in text.splitlines():
        library = line.split('[')[-1].rstrip(']') if 'NEEDED' in line else None
        if library and library not in known:
            known.add(library)
            todo.append(library)
END_OF_PYTHON
cp probed symfs/share
cat >guest.sh <<'END_OF_GUEST'
set -e
mkdir -p /lib && ln -sf /share/lib/ld-linux-aarch64.so.1 /lib/
export LD_LIBRARY_PATH=/share/lib
windows="--strategy free-running --period 70027 --window 5003 --overhead 100"
./csprof collect -q $windows -o probed.data -- ./probed 100000 1 >/dev/null
./csprof collect -q --json --live --live-slice 100000 --live-cpu 10000 $windows -b probed -o live.prof -- ./probed 100000 1 >live.json 2>live.err
END_OF_GUEST
"$machine/run" --limit 600 --plugin "$plugin" --truth truth --dmesg dmesg -- sh guest.sh >output 2>errors
case $? in
0) ;;
4 | 75) skip "the machine cannot be run: $(cat errors)" ;;
*) fail "in the machine: $(cat output errors live.err)" && exit 1 ;;
esac
told() { python3 -c 'import json, sys; print(json.load(open("live.json"))[sys.argv[1]])' "$1"; }
"$CSPROF" gen -q -i probed.data -b probed --symfs symfs -o recorded.prof || fail "the recording has no profile"
"$CSPROF" validate profile live.prof recorded.prof >overlap || fail "the profiles cannot be compared"
for kind in blocks contexts; do
    awk -v kind=$kind '$1 == "overlap" && $3 == kind { found = 1; exit !($4 + 0 >= 99) } END { if (!found) exit 1 }' overlap ||
        fail "live and recorded differ by $kind: $(cat overlap)"
done
[ "$(told slices)" -ge 3 ] || fail "hardly cut: $(told slices) slices"
[ "$(told taken_samples)" = "$(told samples)" ] || fail "$(told taken_samples) of $(told samples) samples were taken"
[ "$(told dropped_slices)" = 0 ] || fail "slices were dropped"
! grep -E 'WARNING:|BUG:' dmesg || fail "the kernel complains"
echo "$(told slices) slices, $(told used) of $(told counted_samples) samples used;" $(head -n 3 overlap)
exit $failed
