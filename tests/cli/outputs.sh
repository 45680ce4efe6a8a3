#!/usr/bin/env bash
# What commands write, and where: nothing half-written is left by a signal, no input is written over, JSON and
# binary files keep out of each other's and the terminal's way; and how the command line itself is refused.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
cd "$work" || exit 1

expect() { # CODE TEXT ARGUMENT...
    local code=$1 text=$2 got=0
    shift 2
    "$csprof" "$@" >out 2>err || got=$?
    [ $got = "$code" ] || { fail "csprof $*: exit code $got, not $code"; cat err; }
    grep -qe "$text" out err || { fail "csprof $*: no '$text' in:"; cat out err; }
}

# ---- the command line ----
expect 0 'usage: csprof <command>' -h
expect 0 'usage: csprof <command>' help help
expect 2 "the command comes first, '--json' and other options after it" --json gen
expect 2 '"error": "there is no command .nonsense.' nonsense --json
python3 -m json.tool <out >/dev/null || fail "a command that there is not: no JSON"
for command in gen decode validate; do
    expect 2 "unexpected argument 'data': a recording is given with -i" $command data
    expect 2 "there is no option '--bogus'" $command --bogus
    expect 2 '-i needs a value' $command -i
    expect 3 "'': No such file" $command -i ''
    expect 3 'csprof.data: No such file .*: name a recording with -i, or make one with .csprof collect' $command
done
expect 2 "there is no option '--bogus'" validate profile a b --bogus
expect 2 "there is no option '--bogus'" validate skid --bogus
expect 2 '--svg needs a value' validate skid --svg
expect 2 'the name of the output is empty' gen -o ''
"$csprof" doctor >/dev/full 2>err
grep -q 'cannot write to standard output' err || fail "doctor: a full disk is not told"
for command in 'help gen' 'help collect' version; do
    "$csprof" $command >/dev/full 2>err
    [ $? = 75 ] && grep -q 'cannot write to standard output' err || fail "$command: a full disk is not told"
done

# ---- inputs stay what they are ----
echo not a recording >input
ln input the-same
for command in 'decode -i input -o' 'gen -i input -o' 'gen -i x -b input -o' 'gen --perfscript input -b x -o' \
    'merge input -o' 'merge x -b input -o' 'bundle input -o'; do
    expect 2 'would be written over, though it is read' $command the-same
done
cp input csprof.data
expect 2 'csprof.data would be written over' decode -o csprof.data
expect 2 'csprof.data would be written over' gen -o csprof.data
[ "$(cat input csprof.data | uniq)" = "not a recording" ] || fail "an input was written over"

# ---- where nothing can be written, which is told before anything is read ----
mkdir folder
for command in 'decode -i input -o' 'gen -i input -o' 'merge input -o' 'bundle input -o'; do
    expect 75 'nowhere/file: cannot create a file there: No such file or directory' $command nowhere/file
    expect 75 'input/file: cannot create a file there: Not a directory' $command input/file
    expect 75 'folder: is a directory, the name of a file was expected' $command folder
    expect 3 'input: not a perf.data file' $command folder/file
done
expect 3 'input: not a perf.data file' gen -i input -o nowhere/%b.prof

# ---- standard output ----
for command in 'decode -i input' 'gen -i input' 'merge input' 'bundle input'; do
    expect 2 'would both write to standard output' $command -o - --json
done
if command -v script >/dev/null; then
    for command in 'gen -i input' 'merge input'; do
        script -qec "'$csprof' $command -o -" /dev/null </dev/null >out 2>&1
        grep -q 'no text, and standard output is a terminal' out || { fail "$command wrote to a terminal:"; cat out; }
    done
    script -qec "'$csprof' gen -i input --format text -o -" /dev/null </dev/null >out 2>&1
    grep -q 'is a terminal' out && fail "a text is refused to a terminal"
fi

# ---- signals ----
needs_emulator
needs clang-22 ld.lld-22
cat >loop.c <<'END'
int main(void) { volatile int s = 0; for (int i = 0; i < 2000000; i++) s += i & 1 ? i : -i; return 0; }
END
clang-22 --target=aarch64-linux-gnu -fuse-ld=lld-22 -O1 -Wl,--build-id -o loop loop.c || exit 1
"$csprof" collect -q --emulate -o loop.data -- ./loop || exit 1
"$csprof" decode -q -i loop.data -o whole --format script || exit 1
mkdir there
for signal in INT TERM HUP; do
    for try in 1 2 3 4 5; do
        python3 - "$csprof" $signal $try <<'END' || fail "decode and SIG$signal"
import os, signal, subprocess, sys, time
csprof, name, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
one = subprocess.Popen([csprof, "decode", "-i", "loop.data", "-o", "there/ranges", "--format", "script"],
                       stderr=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while not os.listdir("there") and one.poll() is None:
    pass
time.sleep(0.002 * number)
one.send_signal(getattr(signal, "SIG" + name))
code = one.wait()
left = os.listdir("there")
for file in left:
    whole = open("there/" + file).read() == open("whole").read()
    os.remove("there/" + file)
    if file != "ranges" or not whole:
        sys.exit(f"exit code {code}, left {left}, which is " + ("whole" if whole else "half-written"))
# A signal that comes when all is written still ends it.
if code != -getattr(signal, "SIG" + name) and (code or not left):
    sys.exit(f"exit code {code}, left {left}")
END
    done
done

# ---- a full disk is told as one ----
if mount -t tmpfs -o size=40k none there 2>/dev/null; then
    for command in 'decode -i loop.data' 'decode -i loop.data --format perfdata'; do
        expect 75 'No space left on device' $command -o there/full
    done
    [ -z "$(ls there)" ] || fail "on a full disk there is $(ls there)"
    umount there
fi
expect 75 'No space left on device' decode -i loop.data -o /dev/full
exit $failed
