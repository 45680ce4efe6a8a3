#!/bin/bash
# `csprof decode` with what it cannot use: the documented exit code, one message that says what is
# wrong, and no output file.
set -u
command=decode
. "${CSPROF_SOURCE:?}/tests/cli/expect_failure.sh"

: >empty
echo 'no recording at all, by any measure' >text
mkdir folder

expect 2 "no option '--bogus'" --bogus
expect 2 '-i needs a value' -i
expect 2 "no format 'pretty'" --format pretty
expect 2 "no engine 'steam'" --engine steam
expect 2 'exclude each other' -i text --snapshot folder
expect 2 'needs a file to write: -o FILE' --format perfdata -o -
expect 2 'perfdata is for recordings' --snapshot folder --format perfdata
expect 2 'needs --engine opencsd' -i text --format packets --engine native
expect 3 'text: not a perf.data file' -i text
expect 3 'empty: the file is empty' -i empty
expect 3 'nowhere: No such file' -i nowhere
expect 3 'folder: is a directory' -i folder
expect 3 'csprof.data: No such file'
expect 3 'folder/snapshot.ini: No such file' --snapshot folder

# Snapshots that are not quite.
echo 'neither section nor key' >folder/snapshot.ini
expect 3 'snapshot.ini:1: expected \[section\]' --snapshot folder
printf '[snapshot]\nversion=1.0\n' >folder/snapshot.ini
expect 3 'metadata=FILE is missing' --snapshot folder
printf '[device_list]\nd=etm.ini\n[trace]\nmetadata=trace.ini\n' >folder/snapshot.ini
expect 3 'etm.ini: No such file' --snapshot folder
printf '[device]\nname=E\nclass=trace_source\ntype=ETM4\n[regs]\nTRCTRACEIDR=0x10\n' >folder/etm.ini
expect 3 'trace.ini: No such file' --snapshot folder
printf '[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=b.bin\nformat=morse\n' >folder/trace.ini
expect 3 'format morse' --snapshot folder
printf '[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=b.bin\nformat=coresight\n[source_buffers]\nX=B\n' \
    >folder/trace.ini
expect 3 'trace source X is not in the device list' --snapshot folder
sed -i 's/^X=/E=/' folder/trace.ini
expect 3 'b.bin: No such file' --snapshot folder
: >folder/b.bin
expect 3 'nothing was decoded' --snapshot folder
head -c 4096 /dev/zero >folder/b.bin
expect 3 'nothing was decoded' --snapshot folder

# A trace unit that no engine decodes, in trace of many units: threads come to the next one before it is told.
sed -i 's/^TRCTRACEIDR.*/&\nTRCCONFIGR=0x6/' folder/etm.ini
sed -i 's/^format=.*/format=source_data/' folder/trace.ini
head -c 1000000 /dev/zero >folder/b.bin
for _ in 1 2 3 4 5; do
    expect 3 'traces loads, stores or data (TRCCONFIGR 0x6)' --snapshot folder --threads 7
done

# A failure is an object where objects are asked for.
"$csprof" decode -i text --json >printed 2>/dev/null
grep -q '"error": "text: not a perf.data file' printed || fail "--json: no error object"

recording=${CSPROF_CORPUS:-}/arm-perf-e2e/sort_single_thread
if [ -e "$recording/perf.data" ]; then
    head -c 100 "$recording/perf.data" >cut
    expect 3 'cut short inside the file header' -i cut
    # The reader warns that the file is cut, and all the same reads what is there: no trace.
    head -c 1500 "$recording/perf.data" >cut
    expect 3 'no trace is left in it: the file is damaged or cut short at offset 1400' \
        -q -i cut --symfs "$recording"
    expect 3 'nothing was decoded: /home/.*/sort (build-id ea6ce2d9.*--symfs' -i "$recording/perf.data"
    with_lost_aux_records <"$recording/perf.data" >unannounced
    expect 3 'its trace (37392 bytes) cannot be decoded: the AUX records that tell what it is were lost' \
        -q -i unannounced --symfs "$recording"
    mkdir other
    cp "$recording/vdso.so" other/sort
    expect 3 'sort was recorded with build-id ea6ce2d9.*, but other/sort has 45b38da7' \
        -i "$recording/perf.data" --symfs other
    expect 3 '--symfs nowhere is not a folder' -i "$recording/perf.data" --symfs nowhere
    expect 3 '--code text: cannot be read, or is no ELF file' -i "$recording/perf.data" --code sort=text
    expect 2 "takes PATH=FILE, not 'sort'" -i "$recording/perf.data" --code sort
    # x86 branch stacks are no trace.
    expect 3 'has no trace to decode: its samples have branch stacks, of which `csprof gen`' -i "$CSPROF_CORPUS/autofdo/test.lbr"
else
    echo "some skipped: no corpus at CSPROF_CORPUS=${CSPROF_CORPUS:-}"
fi
exit $failed
