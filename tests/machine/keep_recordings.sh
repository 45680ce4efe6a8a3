#!/usr/bin/env bash
# keep_recordings.sh DIR: makes tests/machine/recordings anew from what KEEP=DIR machine.sh left: each
# recording with its truth, and the program that ran.
set -euo pipefail
from=$1
to=$(cd "$(dirname "$0")" && pwd)/recordings
mkdir -p "$to"
keep() { # NAME MARK
    zstd -q -f -19 "$from/$1.data" -o "$to/$1.data.zst"
    awk -v wanted="$2" 'NR == 1 { print } $1 == "mark" { on = $2 == wanted }
        on && $1 != "total" && $1 != "done" { print }' "$from/truth" |
        zstd -q -f -19 -o "$to/$1.truth.zst"
}
keep single 1
keep threads 2
keep system 3
keep pause 4
keep pause_threads 6
keep strobe16 9
zstd -q -f -19 "$from/bare" -o "$to/bare.zst"
