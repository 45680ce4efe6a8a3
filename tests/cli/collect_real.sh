#!/usr/bin/env bash
# csprof collect on this machine's own kernel: callchains on a software clock, as `perf record` takes
# them. Commands, children, threads, attaching, whole CPUs, users; limits, signals, full disks, death.
set -uo pipefail
. "${CSPROF_SOURCE:?}/tests/script.sh"
dump=$CSPROF_BUILD/tests/perfdata_dump
trap 'jobs -p | xargs -r kill 2>/dev/null; umount "$work/full" "$work/groups" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
chmod 755 .
expect() { # CODE TEXT COMMAND...
    local code=$1 text=$2 got=0
    shift 2
    "$@" >out 2>err || got=$?
    [ $got = "$code" ] || { fail "$*: exit code $got, not $code"; cat err; }
    grep -q -- "$text" err || { fail "$*: no '$text' in:"; cat err; }
}

# Without this machine's help: usage, and what cannot be recorded is said.
expect 2 "nothing to record" "$CSPROF" collect
expect 2 "a program" "$CSPROF" collect -p 1 -- true
expect 2 "start the program" "$CSPROF" collect -a -- true
expect 2 "'x' is not a value" "$CSPROF" collect -p x
expect 2 "'0' is not a value" "$CSPROF" collect --window 0 -- true
expect 2 "'fast' is not a value for it: it is one of auto, .*free-running" "$CSPROF" collect --strategy fast -- true
expect 2 "it is one of pmu_pulse; .*pmu_pulse_counter,preset=4" "$CSPROF" collect --pulse x -- true
expect 2 "both ends of a window" "$CSPROF" collect --resume-at raw_syscalls:sys_exit -- true
expect 2 "both ends of a window" "$CSPROF" collect --strategy tracepoint -- true
expect 2 "is for --emulate alone" "$CSPROF" collect --skid 3 -- true
expect 2 "is for --dry-run" "$CSPROF" collect --sysfs / -- true
for level in 0 23 x; do
    expect 2 "level is a number from 1 .* to 22" "$CSPROF" collect -z$level -- true
done
expect 2 "level is a number" "$CSPROF" collect --compression-level= -- true
expect 2 "is not for --emulate" "$CSPROF" collect -z --emulate -- true
expect 2 "go with --live" "$CSPROF" collect --until-stable 98 -- true
[ ! -e "$CSPROF_BUILD/csprof-gen" ] || {
    expect 2 "no recording whose size" "$CSPROF" collect --live --max-size 1M -- true
    expect 2 "no recording that -z could compress" "$CSPROF" collect --live -z -- true
    expect 2 "no callchains with histories" "$CSPROF" collect --live --strategy clock -- true
}

"$CSPROF" collect --strategy clock -q -o probe.data -- sleep 0 2>err
grep -q "not allowed to open" err && { echo "skipped in part: $(cat err)"; exit $((failed ? 1 : 77)); }
expect 3 "no such program" "$CSPROF" collect --strategy clock -o none.data -- ./missing
[ ! -e none.data ] || fail "a program that is not there left a recording"
expect 3 "there is no process" "$CSPROF" collect --strategy clock -p 2147483000
"$CSPROF" doctor | grep -q "yes pulse" || expect 4 "no CPU of this machine has what strategy pulse needs" "$CSPROF" collect --strategy pulse -o none.data -- true
expect 75 "cannot create" "$CSPROF" collect --strategy clock -o /nonexistent/x -- true

cat >p.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define N __attribute__((noipa))
static volatile long sum;
N void leaf(long n) { for (volatile long i = 0; i < n * 1000000; i++) sum += i; }
N void light(long n) { leaf(n); sum++; }
N void heavy(long n) { leaf(2 * n); sum++; }
N void in_child(long n) { leaf(n); sum++; }
N void *in_thread(void *n) { leaf((long)n); sum++; return n; }
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1;
    pthread_t thread;
    if (argc > 2) {
        if (fork() == 0)
            return in_child(n), 0;
        pthread_create(&thread, NULL, in_thread, (void *)n);
        pthread_join(thread, NULL);
        wait(NULL);
        return 7;
    }
    for (long i = 0; i < n; i++) {
        light(5);
        heavy(5);
    }
    return 0;
}
END
cc -O1 -g -fno-omit-frame-pointer p.c -o p -pthread || exit 77

