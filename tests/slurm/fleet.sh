#!/usr/bin/env bash
# The fleet scripts (docs/fleet.md), for real: the same 200 captures through GNU parallel, make, ninja and a
# Slurm of two nodes give the same bytes as one `csprof merge` and one `csprof gen`; a task that is killed is done
# again, and a capture that is damaged is told and left out.
set -u
. "${CSPROF_SOURCE:?}/tests/script.sh"
csprof=${CSPROF:?}
needs clang-22 ld.lld-22 make ninja python3
needs_emulator
[ "$(id -u)" = 0 ] || skip "a Slurm of our own needs root"
needs munged slurmctld slurmd sbatch parallel
. "$CSPROF_SOURCE/tests/slurm/cluster.sh"
cd "$work" || exit 1
. "$CSPROF_SOURCE/tests/cli/small_program.sh"
fleet=$CSPROF_SOURCE/docs/fleet
build program
mkdir captures
for i in $(seq 200); do
    record captures/c$i.data $i
done
ls -v captures/*.data | sed "s|^|$work/|" >list
export CSPROF=$csprof FLEET_OPTIONS="-b $work/program" FLEET_PAUSE=1
unset CSPROF_CACHE
export CSPROF_CACHE=off
"$csprof" merge -q -o all-at-once.agg -b program @list || fail "merge, all at once"
inputs=()
while read -r capture; do inputs+=(-i "$capture"); done <list
"$csprof" gen -q -b program --format text -o all-at-once.prof "${inputs[@]}" || fail "gen, all at once"
"$csprof" gen -q -b program --format aggregate -o by-gen.agg "${inputs[@]}" && cmp by-gen.agg all-at-once.agg ||
    fail "gen --format aggregate is not merge"

same() { # WHAT AGGREGATE
    cmp "$2" all-at-once.agg || fail "$1: not the bytes of all at once"
    "$csprof" gen -q -b program --format text -i "$2" -o got.prof && cmp got.prof all-at-once.prof ||
        fail "$1: not the profile of all at once"
}

FLEET_OUT=$work/by-make make -s -f "$fleet/Makefile" -j2 LIST=list OUTPUT=make.agg >make.log 2>&1 || fail "make: $(tail -n 5 make.log)"
same make make.agg
export FLEET_OUT=$work/by-parallel
"$fleet/with-parallel" list parallel.agg 2 >parallel.log 2>&1 || fail "parallel: $(tail -n 5 parallel.log)"
same parallel parallel.agg
export FLEET_OUT=$work/by-ninja
mkdir -p "$FLEET_OUT" && "$fleet/write-ninja" list ninja.agg >build.ninja && ninja -j2 >ninja.log || fail "ninja: $(tail -n 5 ninja.log)"
same ninja ninja.agg

wait_for() { # JOB...: until none of them is in the queue
    local job i
    for job; do
        for ((i = 0; i < 600; i++)); do
            [ -n "$(squeue -h -j "$job" 2>/dev/null)" ] || break
            sleep 0.5
        done
    done
}
state() { # JOB
    scontrol show job "$1" | grep -o 'JobState=[A-Z_]*' | sort | uniq -c | tr -s ' ' | tr '\n' ' '
}

# One of ten tasks is killed in its second capture, by a csprof that kills its task once.
cat >killing-csprof <<END
#!/bin/bash
case "\$*" in
*c17.data*) if mkdir "$work/was-killed" 2>/dev/null; then kill -KILL \$PPID \$\$; fi ;;
*c30.data*) if mkdir "$work/was-busy" 2>/dev/null; then echo "no room" >&2; exit 75; fi ;;
esac
exec "$csprof" "\$@"
END
chmod +x killing-csprof
export FLEET_OUT=$work/by-slurm FLEET_TASKS=10 FLEET_TRIES=1
read -r array reduce < <(CSPROF=$work/killing-csprof "$fleet/with-slurm" "$work/list" "$work/slurm.agg")
wait_for "$array"
sleep 1
[ -d was-killed ] && [ -d was-busy ] || fail "no task was killed, or found no room"
echo "tasks: $(state "$array")"
# The killed task failed, so the reduce did not run; running all again does what is left.
if [ ! -e slurm.agg ]; then
    scontrol show job "$reduce" | grep -q 'JobState=COMPLETED' && fail "the reduce ran without a task"
    scancel "$reduce" 2>/dev/null
    before=$(find "$FLEET_OUT" -name '*.agg' | wc -l)
    [ "$before" -ge 150 ] || fail "only $before captures were done beside the killed task"
    touch mark
    read -r array reduce < <("$fleet/with-slurm" "$work/list" "$work/slurm.agg")
    wait_for "$array" "$reduce"
    again=$(find "$FLEET_OUT" -name '*.agg' -newer mark | wc -l)
    [ "$again" -le 20 ] || fail "$again captures were done again"
fi
same Slurm slurm.agg
[ $failed = 0 ] || tail -n 5 "$FLEET_OUT"/*.log "$cluster"/*.log

# A capture that is damaged is told, and the result is that of the others.
head -c 30000 captures/c5.data | tail -c 29000 >damaged.data && mv damaged.data captures/c5.data
export FLEET_OUT=$work/by-slurm-2
read -r array reduce < <("$fleet/with-slurm" "$work/list" "$work/slurm-2.agg")
wait_for "$array" "$reduce"
grep -q 'left out: .*/c5.data' "$FLEET_OUT/reduce.log" || fail "the damaged capture is not told: $(cat "$FLEET_OUT/reduce.log")"
grep -v /c5.data list >list-2
"$csprof" merge -q -o without.agg -b program @list-2 && cmp without.agg slurm-2.agg || fail "without the damaged capture"
"$fleet/reduce" list without.agg 2>/dev/null
[ $? = 5 ] || fail "reduce does not tell by its exit code that a capture was left out"
exit $failed
