# A Slurm of two nodes on this one machine, for as long as the test runs. Sourced, after
# tests/script.sh, as root. Everything lies in $cluster; `sbatch` and the like find it by SLURM_CONF.
cluster=$(mktemp -d /tmp/csprof-slurm-XXXXXX)
chmod 711 "$cluster" # munge wants its socket to be reached by all
daemons=()
stop_cluster() {
    local pid
    for pid in "${daemons[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait "${daemons[@]}" 2>/dev/null
    rm -rf "$cluster" "$work"
}
trap stop_cluster EXIT

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

host=$(hostname -s)
mkdir "$cluster/state"
head -c 1024 /dev/urandom >"$cluster/key"
chmod 400 "$cluster/key"
cat >"$cluster/slurm.conf" <<END
ClusterName=csprof
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge
CredType=cred/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool.%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/slurmd.%n.log
# Control groups cannot be had in a container.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
RequeueExit=75
SchedulerParameters=bf_interval=1,sched_min_interval=0,batch_sched_delay=0
MinJobAge=3600
KillWait=2
MaxArraySize=2000
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=$(free_port) CPUs=1
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=$(free_port) CPUs=1
PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$cluster/slurm.conf
touch "$cluster/cgroup.conf"

start() { # COMMAND...: in the foreground of a process of ours, so that it ends with the test
    "$@" >>"$cluster/daemons.log" 2>&1 &
    daemons+=($!)
}
start munged --foreground --force --key-file="$cluster/key" --socket="$cluster/munge" --pid-file="$cluster/munge.pid" \
    --log-file="$cluster/munge.log" --seed-file="$cluster/munge.seed"
for ((i = 0; i < 100; i++)); do
    [ ! -S "$cluster/munge" ] || break
    sleep 0.1
done
start slurmctld -D
start slurmd -D -N one
start slurmd -D -N two
for ((i = 0; i < 300; i++)); do
    [ "$(sinfo -h -t idle -o %D 2>/dev/null)" != 2 ] || break
    sleep 0.2
done
if [ "$(sinfo -h -t idle -o %D)" != 2 ]; then
    tail -n 20 "$cluster"/*.log
    fail "no two nodes are up"
    exit 1
fi
