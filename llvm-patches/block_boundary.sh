#!/usr/bin/env bash
# block_boundary.sh DIRECTORY: for ./test. Shows why csprof cannot do what LLVM's pass does to block
# probes: of the function below the first half is one block or two, Debian's llc writes the same object
# for both, and the pass removes the probe of one of them. Where a block ends is not in the binary.
set -euo pipefail
llc=$1/bin/llc
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# mir BOUNDARY: probe 2 before or after the start of the block that %bb.0 may jump to
mir() {
    local before='' after='    PSEUDO_PROBE 42, 2, 0, 0'
    [ "$1" = after ] || before=$after after=''
    cat <<MIR
--- |
  define void @f() !dbg !5 { ret void }
  !llvm.dbg.cu = !{!0}
  !llvm.module.flags = !{!2, !3}
  !llvm.pseudo_probe_desc = !{!4}
  !0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: LineTablesOnly)
  !1 = !DIFile(filename: "t.c", directory: "")
  !2 = !{i32 2, !"Dwarf Version", i32 5}
  !3 = !{i32 2, !"Debug Info Version", i32 3}
  !4 = !{i64 42, i64 2, !"f"}
  !5 = distinct !DISubprogram(name: "f", file: !1, line: 1, unit: !0, spFlags: DISPFlagDefinition)
...
---
name: f
body: |
  bb.0:
    liveins: \$lr, \$x0
    PSEUDO_PROBE 42, 1, 0, 0
    CBZX \$x0, %bb.2

  bb.1:
    liveins: \$lr
$before

  bb.2:
    liveins: \$lr
$after
    PSEUDO_PROBE 42, 3, 0, 0
    RET undef \$lr
...
MIR
}

objects() { # LLC [OPTION...]: before.o and after.o
    local boundary
    for boundary in before after; do
        mir $boundary >"$scratch/f.mir"
        "$1" -mtriple=aarch64-linux-gnu "${@:2}" -filetype=obj -o "$scratch/$boundary.o" \
            "$scratch/f.mir"
    done
}

objects llc-22 -start-after=stack-frame-layout
cmp "$scratch/before.o" "$scratch/after.o"
objects "$llc" -start-after=unpack-mi-bundles
! cmp -s "$scratch/before.o" "$scratch/after.o" || {
    echo "FAILED: the pass treats both alike" >&2
    exit 1
}
for boundary in before after; do
    llvm-objcopy-22 -R .pseudo_probe "$scratch/$boundary.o"
done
cmp "$scratch/before.o" "$scratch/after.o"
echo "one object, two answers: where a block ends is not in a binary"
