#!/usr/bin/env bash
# Builds csprof in every supported way and runs its tests. ./test.sh alone does all that CI does;
# ./test.sh PRESET... only those presets (release clang asan tsan arm64 recorder), or the tests
# labelled llvm-patches or slurm, which CI leaves out (docs/llvm-patches.md, docs/fleet.md).
set -euo pipefail
cd "$(dirname "$0")"
presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(arm64 release clang asan recorder)

purposes=(build demo test machine)
case " ${presets[*]} " in *" arm64 "*) purposes+=(arm64) ;; esac
case " ${presets[*]} " in *" slurm "*) purposes+=(slurm) ;; esac
cmake/install-packages.sh "${purposes[@]}"

run_tests() { ctest --preset "$preset" --parallel "$(nproc)" "$@"; }
# What samples real time may meet a busy moment of the machine: it runs once more when it fails, and
# both runs are shown.
run_real_time_tests() { ctest --preset "$preset" -L real-time --repeat until-pass:2; }

for preset in "${presets[@]}"; do
    echo "== $preset"
    if [ "$preset" = llvm-patches ]; then
        llvm-patches/test
        continue
    fi
    if [ "$preset" = slurm ]; then
        cmake --preset release >/dev/null
        cmake --build --preset release --parallel "$(nproc)" -- --quiet
        ctest --preset release -L slurm --output-on-failure
        continue
    fi
    cmake --preset "$preset" >/dev/null
    cmake --build --preset "$preset" --parallel "$(nproc)" -- --quiet
    case $preset in
    recorder) build/recorder/csprof version ;;
    clang) ;; # its warnings are what it is for; the code is the same
    arm64) run_tests ;; # its unit tests alone
    asan)
        echo "left out here: label machine, whose guest runs nothing that is sanitized"
        run_tests -LE 'machine|real-time|slurm'
        run_real_time_tests
        ;;
    *)
        run_tests -LE 'real-time|slurm'
        run_real_time_tests
        ;;
    esac
done

case " ${presets[*]} " in
*" llvm-patches "*) ;;
*) echo "left out: label llvm-patches, which downloads LLVM's source; ./test.sh llvm-patches runs it" ;;
esac
case " ${presets[*]} " in
*" slurm "*) ;;
*) echo "left out: label slurm, which starts a cluster on this machine; ./test.sh slurm runs it" ;;
esac
