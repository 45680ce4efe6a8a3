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