samples() { "$dump" "$1" 2>/dev/null | sed -n 's/^  SAMPLE: //p'; }
number() { python3 -c 'import json, sys; print(json.load(open("out"))[sys.argv[1]])' "$1"; }
expect 0 "samples" "$CSPROF" collect --strategy clock --json -- ./p 30
[ "$(number samples)" -gt 50 ] || fail "only $(number samples) samples"
[ "$(number lost_samples)$(number lost_records)" = 00 ] || fail "samples were lost"
[ "$(number stopped_by)" = ended ] || fail "stopped by $(number stopped_by)"

if command -v perf >/dev/null; then
    # PERCENT of the samples have FUNCTION in their callchain; perf must read without a complaint.
    share() { # FILE FUNCTION
        perf script -i "$1" -F ip,sym 2>complaint | awk -v name="$2" -v RS= '
            { n++; for (i = 2; i <= NF; i += 2) if ($i == name) { hits++; break } }
            END { print n ? int(1000 * hits / n) : -1 }'
        [ ! -s complaint ] || echo "$1: $(head -n 3 complaint)" >>complaints
    }
    near() { [ $(($1 - $2)) -le "$3" ] && [ $(($2 - $1)) -le "$3" ]; }
    perf record -q -e cpu-clock:u -c 1000001 --call-graph fp -o perf.data ./p 30 2>/dev/null
    for name in leaf light heavy main; do
        ours=$(share csprof.data $name) theirs=$(share perf.data $name)
        [ "$ours" -gt 0 ] && near "$ours" "$theirs" 60 || fail "$name: $ours of 1000 samples, with perf $theirs"
    done
    near "$(share csprof.data heavy)" 667 60 || fail "heavy is not two thirds: $(share csprof.data heavy)"
    expect 7 samples "$CSPROF" collect --strategy clock -o family.data -- ./p 150 family
    for name in in_child in_thread; do
        near "$(share family.data $name)" 500 100 || fail "$name: $(share family.data $name) of 1000"
    done
else
    echo "skipped in part: no perf to compare with"
fi

# Attached to: a process, one of its threads, everything.
./p 100000 &
other=$!
expect 0 samples "$CSPROF" collect --strategy clock --json -p $other --duration 0.5 -o pid.data
[ "$(number stopped_by)" = duration ] && [ "$(number samples)" -gt 20 ] || fail "-p: $(cat out)"
expect 0 samples "$CSPROF" collect --strategy clock --json -t $other --duration 0.5 -o tid.data
[ "$(number samples)" -gt 20 ] || fail "-t: $(cat out)"
if command -v perf >/dev/null; then
    near "$(share pid.data heavy)" 667 130 || fail "-p: heavy has $(share pid.data heavy) of 1000"
fi
if [ "$(id -u)" = 0 ]; then
    expect 0 samples "$CSPROF" collect --strategy clock --json -a --duration 0.5 -o all.data
    [ "$(number samples)" -gt 20 ] || fail "-a: $(cat out)"
    "$dump" --maps all.data | grep "$work/p" >/dev/null || fail "-a does not know a program that ran before"
    taskset -p -c 0 $other >/dev/null # or the other CPUs may have it, and this one nothing
    expect 0 "" "$CSPROF" collect --strategy clock --json -C 0 --duration 0.2 -o cpu.data
    [ "$(number rings)" = 1 ] || fail "-C 0 has $(number rings) rings"
fi

