#!/usr/bin/env bash
# Two hosts made of network namespaces, two ranks on each, watched from a third: a run that completes, and one
# whose link goes down in the middle. Traffic of the collectives goes over one link, everything else (hub, mpirun)
# over a bridge, as in a cluster with a management network. Needs root and iproute2; else it exits with 77 (skipped).
#   two_hosts.sh FOLDER_OF_PROGRAMS
set -u
bin=$(cd "$1" && pwd)
id=rs$$
a=$id-a b=$id-b w=$id-w
work=$(mktemp -d)

skip() { echo "not run: $*"; exit 77; }
failed=0
fail() { echo "FAILED: $*"; failed=1; }

cleanup() {
  [ -n "${live:-}" ] && kill "$live" 2>/dev/null && wait "$live" 2>/dev/null
  [ -n "${watch:-}" ] && kill "$watch" 2>/dev/null && wait "$watch" 2>/dev/null
  for host in "$a" "$b" "$w"; do
    ip netns pids "$host" 2>/dev/null | xargs -r kill -9 2>/dev/null
    ip netns del "$host" 2>/dev/null
    rm -rf "/etc/netns/$host"
  done
  rm -rf "$work"
}

[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "no ip (apt-get install iproute2)"
command -v mpirun >/dev/null || skip "no mpirun (apt-get install openmpi-bin)"
unshare --uts true 2>/dev/null || skip "no rights for a host name of one's own"
trap cleanup EXIT
trap 'exit 1' INT TERM
ip netns add "$w" 2>/dev/null || skip "no rights for network namespaces"
ip netns add "$a" && ip netns add "$b" || skip "no rights for network namespaces"

# Management: a bridge in the watcher's namespace.
ip -n "$w" link add br0 type bridge 2>/dev/null || skip "no bridge in this kernel"
ip -n "$w" addr add 10.77.0.3/24 dev br0
ip -n "$w" link set br0 up
connect() {  # connect NAMESPACE ADDRESS
  ip link add mgmt netns "$1" type veth peer name "$3" netns "$w" || skip "no veth in this kernel"
  ip -n "$w" link set "$3" master br0 up
  ip -n "$1" addr add "$2/24" dev mgmt
  ip -n "$1" link set mgmt up
  ip -n "$1" link set lo up
}
connect "$a" 10.77.0.1 to-a
connect "$b" 10.77.0.2 to-b
ip -n "$w" link set lo up
# Data: one cable.
ip link add data netns "$a" type veth peer name data netns "$b"
ip -n "$a" addr add 10.78.0.1/24 dev data
ip -n "$b" addr add 10.78.0.2/24 dev data
ip -n "$a" link set data up
ip -n "$b" link set data up
for host in "$a" "$b"; do
  mkdir -p "/etc/netns/$host"
  printf '127.0.0.1 localhost\n10.77.0.1 hosta\n10.77.0.2 hostb\n' >"/etc/netns/$host/hosts"
done

# What ssh would be: a shell on the other host.
cat >"$work/agent" <<AGENT
#!/bin/sh
case "\$1" in hosta) ns=$a ;; hostb) ns=$b ;; *) echo "no such host: \$1" >&2; exit 1 ;; esac
host=\$1
shift
exec ip netns exec "\$ns" unshare --uts sh -c "hostname \$host; \$*"
AGENT
chmod +x "$work/agent"
export ASAN_OPTIONS=detect_leaks=0  # Open MPI keeps memory at its end; a rank would leave with code 1
export OMPI_MCA_plm_rsh_agent="$work/agent" OMPI_MCA_btl_tcp_if_include=10.78.0.0/24 OMPI_MCA_pml=ob1
export OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

wait_for() {  # wait_for FILE PATTERN SECONDS
  for _ in $(seq $(($3 * 10))); do
    grep -q "$2" "$1" 2>/dev/null && return 0
    sleep 0.1
  done
  return 1
}

start() {  # start NAME arguments of live …
  name=$1; shift
  # shellcheck disable=SC2016
  ip netns exec "$a" unshare --uts sh -c 'hostname hosta; exec "$@"' sh timeout -k 5 120 "$bin/ringside-cli" live --json \
    --device cpu --address 10.77.0.1 --port 4710 --self-signed --dump-dir "$work" --record "$work/$name.rsr" "$@" \
    >"$work/$name.json" 2>"$work/$name.log" &
  live=$!
  wait_for "$work/$name.log" "ringside --watch" 30 || { fail "$name: no URL"; cat "$work/$name.log"; return 1; }
  url=$(sed -n "s/.*--watch '\(.*\)'.*/\1/p" "$work/$name.log" | head -n 1)
  case "$url" in https://10.77.0.1:*cert=*) ;; *) fail "$name: not TLS with a pinned certificate" ;; esac
  ip netns exec "$w" "$bin/hub_watch" "$url" 100 >"$work/$name.seen" 2>&1 &
  watch=$!
}

finish() {  # finish NAME
  wait "$live"; status=$?; live=
  wait "$watch"; watch=
  [ "$status" = 0 ] || { fail "$1: exit status $status"; tail -n 20 "$work/$1.log"; }
}

says() {  # says NAME PATTERN: in the JSON
  grep -q -- "$2" "$work/$1.json" || { fail "$1: no $2 in"; cut -c1-1500 "$work/$1.json"; }
}
saw() {
  grep -q -- "$2" "$work/$1.seen" || { fail "$1: the watcher did not see: $2"; tail -n 20 "$work/$1.seen"; }
}

printf 'hosta slots=2\nhostb slots=2\n' >"$work/hostfile"
start whole -n 4 --hostfile "$work/hostfile" --steps 12 --pace 100ms && finish whole
says whole '"outcome":"completed"'
says whole '"clocks":\[{"host":"hostb","reference":"hosta"'
for seen in connected "host hosta" "host hostb" "rank 0" "rank 3" "step 12"; do saw whole "$seen"; done
bytes() { ip -n "$a" -s link show dev data | awk '/TX:/ {getline; print $1}'; }
[ "$(bytes)" -gt 8000 ] || fail "the collectives did not go over the link: $(bytes) bytes"

start cut -n 4 --hosts hosta:2,hostb:2 --steps 100000 --pace 50ms --watchdog 3s
if wait_for "$work/cut.seen" "step 5$" 40; then
  ip -n "$a" link set data down
else
  fail "cut: training did not get to step 5"; tail -n 20 "$work/cut.log"
fi
finish cut
says cut '"outcome":"timeout"'
says cut '"kind":"link_down"'
says cut '"culprits":\[\]'
saw cut "port data down"
for rank in 0 1 2 3; do [ -s "$work/nccl_trace_rank_$rank" ] || fail "cut: rank $rank left no dump"; done
for host in "$a" "$b"; do
  left=$(ip netns pids "$host")
  [ -z "$left" ] || fail "processes are left on a host: $left"
done

echo "two hosts: $(grep -o '"clocks":.*}\]' "$work/whole.json")"
grep -o '"first_cause":{[^}]*}' "$work/cut.json"
exit $failed