# A control group: what runs in it, and nothing else; also what had mapped its files before.
expect 3 "there is no control group nosuch" "$CSPROF" collect --strategy clock -G nosuch
expect 2 "user-stagger goes not with -G" "$CSPROF" collect --dry-run --strategy user-stagger -G nosuch
mkdir groups
if [ "$(id -u)" = 0 ] && mount -t cgroup2 none groups 2>/dev/null && mkdir groups/csprof-test 2>/dev/null; then
    expect 3 "is no control group" "$CSPROF" collect --strategy clock -G "$work"
    ./p 100000 &
    inside=$!
    echo $inside >groups/csprof-test/cgroup.procs
    expect 0 samples "$CSPROF" collect --strategy clock --json -G "$work/groups/csprof-test" --duration 0.5 -o group.data
    [ "$(number samples)" -gt 20 ] && [ "$(number unscheduled)" = 0 ] || fail "-G: $(cat out)"
    if command -v perf >/dev/null; then
        [ "$(perf script -i group.data -F pid | sort -u | xargs)" = $inside ] || fail "-G: samples of $(perf script -i group.data -F pid | sort -u | xargs)"
        near "$(share group.data heavy)" 667 130 || fail "-G: heavy has $(share group.data heavy) of 1000"
    fi
    kill $inside
    wait $inside 2>/dev/null
    rmdir groups/csprof-test
else
    echo "skipped in part: no control groups"
fi

# A program that sees another root: its files are found where it sees them (/proc/PID/root).
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir box
    cc -O1 -static -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 p.c -o box/boxed -pthread
    mkdir other
    unshare -m sh -c 'mount -t tmpfs none other && cp box/boxed other/boxed && exec chroot other /boxed 100000' &
    boxed=$!
    sleep 0.5
    expect 0 samples "$CSPROF" collect --strategy clock -p $boxed --duration 0.3 -o boxed.data
    [ ! -e other/boxed ] || fail "the program is not in a place of its own"
    "$dump" --maps boxed.data | grep "/boxed 0123456789abcdef0123456789abcdef01234567" >/dev/null || fail "a container: $("$dump" --maps boxed.data | head -n 5)"
    kill $boxed
else
    echo "skipped in part: no mount namespaces"
fi

# Compressed: a fraction of the bytes, and all the samples; to perf, too.
for level in -z --compression-level=9; do
    expect 0 "records were compressed from" "$CSPROF" collect --strategy clock --json --period 50000 $level -o packed.data -- ./p 30
    [ "$(samples packed.data)" = "$(number samples)" ] || fail "$level: $(samples packed.data) samples of $(number samples)"
    [ $(($(number record_bytes_compressed) * 4)) -lt "$(number record_bytes_before_compression)" ] &&
        [ $(($(stat -c %s packed.data) * 4)) -lt "$(number record_bytes_before_compression)" ] ||
        fail "$level: $(ls -l packed.data) $(cat out)"
    if command -v perf >/dev/null; then
        perf script -i packed.data -F pid,tid,time,ip -G 2>complaint | sed 's/[^0-9a-f./]/ /g; s/^ *//; s/ \+/ /g' | sort >theirs
        "$dump" --samples packed.data | sed -n 's/^\([0-9]*\/[0-9]*\) \([0-9.]*\): [0-9]* \([0-9a-f]*\)$/\1 \2 \3/p' | sort >ours
        [ "$(wc -l <ours)" = "$(number samples)" ] && cmp -s ours theirs || { fail "$level: perf has other samples: $(head -n 3 complaint)"; diff ours theirs | head -n 6; }
        near "$(share packed.data heavy)" 667 60 || fail "$level: heavy has $(share packed.data heavy) of 1000"
        [ "$(perf report --header-only -i packed.data 2>/dev/null | grep -c '^# compressed : Zstd, level = [19], ratio = [1-9]')" = 1 ] || fail "$level: perf does not see that it is compressed"
    fi
done

# Limits and signals: the recording is complete, the program goes on.
expect 0 samples "$CSPROF" collect --strategy clock --json -p $other --max-size 20k --period 20000 -o size.data
[ "$(number stopped_by)" = size ] || fail "--max-size: $(cat out)"
# File after file: each can be read by itself and knows the program; together they have all samples.
expect 2 "needs --max-size" "$CSPROF" collect --rotate 3 -- true
expect 0 "files.data.[0-9]* and those before it" "$CSPROF" collect --strategy clock --json --period 20000 --max-size 60k --rotate 1000 -o files.data -- ./p 30
[ "$(number files)" -ge 3 ] && [ ! -e files.data ] || fail "--rotate: $(number files) files"
check_files() { # WHAT
    local sum=0 file own
    for file in files.data.*; do
        own=$(samples "$file") # nothing in the last one, perhaps
        sum=$((sum + ${own:-0}))
        [ -z "$own" ] || "$dump" --maps "$file" | grep "$work/p" >/dev/null || fail "$1: $file does not know the program"
        ! command -v perf >/dev/null || [ -z "$own" ] || perf script -i "$file" -F ip,sym 2>&1 | grep -w leaf >/dev/null || fail "$1: perf finds nothing in $file"
    done
    [ "$sum" = "$(number samples)" ] || fail "$1: $sum samples in the files, of $(number samples)"
}
check_files --rotate
rm files.data.*
expect 0 "files.data.[0-9]* and those before it" "$CSPROF" collect --strategy clock --json --period 20000 --max-size 30k --rotate 1000 -z -o files.data -- ./p 60
[ "$(number files)" -ge 3 ] || fail "--rotate -z: $(number files) files"
check_files "--rotate -z"
expect 0 samples "$CSPROF" collect --strategy clock --json --period 20000 --max-size 60k --rotate 2 -o few.data -- ./p 30
last=$(number files)
[ "$(ls few.data.* | sort -t. -k3n | xargs)" = "few.data.$((last - 1)) few.data.$last" ] || fail "--rotate 2: $(echo few.data.*) of $last"
"$CSPROF" collect --strategy clock -q -p $other -o int.data &
recorder=$!
sleep 0.5
kill -INT $recorder
wait $recorder || fail "after SIGINT: exit code $?"
[ "$(samples int.data)" -gt 5 ] || fail "SIGINT: $(samples int.data) samples"
"$CSPROF" collect --strategy clock -o term.data -- ./p 100000 2>err &
recorder=$!
sleep 0.6
kill -TERM $recorder # passed on to the program, whose end ends the recording
wait $recorder
code=$?
[ $code = 143 ] && grep -q "killed by signal 15" err || fail "SIGTERM: exit code $code: $(cat err)"
kill -0 $other || fail "recording ended the program"
"$CSPROF" collect --strategy clock -o int.data -- ./p 100000 2>err &
recorder=$!
sleep 0.6
kill -INT $recorder # no terminal has told the program
wait $recorder
code=$?
[ $code = 143 ] && grep -q "int.data: [1-9]" err || fail "SIGINT with a program: exit code $code: $(cat err)"
[ "$(samples int.data)" -gt 5 ] || fail "SIGINT with a program: $(samples int.data) samples"
! pgrep -P $recorder || fail "SIGINT: the program goes on"

# Death: what was written can be read.
for packed in "" -z; do
    "$CSPROF" collect --strategy clock -q $packed -p $other -o killed.data &
    recorder=$!
    sleep 0.7
    { kill -9 $recorder && wait $recorder; } 2>/dev/null
    [ "$(samples killed.data)" -gt 5 ] || fail "kill -9 $packed: $(samples killed.data) samples"
    ! "$dump" killed.data 2>&1 | grep -w "cut short\|damaged" || fail "kill -9 $packed"
done
kill $other

mkdir full
if mount -t tmpfs -o size=64k none full 2>/dev/null; then
    expect 75 "cannot write: No space left" "$CSPROF" collect --strategy clock --period 20000 -o full/x.data -- ./p 100
    [ "$(samples full/x.data)" -gt 50 ] || fail "full disk: $(samples full/x.data) samples"
    if command -v perf >/dev/null; then
        [ "$(perf script -i full/x.data -F time,ip 2>&1 | grep -c .)" -gt 50 ] || fail "full disk: perf finds nothing"
    fi
    expect 75 "cannot write: No space left" "$CSPROF" collect --strategy clock --period 20000 -z -o full/x.data -- ./p 200
    [ "$(samples full/x.data)" -gt 1000 ] || fail "full disk, compressed: $(samples full/x.data) samples"
else
    echo "skipped in part: cannot mount a small disk"
fi
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    mkdir -m 777 user
    cp "$CSPROF" user/csprof
    chmod 755 p user/csprof
    expect 0 samples su nobody -s /bin/sh -c "cd $work/user && ./csprof collect --strategy clock -- ../p 20"
    expect 4 "not allowed" su nobody -s /bin/sh -c "cd $work/user && ./csprof collect --strategy clock -a"
fi

# Under sudo: what is open stays open, nothing else is root's. (sudo tells who called by these.)
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    export SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody)
    mkdir -m 777 users
    ./p 100000 &
    other=$!
    "$CSPROF" collect --strategy clock -q -p $other -o owned.data &
    recorder=$!
    sleep 0.5
    of_recorder() { sed -n "s/^$1:[\t ]*\([^\t]*\).*/\1/p" /proc/$recorder/status; }
    [ "$(of_recorder Uid) $(of_recorder CapEff)" = "$SUDO_UID 0000000000000000" ] || fail "sudo: $(cat /proc/$recorder/status)"
    kill -INT $recorder
    wait $recorder || fail "sudo: exit code $?"
    [ "$(samples owned.data)" -gt 5 ] || fail "sudo: $(samples owned.data) samples"
    [ "$(stat -c %u:%g owned.data)" = "$SUDO_UID:$SUDO_GID" ] || fail "sudo: the file is $(stat -c %u:%g owned.data)'s"
    kill $other
    "$CSPROF" collect --strategy clock -o users/owned --json --period 20000 --max-size 60k --rotate 9 -- ./p 100000 >out 2>err &
    recorder=$!
    sleep 1
    [ "$(of_recorder CapEff)" = 0000000000000020 ] || fail "sudo with a program: $(of_recorder CapEff)" # CAP_KILL
    kill -TERM $recorder # who must still be able to end root's program
    wait $recorder
    [ $? = 143 ] && [ "$(number files)" -ge 2 ] && [ "$(number became_user)" = True ] || fail "sudo with a program: $(cat out err)"
    [ "$(stat -c %u users/* | sort -u)" = "$SUDO_UID" ] || fail "sudo with a program: $(ls -l users)"
    expect 0 "goes on as root" "$CSPROF" collect --strategy clock --json --max-size 60k --rotate 9 -o mine -- ./p 10
    [ "$(number became_user)" = False ] || fail "sudo: $(cat out)"
    unset SUDO_UID SUDO_GID
fi

# Plans.
expect 0 "" "$CSPROF" collect --dry-run --strategy user-stagger --period 100003 --window 5000 -- ./p
grep -q "pause         5000 cycles after each resume" out && grep -q "^perf cannot do the same" out || { fail "--dry-run:"; cat out; }
expect 0 "" "$CSPROF" collect --dry-run --strategy free-running --period 8338447 --window 50001 -- ./p "a b"
grep -q "perf record -T -e .*period=100002,call-graph=fp/u -- ./p 'a b'" out || { fail "--dry-run:"; cat out; }
expect 0 "" "$CSPROF" collect --dry-run --strategy free-running -z3 -- ./p
grep -q "perf record -T --compression-level=3 -e" out || { fail "--dry-run -z3:"; cat out; }
expect 0 "" "$CSPROF" collect --dry-run --json --strategy pulse
python3 -c 'import json; r = json.load(open("out")); assert 0 < r["duty"] < 1 and "trcextout1" in r["perf"]' ||
    fail "--dry-run --json: $(cat out)"
[ ! -s complaints ] || fail "perf complains: $(cat complaints)"
exit $failed
